# SPDX-License-Identifier: Apache-2.0
"""The server half of port-forward.

A client opens each connection as a pair of SPDY streams (`data` and `error`, matched by `requestID`); kubectl sends the
SPDY frames directly or inside a WebSocket. Browsers may use plain WebSocket channels, two per port of the query. A node
passes in a function that connects to a port of the pod; everything else is here.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import struct
from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import parse_qs, urlsplit

from springtide.local.streams.channels import (
    Channels,
    accept_websocket,
    negotiated,
    no_protocol,
    spdy_switching,
)
from springtide.local.streams.duplex import Duplex, Finished, Input, Output, first_failure, splice
from springtide.local.streams.head import RequestHead, plain_response
from springtide.local.streams.session import Session, Stream
from springtide.local.streams.websocket import Tunnel

PROTOCOL: Final = "portforward.k8s.io"
TUNNEL_PREFIX: Final = "SPDY/3.1+"
_PORT_DIGITS: Final = 5
_MOST_HALVES: Final = 256
_CHANNEL_PROTOCOLS: Final = ("v4.channel.k8s.io", "v4.base64.channel.k8s.io")

# Connects to a port of the pod. OSError when nothing listens there.
Dial = Callable[[int], Awaitable[Duplex]]


async def serve(head: RequestHead, duplex: Duplex, dial: Dial, pod: str) -> None:
    """Answer an upgrade request and forward connections until the client disconnects. `pod` is used in error
    messages."""
    if head.upgrade == "spdy/3.1":
        protocol = negotiated(head, (PROTOCOL,))
        if protocol is None:
            await _refuse(duplex, no_protocol(head, (PROTOCOL,)))
            return
        await duplex.write(spdy_switching(protocol))
        await _serve_session(duplex, dial, pod)
    elif head.upgrade == "websocket" and TUNNEL_PREFIX + PROTOCOL in head.listed("sec-websocket-protocol"):
        accepted = await accept_websocket(head, duplex, (TUNNEL_PREFIX + PROTOCOL,))
        if accepted is not None:
            await _serve_session(Tunnel(accepted[0]), dial, pod)
    elif head.upgrade == "websocket":
        await _serve_channels(head, duplex, dial, pod)
    else:
        await _refuse(duplex, plain_response(400, "unable to upgrade: missing upgrade headers in request"))


async def _refuse(duplex: Duplex, answer: bytes) -> None:
    await duplex.write(answer)
    await duplex.close()


async def _serve_session(duplex: Duplex, dial: Dial, pod: str) -> None:
    pairs: dict[str, dict[str, Stream]] = {}
    async with Session(duplex, server=True) as session, _Tasks() as tasks:
        while (stream := await session.accept()) is not None:
            kind, port = stream.headers.get("streamtype", ""), port_number(stream.headers.get("port", ""))
            # Old clients send no request id, but open the error stream right before the data stream.
            fallback = stream.id if kind == "error" else stream.id - 2
            request = stream.headers.get("requestid") or str(fallback)
            pair = pairs.get(request, {})
            if port is None or kind not in ("error", "data") or kind in pair:
                await stream.reset()
                continue
            pairs[request] = pair
            pair[kind] = stream
            await stream.reply()
            if len(pairs) > _MOST_HALVES:  # streams that the client closed, without their other half
                pairs = {key: half for key, half in pairs.items() if not all(each.done for each in half.values())}
            if len(pair) == 2:
                pairs.pop(request, None)
                tasks.start(_forward(pair["data"], pair["error"], port, dial, pod))


def port_number(text: str) -> int | None:
    """The port in a header or query; None when it is invalid."""
    short = len(text) <= _PORT_DIGITS and text.isascii() and text.isdigit()
    return int(text) if short and 0 < int(text) < 65536 else None


class _Tasks:
    """The tasks of one client's connections, which all end with it."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> _Tasks:
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    def start(self, job: Awaitable[None]) -> None:
        task = asyncio.ensure_future(job)
        self._running.add(task)
        task.add_done_callback(self._running.discard)


async def _forward(data: Stream, error: Stream, port: int, dial: Dial, pod: str) -> None:
    with contextlib.suppress(ConnectionError):
        try:
            backend = await dial(port)
        except OSError as problem:
            await error.write(_failure(port, pod, problem))
            await error.write_eof()
            await data.reset()
            return
        try:
            await splice(data, backend)
        finally:
            await backend.close()
        await data.close()
        await error.close()


def _failure(port: int, pod: str, problem: OSError) -> bytes:
    reason = os.strerror(problem.errno).lower() if problem.errno else str(problem)
    return f"error forwarding port {port} to pod {pod}: connect: {reason}".encode()


async def _serve_channels(head: RequestHead, duplex: Duplex, dial: Dial, pod: str) -> None:
    values = parse_qs(urlsplit(head.target).query).get("port", [])
    ports = [port_number(text) for value in values for text in value.split(",")]
    known = [port for port in ports if port is not None]
    if not ports or len(known) != len(ports) or len(known) > 100:
        await _refuse(duplex, plain_response(400, 'query parameter "port" is required and must name ports'))
        return
    accepted = await accept_websocket(head, duplex, _CHANNEL_PROTOCOLS)
    if accepted is None:
        return
    socket, protocol = accepted
    channels = Channels(socket, protocol, {2 * index for index in range(len(known))})

    async def leave() -> None:
        await channels.closed()
        raise Finished

    async def forward(index: int, port: int) -> None:
        for number in (2 * index, 2 * index + 1):
            await channels.send(number, struct.pack("<H", port))
        pair = _Channel(channels.input(2 * index), channels.output(2 * index))
        try:
            backend = await dial(port)
        except OSError as problem:
            await channels.send(2 * index + 1, _failure(port, pod, problem))
            return
        try:
            await splice(pair, backend)
        finally:
            await backend.close()

    async def all_ports() -> None:
        await asyncio.gather(*(forward(index, port) for index, port in enumerate(known)))
        raise Finished

    try:
        with contextlib.suppress(ConnectionError):
            await first_failure(leave(), all_ports())
    finally:
        await socket.close()


class _Channel:
    """A data channel as a `Duplex`."""

    def __init__(self, source: Input, target: Output) -> None:
        self.read, self.write, self.write_eof = source.read, target.write, target.write_eof

    async def close(self) -> None:
        """Does nothing: the WebSocket is closed for all channels at once."""
