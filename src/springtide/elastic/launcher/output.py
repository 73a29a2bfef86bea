# SPDX-License-Identifier: Apache-2.0
"""The ranks' output, line by line and with prefixes, to the launcher's output and to files.

    [1]<stdout>:loss 0.25

A thread writes, so that a blocked reader does not stop the run. Agents learn how much has been written, and send no
more than that.
"""

from __future__ import annotations

import errno
import os
import queue
import select
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

NAMES: Final = {"out": "stdout", "err": "stderr"}
_LONGEST: Final = 64 << 10
"""Bytes after which a line without an end is cut."""
_LAST: Final = 20


@dataclass(slots=True)
class LineBuffer:
    """Splits bytes into whole lines. Pure. A carriage return ends a line too, as it would overwrite other output."""

    _rest: bytearray = field(default_factory=bytearray)

    def add(self, data: bytes) -> list[bytes]:
        self._rest += data
        end = max(self._rest.rfind(b"\n"), self._rest.rfind(b"\r", 0, -1)) + 1
        if not end and len(self._rest) > _LONGEST:
            end = len(self._rest)
        whole = bytes(self._rest[:end])
        del self._rest[:end]
        return whole.splitlines()

    def end(self) -> list[bytes]:
        rest = bytes(self._rest)
        self._rest.clear()
        return rest.splitlines()


class RankOutput:
    """One rank's output."""

    def __init__(self) -> None:
        self.last: deque[str] = deque(maxlen=_LAST)
        self._streams = {name: LineBuffer() for name in NAMES}

    def add(self, stream: str, data: bytes) -> list[bytes]:
        return self._noted(self._streams[stream].add(data))

    def end(self, stream: str) -> list[bytes]:
        return self._noted(self._streams[stream].end())

    def _noted(self, lines: list[bytes]) -> list[bytes]:
        self.last += (line.decode(errors="replace") for line in lines)
        return lines


class Output:
    def __init__(self, directory: Path | None, *, timestamps: bool) -> None:
        self._directory, self._timestamps = directory, timestamps
        self._waiting: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._files: dict[tuple[str, str], IO[bytes]] = {}
        self._unkept = False
        # A stream that was closed before the start has no descriptor; its number may belong to another file now.
        streams = {"out": sys.stdout, "err": sys.stderr}
        self._descriptors = {name: stream.fileno() for name, stream in streams.items() if stream is not None}
        self._thread = threading.Thread(target=self._write, name="tiderun-output", daemon=True)
        self._thread.start()

    def lines(self, label: str, stream: str, lines: list[bytes], written: Callable[[], None] | None = None) -> None:
        def write() -> None:
            prefix = f"{self._stamp()}[{label}]<{NAMES[stream]}>:".encode()
            self._put(stream, b"".join(prefix + line + b"\n" for line in lines))
            self._keep(label, stream, lines)
            if written is not None:
                written()

        self._waiting.put(write)

    def tell(self, text: str) -> None:
        """A message of tiderun itself."""
        self._waiting.put(lambda: self._put("err", f"{self._stamp()}tiderun: {text}\n".encode()))

    def print(self, line: str) -> None:
        self._waiting.put(lambda: self._put("out", f"{line}\n".encode()))

    def close(self, patience: float) -> None:
        """Write the rest, within a limited time: the reader may be blocked."""
        self._waiting.put(None)
        self._thread.join(patience)

    def _stamp(self) -> str:
        return time.strftime("%a %b %e %H:%M:%S %Y") if self._timestamps else ""

    def _write(self) -> None:
        while (write := self._waiting.get()) is not None:
            write()
        for file in self._files.values():
            file.close()

    def _put(self, stream: str, data: bytes) -> None:
        """Errors of writing do not end the run."""
        descriptor = self._descriptors.get(stream)
        if descriptor is None:
            return
        rest = memoryview(data)
        try:
            while rest:
                try:
                    rest = rest[os.write(descriptor, rest) :]
                except BlockingIOError:  # another process that shares the descriptor may have made it non-blocking
                    select.select((), (descriptor,), ())
        except OSError as error:
            del self._descriptors[stream]
            if error.errno != errno.EPIPE:
                text = f"tiderun: {NAMES[stream]} cannot be written any more: {error.strerror}\n"
                self._put("err" if stream == "out" else "out", text.encode())

    def _keep(self, label: str, stream: str, lines: list[bytes]) -> None:
        if self._directory is None or not lines:
            return
        try:
            file = self._files.get((label, stream)) or self._opened(self._directory, label, stream)
            file.write(b"".join(line + b"\n" for line in lines))
        except OSError as error:
            if not self._unkept:
                self._unkept = True
                self._put("err", f"tiderun: --output-filename: not all is kept: {error}\n".encode())

    def _opened(self, directory: Path, label: str, stream: str) -> IO[bytes]:
        folder = directory / f"rank.{label.replace(':', '.')}"
        folder.mkdir(parents=True, exist_ok=True)
        file = open(folder / NAMES[stream], "wb", buffering=0)  # noqa: SIM115 - open until the run is over
        self._files[label, stream] = file
        return file
