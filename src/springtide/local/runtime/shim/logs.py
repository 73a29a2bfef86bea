# SPDX-License-Identifier: Apache-2.0
"""Container logs in the CRI format: rotated, and buffered without loss while the disk is full."""

from __future__ import annotations

import os
import time

from springtide.local.runtime.shim.kernel import Ignoring
from springtide.local.runtime.shim.program import plain

LINE_LIMIT = 16 * 1024
LOG_SIZE = 10 * 1024 * 1024
LOG_FILES = 5


def stamp(now: int) -> bytes:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now // 10**9)).encode() + b".%09dZ" % (now % 10**9)


def log_lines(prefix: bytes, text: bytes, at_end: bool) -> tuple[bytes, bytes]:
    """Complete lines in the format of container runtimes, and the incomplete rest.

    `prefix` is time and stream. A line longer than the limit is written in parts marked P, the last one F. When a
    stream ends without a line break, all parts of its last line are P: readers of the log add no line break.
    """
    *lines, rest = text.split(b"\n")
    parts = []
    for line in lines:
        while len(line) > LINE_LIMIT:
            parts.append(b"%s P %s\n" % (prefix, line[:LINE_LIMIT]))
            line = line[LINE_LIMIT:]
        parts.append(b"%s F %s\n" % (prefix, line))
    while len(rest) > LINE_LIMIT:
        parts.append(b"%s P %s\n" % (prefix, rest[:LINE_LIMIT]))
        rest = rest[LINE_LIMIT:]
    if at_end and rest:
        parts.append(b"%s P %s\n" % (prefix, rest))
        rest = b""
    return b"".join(parts), rest


def drop_torn_record(fd: int) -> int:
    """Cut off an incomplete record at the end of a log, whose writer was killed during a write. Returns the remaining
    size."""
    size = end = os.fstat(fd).st_size
    while end > 0:
        start = max(0, end - 2 * LINE_LIMIT)
        found = os.pread(fd, end - start, start).rfind(b"\n")
        if found >= 0:
            end = start + found + 1
            break
        end = start
    if end < size:
        os.ftruncate(fd, end)
    return end


def mend(path: str) -> None:
    """Call `drop_torn_record` for the log at a path, which has no writer any more."""
    with Ignoring(OSError):  # no log was written, or it is gone already; readers skip half a record as well
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            drop_torn_record(fd)
        finally:
            os.close(fd)


class Log:
    """A container's log file: complete, in order, rotated; what cannot be written now is kept and written later."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.trouble = ""
        self._fd = -1
        self._size = 0
        self._last = 0
        self._rests: dict[str, bytes] = {}
        self._pending = b""
        with Ignoring(OSError):  # retried with the first line, and reported then
            self._open()

    def feed(self, stream: str, data: bytes) -> bool:
        """Accept data of a stream (empty: its end); False while the log cannot be written."""
        self._last = max(self._last, time.time_ns())
        prefix = stamp(self._last) + b" " + stream.encode()
        text, self._rests[stream] = log_lines(prefix, self._rests.get(stream, b"") + data, not data)
        self._pending += text
        return self.flush()

    def flush(self) -> bool:
        try:
            while self._pending:
                if self._fd < 0:
                    self._open()
                written = os.write(self._fd, self._pending)
                self._size += written
                self._pending = self._pending[written:]
        except OSError as error:
            self.trouble = (
                f"cannot write the log {self.path}: {plain(error)}; the program waits until it can be written"
            )
            return False
        self.trouble = ""
        if self._size >= LOG_SIZE:
            self._size = 0
            with Ignoring(OSError):  # a longer file is better than none; retried after LOG_SIZE more bytes
                self._rotate()
        return True

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1

    def _open(self) -> None:
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        self._fd = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o640)
        self._size = drop_torn_record(self._fd)  # of an earlier writer: this one has written nothing yet

    def _rotate(self) -> None:
        now = time.time_ns()
        moment = time.strftime("%Y%m%d-%H%M%S", time.gmtime(now // 10**9))
        os.rename(self.path, f"{self.path}.{moment}.{now % 10**9:09d}")
        self.close()
        self._open()
        folder, name = os.path.split(self.path)
        old = sorted(entry for entry in os.listdir(folder) if entry.startswith(f"{name}."))
        for entry in old[: max(0, len(old) - LOG_FILES + 1)]:
            os.unlink(f"{folder}/{entry}")
