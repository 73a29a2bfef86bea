# SPDX-License-Identifier: Apache-2.0
"""Pipes and terminals on the event loop: the agent's ends of the streams of a process in a pod.

asyncio's own pipe transports close their descriptor when they are cancelled; here it can be kept, because a process in
a pod must not die of SIGPIPE when the client that started it disconnects.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from typing import Final

CHUNK: Final = 32 << 10


class Descriptor:
    """A descriptor owned by the agent: a pipe's end or a terminal's master."""

    def __init__(self, number: int) -> None:
        os.set_blocking(number, False)
        self._number = number
        self._closed = False

    @property
    def number(self) -> int:
        return self._number

    def take(self) -> bytes | None:
        """The data available now: None if there is none yet, empty at the end of the stream."""
        try:
            return os.read(self._number, CHUNK)
        except BlockingIOError:
            return None
        except OSError:  # EIO: the last user of the terminal is gone
            return b""

    async def read(self) -> bytes:
        while (data := self.take()) is None:
            await self._ready(reading=True)
        return data

    async def write(self, data: bytes) -> None:
        """Write all data; BrokenPipeError or another OSError when the reading end is closed."""
        left = memoryview(data)
        while left:
            try:
                left = left[os.write(self._number, left) :]
            except BlockingIOError:
                await self._ready(reading=False)

    async def _ready(self, *, reading: bool) -> None:
        loop = asyncio.get_running_loop()
        add, remove = (loop.add_reader, loop.remove_reader) if reading else (loop.add_writer, loop.remove_writer)
        event = asyncio.Event()
        add(self._number, event.set)
        try:
            await event.wait()
        finally:
            if not self._closed:
                remove(self._number)

    def drain(self) -> None:
        """Read and drop all data until its writers are gone, then close."""
        loop = asyncio.get_running_loop()

        def drop() -> None:
            if self.take() == b"":
                loop.remove_reader(self._number)
                self.close()

        loop.add_reader(self._number, drop)

    def close(self) -> None:
        """Unregister from the event loop, then close: the loop knows only the number, which is soon reused."""
        if not self._closed:
            self._closed = True
            loop = asyncio.get_running_loop()
            loop.remove_reader(self._number)
            loop.remove_writer(self._number)
            with contextlib.suppress(OSError):
                os.close(self._number)
