# SPDX-License-Identifier: Apache-2.0
"""Takes upgraded connections over before aiohttp's HTTP parser sees them.

aiohttp hands on no upgrade but WebSocket: it would parse SPDY frames as HTTP. `Takeover` therefore stands in front of
each connection until the head of its first request is complete. An upgrade goes to our own handler with the raw
connection; anything else is replayed to aiohttp's protocol, which then owns the transport with nothing in between.
Clients that speak SPDY always dial a connection of their own for it, so the first request is the only one to look at.
aiohttp must take request lines as long as we do: give its server `max_line_size` and `max_field_size` of `MAX_HEAD`.

A WebSocket may also come later on a connection that was kept alive; aiohttp does see those, and `from_request` gives
its handler the same kind of raw connection.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from aiohttp import web

from springtide.local.streams.duplex import CHUNK, Duplex, Socket
from springtide.local.streams.head import END, MAX_HEAD, BadHead, RequestHead, parse_request, plain_response

HEAD_TIMEOUT: Final = 15.0


@dataclass(frozen=True, slots=True)
class Upgrade:
    """A connection that leaves HTTP: the request's head, the raw bytes after it, and who is on the other side."""

    head: RequestHead
    duplex: Duplex
    certificate: bytes | None = None
    """The client's TLS certificate (DER), verified by the handshake; None without one."""
    peer: str = ""


Handler = Callable[[Upgrade], Awaitable[None]]


class Takeover(asyncio.Protocol):
    """Buffers the first head, then gives the transport away. Make one per connection: `lambda: Takeover(...)`."""

    def __init__(self, http: Callable[[], asyncio.Protocol], upgraded: Handler, head_timeout: float = HEAD_TIMEOUT):
        self._http, self._upgraded, self._head_timeout = http, upgraded, head_timeout
        self._buffer = bytearray()
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        # A client that sends its head byte by byte holds a connection, not a place in the server.
        self._timer = asyncio.get_running_loop().call_later(self._head_timeout, transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()

    def data_received(self, data: bytes) -> None:
        assert self._transport is not None
        searched = max(0, len(self._buffer) - len(END))
        self._buffer += data
        end = self._buffer.find(END, searched)
        if end < 0:
            if len(self._buffer) > MAX_HEAD:
                self._refuse(431, "request head is too long")
            return
        self._stop_timer()
        head = bytes(self._buffer[: end + len(END)])
        # Most requests are no upgrades, and most of those do not even contain the word.
        if b"upgrade" not in head.lower():
            self._to_http()
            return
        try:
            request = parse_request(head)
        except BadHead:
            self._to_http()  # aiohttp has the words for this
            return
        if request.upgrade in ("spdy/3.1", "websocket"):
            self._to_handler(request, bytes(self._buffer[end + len(END) :]))
        else:
            self._to_http()

    def _to_http(self) -> None:
        assert self._transport is not None
        protocol = self._http()
        self._transport.set_protocol(protocol)
        protocol.connection_made(self._transport)
        protocol.data_received(bytes(self._buffer))

    def _to_handler(self, head: RequestHead, rest: bytes) -> None:
        assert self._transport is not None
        duplex = _adopt(self._transport, rest)
        upgrade = Upgrade(head, duplex, _certificate(self._transport), _peer(self._transport))
        task = asyncio.get_running_loop().create_task(_guarded(self._upgraded, upgrade), name="upgraded-connection")
        _running.add(task)
        task.add_done_callback(_running.discard)

    def _refuse(self, status: int, text: str) -> None:
        assert self._transport is not None
        self._stop_timer()
        self._transport.write(plain_response(status, text))
        self._transport.close()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


# The event loop keeps only weak references to tasks.
_running: set[asyncio.Task[None]] = set()


async def stop() -> None:
    """End all connections that were taken over: aiohttp's own shutdown does not know of them."""
    loop = asyncio.get_running_loop()
    tasks = [task for task in _running if task.get_loop() is loop]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _guarded(handler: Handler, upgrade: Upgrade) -> None:
    """However the handler ends, the connection ends with it."""
    try:
        await handler(upgrade)
    except ConnectionError:
        pass  # the client left in the middle of an answer
    finally:
        await upgrade.duplex.close()


def _adopt(transport: asyncio.Transport, rest: bytes) -> Socket:
    """The transport as reader and writer, `rest` being what was read already."""
    reader = asyncio.StreamReader(limit=CHUNK)
    protocol = asyncio.StreamReaderProtocol(reader)
    transport.set_protocol(protocol)
    protocol.connection_made(transport)
    if rest:
        reader.feed_data(rest)
    return Socket(reader, asyncio.StreamWriter(transport, protocol, reader, asyncio.get_running_loop()))


def _certificate(transport: asyncio.BaseTransport) -> bytes | None:
    tls = transport.get_extra_info("ssl_object")
    return tls.getpeercert(binary_form=True) if isinstance(tls, ssl.SSLObject) else None


def _peer(transport: asyncio.BaseTransport) -> str:
    name = transport.get_extra_info("peername")
    return str(name[0]) if isinstance(name, tuple) else ""


class _Borrowed:
    """A `Duplex` over a connection that aiohttp keeps: raw bytes come where its WebSocket reader would be."""

    def __init__(self, request: web.BaseRequest, transport: asyncio.Transport) -> None:
        self._transport, self._writer = transport, request.writer
        self._reader = asyncio.StreamReader(limit=CHUNK)
        self._reader.set_transport(transport)
        # aiohttp asks for its own WebSocketReader, but only ever calls the two methods below.
        parser: Any = self
        request.protocol.set_parser(parser)

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        self._reader.feed_data(data)
        return False, b""

    def feed_eof(self) -> None:
        self._reader.feed_eof()

    async def read(self) -> bytes:
        return await self._reader.read(CHUNK)

    async def write(self, data: bytes) -> None:
        if self._transport.is_closing():
            raise ConnectionResetError("the connection is closed")
        self._transport.write(data)
        await self._writer.drain()

    async def write_eof(self) -> bool:
        return False

    async def close(self) -> None:
        self._transport.close()


class _Spoken(web.StreamResponse):
    """What a handler returns after it has spoken past aiohttp: nothing more is written."""

    async def prepare(self, request: web.BaseRequest) -> None:
        self.force_close()

    async def write_eof(self, data: bytes = b"") -> None:
        return None


async def from_request(request: web.BaseRequest, handler: Handler) -> web.StreamResponse:
    """Give a WebSocket request that came through aiohttp to `handler`; return the result from the aiohttp handler."""
    transport = request.transport
    if transport is None:
        raise ConnectionResetError("the client left")
    head = RequestHead(tuple(request.headers.items()), request.method, request.raw_path)
    duplex = _Borrowed(request, transport)
    await _guarded(handler, Upgrade(head, duplex, _certificate(transport), _peer(transport)))
    return _Spoken()
