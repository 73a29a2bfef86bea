# SPDX-License-Identifier: Apache-2.0
"""A SPDY connection with its streams, over any `Duplex`.

Both halves are here: a server accepts streams and replies to them, a client opens them. Exec, attach and port-forward
build on it (`channels.py`, `forwarding.py`) without handling frames.

Back-pressure works as in moby/spdystream: when a stream's reader lags too far behind, the connection is not read any
further, and the transport slows the peer down. One stalled stream therefore blocks the others of its connection.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from types import TracebackType
from typing import Final, Self

from springtide.local.streams import spdy
from springtide.local.streams.duplex import Duplex, Inbox, linger

FRAME: Final = 32 << 10  # as Go's copy loops; larger frames only delay the other streams
MAX_STREAMS: Final = 4096
REPLY_TIMEOUT: Final = 30.0


class Stream:
    """One two-way stream: `read` returns empty bytes when the peer has finished or reset it."""

    def __init__(self, session: Session, id_: int, headers: Mapping[str, str]) -> None:
        self.id, self.headers = id_, headers
        self.inbox = Inbox()
        self.finished = False  # our side
        self.replied: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._session = session

    async def read(self) -> bytes:
        return await self.inbox.read()

    async def read_all(self, limit: int) -> bytes:
        """Read until the end, truncated at `limit`."""
        parts, left = [], limit
        while left > 0 and (chunk := await self.read()):
            parts.append(chunk[:left])
            left -= len(chunk)
        return b"".join(parts)

    async def write(self, data: bytes) -> None:
        for start in range(0, len(data), FRAME):
            if self.finished:
                raise ConnectionResetError("the stream is closed")
            await self._session.send(spdy.data(self.id, data[start : start + FRAME]))

    async def write_eof(self) -> bool:
        if not self.finished:
            self.finished = True
            self._session.forget_if_done(self)
            await self._session.send(spdy.data(self.id, b"", fin=True))
        return True

    async def reply(self) -> None:
        """Accept the stream: the peer drops data that it receives before the reply."""
        await self._session.send(self._session.framer.reply(self.id, {}))

    async def reset(self, status: int = spdy.CANCEL) -> None:
        if self._session.drop(self):
            await self._session.send(spdy.reset(self.id, status))
        self.end()

    async def close(self) -> None:
        with contextlib.suppress(ConnectionError):
            await self.write_eof()

    @property
    def done(self) -> bool:
        return self.finished and self.inbox.finished

    def end(self) -> None:
        """End both directions."""
        self.finished = True
        self.inbox.finish()
        if not self.replied.done():
            self.replied.set_exception(ConnectionResetError("the stream was refused"))
            self.replied.exception()  # mark as retrieved: no warning if there is no waiter


class Session:
    """The connection. Use it as a context: it reads in the background and sends GOAWAY at the end."""

    def __init__(self, duplex: Duplex, *, server: bool) -> None:
        self.framer = spdy.Framer()
        self._duplex, self._server = duplex, server
        self._parity = 1 if server else 0  # of the peer's stream ids
        self._next_id = 2 if server else 1
        self._last_received = 0
        self._streams: dict[int, Stream] = {}
        self._accepted: asyncio.Queue[Stream | None] = asyncio.Queue()
        self._reading: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._reading = asyncio.get_running_loop().create_task(self._read(), name="spdy-session")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def accept(self) -> Stream | None:
        """The next stream that the peer opens, not yet replied to; None when the connection is over."""
        return await self._accepted.get()

    async def open(self, headers: Mapping[str, str]) -> Stream:
        """A new stream, once the peer has accepted it; ConnectionError if it does not."""
        stream = Stream(self, self._next_id, headers)
        self._next_id += 2
        if self._reading is None or self._reading.done():
            raise ConnectionResetError("the connection is closed")
        self._streams[stream.id] = stream
        await self.send(self.framer.syn(stream.id, headers))
        try:
            await asyncio.wait_for(stream.replied, REPLY_TIMEOUT)
        except TimeoutError:
            raise ConnectionResetError("timed out waiting for the stream to be accepted") from None
        return stream

    async def closed(self) -> None:
        """Wait until the peer has closed the connection."""
        if self._reading is not None:
            await asyncio.wait([self._reading])

    async def close(self) -> None:
        if self._reading is None:
            return
        reading, self._reading = self._reading, None
        gone = reading.done()
        if not gone:
            with contextlib.suppress(ConnectionError):
                await self._duplex.write(spdy.go_away(self._last_received))
        # Streams first, to release a read loop that waits for a lagging reader.
        self._end_streams()
        reading.cancel()
        await asyncio.wait([reading])
        if self._server and not gone:  # the client closes first, or both would wait for each other
            await linger(self._duplex)
        await self._duplex.close()

    async def send(self, frame: bytes) -> None:
        await self._duplex.write(frame)

    def drop(self, stream: Stream) -> bool:
        return self._streams.pop(stream.id, None) is not None

    def forget_if_done(self, stream: Stream) -> None:
        if stream.done:
            self._streams.pop(stream.id, None)

    def _end_streams(self) -> None:
        for stream in list(self._streams.values()):
            stream.end()
        self._streams.clear()
        self._accepted.put_nowait(None)

    async def _read(self) -> None:
        try:
            while received := await self._duplex.read():
                for frame in self.framer.receive(received):
                    if isinstance(frame, spdy.GoAway):
                        return
                    await self._handle(frame)
        except (ConnectionError, spdy.SpdyError):
            return  # a broken connection or protocol violation ends the session
        finally:
            self._end_streams()
            if not self._server:  # the server has sent GOAWAY, and waits for our close
                await self._duplex.close()

    async def _handle(self, frame: spdy.Frame) -> None:
        match frame:
            case spdy.Data(stream=id_, data=content, fin=fin) if stream := self._streams.get(id_):
                await stream.inbox.feed(content)
                self._finish(stream, fin)
            case spdy.Syn():
                await self._opened(frame)
            case spdy.Reply(stream=id_, fin=fin) if stream := self._streams.get(id_):
                if not stream.replied.done():
                    stream.replied.set_result(None)
                self._finish(stream, fin)
            case spdy.Reset(stream=id_) if stream := self._streams.pop(id_, None):
                stream.end()
            case spdy.Ping(id=id_) if id_ % 2 == self._parity:
                await self.send(spdy.ping(id_))

    def _finish(self, stream: Stream, fin: bool) -> None:
        if fin:
            stream.inbox.finish()
            self.forget_if_done(stream)

    async def _opened(self, frame: spdy.Syn) -> None:
        if frame.stream % 2 != self._parity or frame.stream <= self._last_received:
            await self.send(spdy.reset(frame.stream, spdy.PROTOCOL_ERROR))
            return
        self._last_received = frame.stream
        if len(self._streams) >= MAX_STREAMS:
            await self.send(spdy.reset(frame.stream, spdy.REFUSED_STREAM))
            return
        stream = Stream(self, frame.stream, frame.headers)
        self._streams[stream.id] = stream
        self._finish(stream, frame.fin)
        self._accepted.put_nowait(stream)
