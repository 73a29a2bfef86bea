# SPDX-License-Identifier: Apache-2.0
"""What programs print, on a terminal: it keeps its colours, and controls nothing else.

A log is anybody's text. In a terminal an escape sequence of it could write the clipboard, answer as if typed, or
overwrite what was printed before. Kept are colours, carriage returns, and the clearing of the line's rest, as progress
bars use them. Where no terminal reads, nothing is changed.
"""

from __future__ import annotations

import re
from typing import Final

_KEPT: Final = rb"\x1b\[(?:[\d;:]*m|0?K)"
_COMPLETE: Final = (
    rb"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI, such as the cursor's movement
    rb"|\x1b[]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)"  # OSC, DCS and their kind: titles, clipboard, hyperlinks
    rb"|\x1b[ -/]*[0-OQ-WYZ\\`-~]"  # others of two characters or more
)
_WHOLE: Final = re.compile(_KEPT + rb"|" + _COMPLETE)
_OBEYED: Final = re.compile(
    rb"(?P<kept>" + _KEPT + rb")|(?:(?!" + _KEPT + rb")(?:" + _COMPLETE + rb"|[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]"
    rb"|\x1b(?!\[(?:[\d;:]*m|0?K))"  # without what makes it a sequence
    rb"|\xc2[\x80-\x9f]"  # control characters of one byte, in UTF-8
    rb"|\xe2\x80[\xaa-\xae]|\xe2\x81[\xa6-\xa9]))+"  # directions of writing
)
_COLOUR: Final = re.compile(rb"\x1b\[([\d;:]*)m")
_RESET: Final = b"\x1b[0m"
_LONGEST: Final = 4096
"""Bytes of an escape sequence that is waited for."""
_UNFINISHED: Final = re.compile(rb"(?:\xc2|\xe2[\x80\x81]?)\Z")
"""A character of which the rest may follow."""


def tamed(text: bytes) -> bytes:
    """A line. Its colours end with it."""
    found = _without_control(text)
    colours = _COLOUR.findall(found)
    return found + _RESET if colours and colours[-1].strip(b"0") else found


def _without_control(text: bytes) -> bytes:
    return _OBEYED.sub(_replaced, text)


def _replaced(found: re.Match[bytes]) -> bytes:
    """Nothing, except where what is before it and after it would be a new character."""
    if found["kept"]:
        return found["kept"]
    return b"?" if _UNFINISHED.search(found.string[max(found.start() - 2, 0) : found.start()]) else b""


class Stream:
    """Text that arrives in pieces, cut anywhere."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> bytes:
        data, self._rest = self._rest + data, b""
        start = data.rfind(b"\x1b", max(len(data) - _LONGEST, 0))
        if start >= 0 and not _WHOLE.match(data, start):
            data, self._rest = data[:start], data[start:]
        elif unfinished := _UNFINISHED.search(data, max(len(data) - 2, 0)):
            data, self._rest = data[: unfinished.start()], unfinished[0]
        return _without_control(data)

    def end(self) -> bytes:
        rest, self._rest = self._rest, b""
        return _without_control(rest) + _RESET
