# SPDX-License-Identifier: Apache-2.0
"""Forwards a local port to a port of a pod, as `kubectl port-forward` does.

    async with forwarding(client, lambda: find_pod(), 6006) as port:
        ...  # http://127.0.0.1:{port} is answered by the pod

Each connection is a WebSocket of its own with the channels of `v4.channel.k8s.io`: 0 is data and 1 an error message,
both begin with the number of the port. The pod is asked for with each connection, so a forwarded port survives it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

from springtide.kube import errors, request
from springtide.kube.client import Client
from springtide.kube.resources import Key
from springtide.kube.transport import WebSocket

logger = logging.getLogger(__name__)

LOOPBACK: Final = "127.0.0.1"
_PROTOCOL: Final = "v4.channel.k8s.io"
_DATA, _ERROR = 0, 1
_PIECE: Final = 32 << 10
_PORT_BYTES: Final = 2
_LAST_WORDS: Final = 5.0
"""Seconds without data after which a connection ends whose client sends nothing any more. Channels cannot be closed in
one direction only, and the pod would wait for ever for a client that is gone."""

FindPod = Callable[[], Awaitable[Key]]
"""The pod to connect to; ApiError if there is none."""


@asynccontextmanager
async def forwarding(
    client: Client, find_pod: FindPod, port: int, *, local_port: int = 0, host: str = LOOPBACK
) -> AsyncGenerator[int, None]:
    """Yields the local port; 0 takes a free one. OSError if the port is in use. Connections end with the context."""
    running: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        running.add(task)
        try:
            await _forward(client, find_pod, port, reader, writer)
        except (errors.ApiError, OSError) as problem:
            logger.warning("cannot forward a connection to port %d: %s", port, problem)
        finally:
            running.discard(task)
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    server = await asyncio.start_server(connected, host, local_port)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def _forward(
    client: Client, find_pod: FindPod, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    pod = await find_pod()
    async with client.websocket(request.forward_port(pod, port), (_PROTOCOL,)) as socket:
        if socket.protocol != _PROTOCOL:
            raise errors.ServerError(f"the server does not support {_PROTOCOL}")
        sending = asyncio.create_task(_send(socket, reader))
        try:
            await _receive(socket, writer, sending)
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)


async def _send(socket: WebSocket, reader: asyncio.StreamReader) -> None:
    while data := await reader.read(_PIECE):
        await socket.send(bytes((_DATA,)) + data)


async def _receive(socket: WebSocket, writer: asyncio.StreamWriter, sending: asyncio.Task[None]) -> None:
    begun = {_DATA: 0, _ERROR: 0}
    while (message := await _next(socket, sending)) is not None:
        channel, data = (message[0], message[1:]) if message else (-1, b"")
        if channel not in begun:
            continue
        header = min(len(data), _PORT_BYTES - begun[channel])
        begun[channel] += header
        data = data[header:]
        if channel == _ERROR and data:
            raise errors.ServerError(data.decode(errors="replace"))
        if data:
            writer.write(data)
            await writer.drain()


async def _next(socket: WebSocket, sending: asyncio.Task[None]) -> bytes | None:
    """The next message; None at the end, also when the client is gone."""
    receiving = asyncio.create_task(socket.receive())
    try:
        await asyncio.wait((receiving, sending), return_when=asyncio.FIRST_COMPLETED)
        if not receiving.done():
            await asyncio.wait((receiving,), timeout=_LAST_WORDS)
        return receiving.result() if receiving.done() else None
    finally:
        receiving.cancel()
        await asyncio.gather(receiving, return_exceptions=True)
