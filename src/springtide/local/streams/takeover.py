# SPDX-License-Identifier: Apache-2.0
"""Taking over upgraded connections before aiohttp's HTTP parser reads them.

aiohttp supports no upgrade but WebSocket: it would parse SPDY frames as HTTP. So the connection (`serving.connections`)
passes every head with an upgrade to `taking_over`, which gives the raw connection to our own handler or leaves the
request to aiohttp.

    Service(handler, upgrade=taking_over(upgraded))
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from springtide.local.streams.duplex import CHUNK, Duplex, Socket
from springtide.local.streams.head import BadHead, RequestHead, parse_request
from springtide.serving import connections
from springtide.serving.connections import Connection, certificate_of
from springtide.serving.framing import BadRequest


def _anybody(user: str) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Upgrade:
    """A connection that leaves HTTP: the request's head, the raw bytes after it, and the peer's identity."""

    head: RequestHead
    duplex: Duplex
    certificate: bytes | None = None
    """The client's TLS certificate (DER), verified by the handshake; None without one."""
    peer: str = ""
    authenticated: Callable[[str], bool] = _anybody
    """Called with the user's name once it is known; False when the user has too many connections."""


Handler = Callable[[Upgrade], Awaitable[None]]


def taking_over(upgraded: Handler) -> connections.Upgrade:
    """Give upgrades to SPDY and WebSocket to `upgraded`, and leave all other requests to the HTTP server."""

    def take(head: bytes, length: int, rest: bytes, connection: Connection) -> asyncio.Protocol | None:
        request = _parsed(head)
        if request.upgrade not in ("spdy/3.1", "websocket"):
            return None
        if length:  # the next bytes would be ambiguous: a body or frames
            raise BadRequest("a request that asks for an upgrade has a body")
        transport = connection.transport
        protocol, duplex = _adopt(transport, rest)
        upgrade = Upgrade(request, duplex, certificate_of(transport), _peer(transport), connection.authenticated)
        task = asyncio.get_running_loop().create_task(_guarded(upgraded, upgrade), name="upgraded-connection")
        _running.add(task)
        task.add_done_callback(_running.discard)
        return protocol

    return take


def _parsed(head: bytes) -> RequestHead:
    try:
        return parse_request(head)
    except BadHead as problem:
        raise BadRequest(str(problem)) from None


# The event loop keeps only weak references to tasks.
_running: set[asyncio.Task[None]] = set()


async def stop() -> None:
    """End all connections that were taken over, which aiohttp's own shutdown does not know."""
    loop = asyncio.get_running_loop()
    tasks = [task for task in _running if task.get_loop() is loop]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _guarded(handler: Handler, upgrade: Upgrade) -> None:
    """Run the handler and close the connection, however the handler ends."""
    try:
        await handler(upgrade)
    except ConnectionError:
        pass  # the client disconnected during a response
    finally:
        await upgrade.duplex.close()


def _adopt(transport: asyncio.Transport, rest: bytes) -> tuple[asyncio.Protocol, Socket]:
    """The transport as reader and writer, `rest` being what was read already."""
    reader = asyncio.StreamReader(limit=CHUNK)
    protocol = asyncio.StreamReaderProtocol(reader)
    protocol.connection_made(transport)
    if rest:
        reader.feed_data(rest)
    return protocol, Socket(reader, asyncio.StreamWriter(transport, protocol, reader, asyncio.get_running_loop()))


def _peer(transport: asyncio.BaseTransport) -> str:
    name = transport.get_extra_info("peername")
    return str(name[0]) if isinstance(name, tuple) else ""
