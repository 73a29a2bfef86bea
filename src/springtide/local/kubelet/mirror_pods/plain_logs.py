# SPDX-License-Identifier: Apache-2.0
"""The log of a process that writes plain lines into a file, as `kubectl logs` shows it.

The lines become records as a shim writes them (see `pod_logs.reading`), so all options of `kubectl logs` work. The time
of a line is the one it begins with; a line without a time, such as one of a traceback, has that of the line before.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncGenerator, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, Final

from springtide.local.kubelet.mirror_pods.records import LogPart
from springtide.local.pod_logs.reading import CHUNK, MAX_HELD, POLL, Options, Shaper

_STREAM: Final = b"stderr"
_TIME: Final = re.compile(rb"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d{1,6})?(?:Z|[+-]\d\d:\d\d)?(?=\s|$)")


class Stamper:
    """Plain lines in, records out. Buffers an incomplete line."""

    def __init__(self, began: float) -> None:
        """`began` is the time of lines before the first that has one."""
        self._stamp = _record_time(datetime.fromtimestamp(began, UTC))
        self._rest = b""

    def feed(self, data: bytes) -> bytes:
        *lines, self._rest = (self._rest + data).split(b"\n")
        shown = b"".join([self._record(line, b"F") for line in lines])
        if len(self._rest) > MAX_HELD:
            shown += self.end()
        return shown

    def end(self) -> bytes:
        """The incomplete line, as a part of a line."""
        rest, self._rest = self._rest, b""
        return self._record(rest, b"P") if rest else b""

    def _record(self, line: bytes, tag: bytes) -> bytes:
        found = _TIME.match(line)
        if found is not None:
            self._stamp = _parsed(found.group()) or self._stamp
        return b" ".join((self._stamp, _STREAM, tag, line)) + b"\n"


def _parsed(text: bytes) -> bytes | None:
    """A time without a zone is local: all processes of a cluster run on one machine."""
    try:
        return _record_time(datetime.fromisoformat(text.decode()).astimezone(UTC))
    except (ValueError, OverflowError):
        return None


def _record_time(moment: datetime) -> bytes:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%f000Z").encode()


async def text(
    path: Path | None, part: Callable[[], LogPart | None], options: Options, running: Callable[[], bool], began: float
) -> AsyncGenerator[bytes, None]:
    """The log in chunks; when followed, until `running` is false and everything was read.

    `part` is looked up again while the log is followed: a part has no end until its process has exited.
    """
    found = part()
    if path is None or found is None:
        return
    stamper, shaper = Stamper(began), Shaper(options)
    try:
        file = path.open("rb", buffering=0)
    except FileNotFoundError:
        return
    with file:
        file.seek(found.start if options.tail is None else _tail_start(file, found, options.tail))
        while not shaper.full:
            over = not options.follow or not running()  # checked before reading: earlier output is read below
            while not shaper.full and (data := file.read(_room(file, part()))):
                if shown := shaper.feed(stamper.feed(data)):
                    yield shown
                await asyncio.sleep(0)  # a long log must not block other tasks
            if over:
                break
            await asyncio.sleep(POLL)
        shown = shaper.feed(stamper.end()) + shaper.end()
        if shown:
            yield shown


def _room(file: BinaryIO, part: LogPart | None) -> int:
    """How many bytes to read next; 0 at the end of the part, behind which another process writes."""
    if part is None:
        return 0
    return CHUNK if part.end is None else min(CHUNK, max(part.end - file.tell(), 0))


def _tail_start(file: BinaryIO, part: LogPart, lines: int) -> int:
    """Where the last `lines` lines of a part begin. Reads backwards, and no further than needed.

    As with kubelet, an incomplete last line is not counted.
    """
    position = file.seek(0, os.SEEK_END) if part.end is None else part.end
    seen = 0
    while position > part.start:
        size = min(CHUNK, position - part.start)
        position -= size
        file.seek(position)
        block = file.read(size)
        found = len(block)
        while (found := block.rfind(b"\n", 0, found)) >= 0:
            seen += 1
            if seen > lines:
                return position + found + 1
    return part.start
