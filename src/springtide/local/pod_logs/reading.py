# SPDX-License-Identifier: Apache-2.0
"""Reading a container's log from the files that its shim writes.

A shim writes records (`2026-11-16T04:30:00.123456789Z stdout F text`), one per line, and starts a new file when one has
grown large. `AttemptLog` reads the files of one attempt in the order they were written, also while they are being
written and rotated; `Shaper` turns records into text; `text` combines both and waits for more when the log is followed.

A followed file is polled every 50 ms: a `stat` costs microseconds, works on every system, and readers do not notice the
delay.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

CHUNK: Final = 64 << 10
POLL: Final = 0.05
# A line that was split into records is shown as one, unless a program writes megabytes without a line break.
MAX_HELD: Final = 1 << 20

Files = Callable[[], list[Path]]
"""The files of one attempt, oldest first."""


def files_of(directory: Path, attempt: int) -> list[Path]:
    """The files of an attempt in its container's log directory: `3.log.<time>` where it was rotated, then `3.log`."""
    live = f"{attempt}.log"
    try:
        names = os.listdir(directory)
    except FileNotFoundError:
        return []
    rotated = sorted(name for name in names if name.startswith(f"{live}."))
    return [directory / name for name in (*rotated, *(name for name in names if name == live))]


@dataclass(frozen=True, slots=True)
class Options:
    """Which part of a log to read, and its format."""

    follow: bool = False
    tail: int | None = None
    limit: int | None = None
    """Bytes after which the output ends, in the middle of a line if need be."""
    since: str = ""
    """A timestamp in the format of the records; older lines are left out."""
    timestamps: bool = False
    stream: str = ""
    """`stdout` or `stderr`; empty for both in the order written."""


@dataclass(slots=True)
class _Held:
    """The beginning of a line whose end was not read yet."""

    stamp: bytes
    text: bytes = b""
    begun: bool = False
    """Part of the line was shown already: the rest gets no timestamp."""


class Shaper:
    """Records in, text out. Buffers incomplete lines of either stream."""

    def __init__(self, options: Options) -> None:
        self._since, self._timestamps = options.since.encode(), options.timestamps
        self._stream = options.stream.encode()
        self._left = options.limit
        self._rest = b""
        self._held: dict[bytes, _Held] = {}

    @property
    def full(self) -> bool:
        return self._left is not None and self._left <= 0

    def feed(self, data: bytes) -> bytes:
        *records, self._rest = (self._rest + data).split(b"\n")
        return self._cut(b"".join([self._shaped(record) for record in records]))

    def end(self) -> bytes:
        """The text of unfinished lines. Half a record is dropped: its writer died during the write."""
        unfinished = b"".join(self._shown(held) for held in self._held.values())
        self._held.clear()
        return self._cut(unfinished)

    def _shaped(self, record: bytes) -> bytes:
        stamp, _, rest = record.partition(b" ")
        stream, _, rest = rest.partition(b" ")
        tag, _, text = rest.partition(b" ")
        if not tag or (self._stream and stream != self._stream):
            return b""
        held = self._held.pop(stream, None) or _Held(stamp)
        held.text += text
        if tag[:1] != b"P":
            return self._shown(held, b"\n")
        self._held[stream] = held
        if len(held.text) < MAX_HELD:
            return b""
        shown = self._shown(held)
        held.text, held.begun = b"", True
        return shown

    def _shown(self, held: _Held, end: bytes = b"") -> bytes:
        if held.stamp < self._since:
            return b""
        prefix = held.stamp + b" " if self._timestamps and not held.begun else b""
        return prefix + held.text + end

    def _cut(self, shown: bytes) -> bytes:
        if self._left is None:
            return shown
        shown = shown[: max(self._left, 0)]
        self._left -= len(shown)
        return shown


class AttemptLog:
    """The files of one attempt as one sequence of bytes."""

    def __init__(self, files: Files, tail: int | None = None) -> None:
        self._files = files
        self._file: BinaryIO | None = None
        found = self._snapshot()
        if found:
            index, offset = (0, 0) if tail is None else tail_start([path for path, _ in found], tail)
            self._open(found[index][0], offset)

    def read(self) -> bytes:
        """The next bytes; empty where nothing more was written so far."""
        while True:
            if self._file is not None and (data := self._file.read(CHUNK)):
                return data
            following = self._following()
            if following is None:
                return b""
            # Once there is a next file this one is not written any more, so its present end is final.
            if self._file is not None and (data := self._file.read(CHUNK)):
                return data
            self._open(following, 0)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _open(self, path: Path, offset: int) -> None:
        self.close()
        self._file = None
        try:
            self._file = path.open("rb", buffering=0)
        except FileNotFoundError:  # rotated away since the listing: the next read lists again
            return
        self._file.seek(offset)

    def _following(self) -> Path | None:
        """The file written after the current one, if there is one."""
        at_hand = _identity(os.fstat(self._file.fileno())) if self._file is not None else None
        found = self._snapshot()
        identities = [identity for _, identity in found]
        index = identities.index(at_hand) + 1 if at_hand in identities else 0
        return found[index][0] if index < len(found) else None

    def _snapshot(self) -> list[tuple[Path, tuple[int, int]]]:
        """Files with their identities, listed consistently, with no renaming in between."""
        while True:
            paths = self._files()
            found = [(path, identity) for path in paths if (identity := _identity_of(path)) is not None]
            if len(found) == len(paths) and self._files() == paths:
                return found


def _identity(stat: os.stat_result) -> tuple[int, int]:
    return stat.st_dev, stat.st_ino


def _identity_of(path: Path) -> tuple[int, int] | None:
    try:
        return _identity(path.stat())
    except FileNotFoundError:
        return None


def tail_start(paths: Sequence[Path], lines: int) -> tuple[int, int]:
    """Where the last `lines` lines begin: index of the file, and offset in it. Reads backwards, and no further than
    needed.

    A line that was split into several records is one line.
    """
    seen = 0
    newest = True
    for index in range(len(paths) - 1, -1, -1):
        with paths[index].open("rb") as file:
            for record, end in _backwards(file):
                if newest or not _is_part(record):
                    seen += 1
                newest = False
                if seen > lines:
                    return index, end
    return 0, 0


def _is_part(record: bytes) -> bool:
    return record.split(b" ", 3)[2:3] == [b"P"]


def _backwards(file: BinaryIO) -> Iterator[tuple[bytes, int]]:
    """Records from the last to the first, each with the offset of its end. An incomplete last record is skipped."""
    position = file.seek(0, os.SEEK_END)
    pending = b""  # the end of a record whose beginning was not read yet, with its line break
    while position > 0:
        size = min(CHUNK, position)
        position -= size
        file.seek(position)
        block = file.read(size) + pending
        *records, torn = block.split(b"\n")
        end = position + len(block) - len(torn)
        whole = records[1:] if position else records
        for record in reversed(whole):
            yield record, end
            end -= len(record) + 1
        pending = block[: end - position]


async def text(files: Files, options: Options, running: Callable[[], bool]) -> AsyncGenerator[bytes, None]:
    """The log in chunks; when followed, until `running` is false and everything was read."""
    shaper = Shaper(options)
    with closing(AttemptLog(files, options.tail)) as attempt_log:
        while not shaper.full:
            over = not options.follow or not running()  # checked before reading: earlier output is read below
            while not shaper.full and (data := attempt_log.read()):
                if shown := shaper.feed(data):
                    yield shown
                await asyncio.sleep(0)  # a long log must not block other tasks
            if over:
                break
            await asyncio.sleep(POLL)
        if unfinished := shaper.end():
            yield unfinished
