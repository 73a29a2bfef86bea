# SPDX-License-Identifier: Apache-2.0
"""Two-way byte streams with back-pressure, independent of their transport.

A socket, a TLS connection or a WebSocket tunnel have the same interface for SPDY framing and for the proxy: `read`
waits for bytes, `write` waits until the peer keeps up, and nothing is buffered beyond the transport's own limits.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable
from typing import Final, Protocol

CHUNK: Final = 64 << 10
# How long a finished connection waits for the peer to close it, so that closing does not cut off its last bytes.
LINGER: Final = 2.0
_WRITES_IN_A_ROW: Final = 16
WINDOW: Final = 256 << 10


class Duplex(Protocol):
    async def read(self) -> bytes:
        """The next bytes; empty at the end, also when the connection broke."""
        ...

    async def write(self, data: bytes) -> None:
        """Send all data; ConnectionError when the peer is gone."""
        ...

    async def write_eof(self) -> bool:
        """Signal the end of the data; False when the transport cannot (TLS, WebSocket)."""
        ...

    async def close(self) -> None: ...


class Input(Protocol):
    async def read(self) -> bytes: ...


class Output(Protocol):
    async def write(self, data: bytes) -> None: ...

    async def write_eof(self) -> bool: ...


class Inbox:
    """Received and unread data of one stream of a shared connection.

    `feed` waits while the reader lags by more than `WINDOW`; meanwhile its caller does not read the connection.
    """

    def __init__(self) -> None:
        self._chunks: deque[bytes] = deque()
        self._waiting = 0
        self._changed = asyncio.Event()
        self._room = asyncio.Event()
        self.finished = False

    async def read(self) -> bytes:
        while not self._chunks:
            if self.finished:
                return b""
            self._changed.clear()
            await self._changed.wait()
        chunk = self._chunks.popleft()
        self._waiting -= len(chunk)
        if self._waiting < WINDOW:
            self._room.set()
        return chunk

    async def feed(self, content: bytes) -> None:
        if self.finished or not content:
            return
        self._chunks.append(content)
        self._waiting += len(content)
        self._changed.set()
        if self._waiting >= WINDOW:
            self._room.clear()
            await self._room.wait()

    def finish(self) -> None:
        """Mark the end of the data; what has arrived can still be read."""
        self.finished = True
        self._changed.set()
        self._room.set()


class Socket:
    """A `Duplex` over asyncio's own reader and writer."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self._written = 0

    async def read(self) -> bytes:
        try:
            return await self.reader.read(CHUNK)
        except OSError:
            return b""

    async def write(self, data: bytes) -> None:
        if self.writer.is_closing():
            raise ConnectionResetError("the connection is closed")
        self.writer.write(data)
        await self.writer.drain()
        self._written += 1
        if self._written % _WRITES_IN_A_ROW == 0:
            # The calls above do not yield while the peer keeps up, or while the transport has not noticed that it is
            # gone.
            await asyncio.sleep(0)

    async def write_eof(self) -> bool:
        if self.writer.is_closing() or not self.writer.can_write_eof():
            return False
        self.writer.write_eof()
        return True

    async def close(self) -> None:
        # Not awaited: written data is still flushed, and `wait_closed` shares one future among all waiters, so that
        # cancelling one cancels the others.
        self.writer.close()


async def linger(duplex: Duplex, timeout: float = LINGER) -> None:
    """Read and drop data until the peer closes the connection.

    Closing a socket with unread bytes in it resets the connection, and a reset overtakes what was written last.
    """

    async def drain() -> None:
        while await duplex.read():
            pass

    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(drain(), timeout)


async def splice(left: Duplex, right: Duplex) -> None:
    """Copy both ways until both ends are done; an end that cannot be half-closed ends the other direction, too."""
    await first_failure(_copy(left, right), _copy(right, left))


class Finished(Exception):
    """One direction ended and could not be half-closed, so the whole connection is over."""


async def _copy(source: Duplex, target: Duplex) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await source.read():
            await target.write(data)
        if await target.write_eof():
            return
    raise Finished


async def first_failure(*jobs: Awaitable[None]) -> None:
    """Run jobs concurrently until all are done or one raises; `Finished` is suppressed. Never leaves a job running."""
    tasks = [asyncio.ensure_future(job) for job in jobs]
    try:
        await asyncio.gather(*tasks)
    except Finished:
        pass
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
