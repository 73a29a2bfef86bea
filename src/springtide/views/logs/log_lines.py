# SPDX-License-Identifier: Apache-2.0
"""Log lines: cut from a stream, resumed after a lost connection, selected, and shown with their source. Pure.

A line has at most `LONGEST` bytes, longer ones are broken, so that memory is bounded whatever programs write.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from typing import Final, NamedTuple

from springtide.messages.terminals import harmless
from springtide.views.tamed import tamed

LONGEST: Final = 256 << 10
"""Bytes of a line; a longer one is shown as several."""

_STAMP: Final = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)")
_LONGEST_STAMP: Final = 35
_RANK: Final = re.compile(rb"\[(?:\d+,)?(\d+)\]<std(?:out|err)>: ?")
"""As horovodrun, mpirun and the elastic launcher mark the output of ranks."""
_PROGRESS: Final = b'{"springtide":"progress"'
_COLOURS: Final = (36, 33, 35, 32, 34, 31, 96, 93, 95, 92, 94, 91)
"""ANSI codes that are readable on dark and on light ground."""


class Line(NamedTuple):
    stamp: bytes
    """The time at which it was written, as the API has it; that of the line before for a part of a broken line."""
    text: bytes
    whole: bool = True
    """False for a part of a broken line that is not the last."""


class Splitter:
    """A stream of lines with times in, `Line`s out; a stream may be cut anywhere."""

    def __init__(self, longest: int = LONGEST) -> None:
        self._longest = longest
        self._rest = b""
        self._stamp = b""
        self._broken = False

    @property
    def stamp(self) -> bytes:
        """The time of the last line."""
        return self._stamp

    def feed(self, data: bytes) -> list[Line]:
        *ended, self._rest = (self._rest + data).split(b"\n")
        lines = [each for text in ended for each in self._pieces(text, ended=True)]
        if len(self._rest) > self._longest + _LONGEST_STAMP + 1:
            lines += self._pieces(self._rest, ended=False)
        return lines

    def end(self) -> list[Line]:
        """The unfinished line, if there is one."""
        rest, self._rest = self._rest, b""
        return list(self._pieces(rest, ended=True)) if rest or self._broken else []

    def _pieces(self, text: bytes, *, ended: bool) -> Iterator[Line]:
        if not self._broken:
            text = self._without_stamp(text)
        while len(text) > self._longest:
            piece, text = text[: self._longest], text[self._longest :]
            self._broken = True
            yield Line(self._stamp, piece, whole=False)
        if ended:
            self._broken = False
            yield Line(self._stamp, text)
        else:
            self._rest = text

    def _without_stamp(self, text: bytes) -> bytes:
        stamp, blank, _ = text[: _LONGEST_STAMP + 1].partition(b" ")
        if not _STAMP.fullmatch(stamp):
            return text  # of a server that does not know timestamps
        self._stamp = _comparable(stamp)
        return text[len(stamp) + len(blank) :]


def _comparable(stamp: bytes) -> bytes:
    """With nine digits after the point, in UTC, so that times compare like their texts. Go drops zeros at the end."""
    if not stamp.endswith(b"Z"):
        return stamp  # an API server writes UTC; other zones are compared within a source only
    whole, _, fraction = stamp[:-1].partition(b".")
    return whole + b"." + fraction.ljust(9, b"0") + b"Z"


class Resume:
    """Where a stream was lost. Lines may have the same time, and a server knows `sinceTime` in whole seconds, so the
    lines that were read already are counted."""

    def __init__(self) -> None:
        self._stamp, self._seen, self._again = b"", 0, 0

    @property
    def since_time(self) -> str:
        """From when on to read again; empty: from the beginning."""
        return self._stamp[: len("2026-01-01T00:00:00")].decode() + "Z" if self._stamp else ""

    def begin(self) -> None:
        """The stream is read again."""
        self._again = self._seen

    def is_new(self, line: Line) -> bool:
        if self._again and line.stamp <= self._stamp:
            if line.stamp == self._stamp:
                self._again -= 1
            return False
        self._again = 0
        if line.stamp > self._stamp:
            self._stamp, self._seen = line.stamp, 1
        elif line.stamp == self._stamp:
            self._seen += 1
        return True


# Selection


def rank_of(text: bytes) -> int | None:
    """The rank that wrote a line of a launcher's output; None for the launcher's own lines."""
    found = _RANK.match(text)
    return int(found.group(1)) if found else None


class Selection:
    """The lines that a user wants of a source: those that match a pattern, and those of a rank. What a launcher prints
    for programs is none of them: commands show it in columns of their own.

    Of a broken line all parts are decided with the first one, which has the beginning of the line.
    """

    def __init__(self, pattern: re.Pattern[bytes] | None = None, rank: int | None = None) -> None:
        self._pattern, self._rank = pattern, rank
        self._inside: bool | None = None

    def wants(self, line: Line) -> bool:
        wanted = self._wants(line.text) if self._inside is None else self._inside
        self._inside = None if line.whole else wanted
        return wanted

    def _wants(self, text: bytes) -> bool:
        if text.startswith(_PROGRESS) or (self._rank is not None and rank_of(text) != self._rank):
            return False
        return self._pattern is None or self._pattern.search(text) is not None


# Showing


def shown(line: Line, *, prefix: str = "", timestamps: bool = False, colour: int = 0, terminal: bool = False) -> bytes:
    """A line with its end. `colour` is for the prefix; 0 is none.

    On a terminal programs control nothing. With a prefix, of text that a program overwrites with carriage returns only
    the last version is shown, as its progress bar would end.
    """
    text = line.text
    if prefix and terminal:
        text = text.rstrip(b"\r").rpartition(b"\r")[2]
    if terminal:
        text, prefix = tamed(text), harmless(prefix)
    start = prefix.encode()
    if start:
        start = b"\x1b[%dm%s\x1b[0m " % (colour, start) if colour else start + b" "
    if timestamps and line.stamp:
        start += line.stamp + b" "
    return start + text + b"\n"


def colour_of(source: str) -> int:
    """The same colour for the same pod in every run."""
    return _COLOURS[zlib.crc32(source.encode()) % len(_COLOURS)]
