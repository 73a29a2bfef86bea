# SPDX-License-Identifier: Apache-2.0
"""Runs a command in a container with stdin, and with a terminal if wanted, as `kubectl exec -it` does.

    code = await interact(client, Key("default", "p"), "main", ["sh"], console, tty=True)

One WebSocket with numbered channels, as in `exec`; besides, stdin is channel 0, and channel 4 has the terminal's size.
With `v5.channel.k8s.io` the message `255 0` ends stdin; older servers cannot be told.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Final, NamedTuple, Protocol

import msgspec

from springtide.kube import errors, request
from springtide.kube.client import Client
from springtide.kube.exec import PROTOCOLS, STATUS, STDERR, STDOUT, Statuses, exit_code
from springtide.kube.resources import Key
from springtide.kube.transport import WebSocket

_STDIN, _RESIZE, _CLOSE = 0, 4, 255
_PIECE: Final = 32 << 10
"""Bytes of stdin in one message; kube-apiserver closes connections with longer ones than 64 KiB."""


class Size(NamedTuple):
    width: int
    height: int


class Console(Protocol):
    """Where a command's input comes from, and its output goes."""

    async def read(self) -> bytes:
        """The next input; empty at its end."""

    async def write(self, data: bytes, *, error: bool) -> None: ...

    def sizes(self) -> AsyncIterator[Size]:
        """The size of the terminal, and again whenever it changes."""


async def interact(
    client: Client, pod: Key, container: str, argv: Sequence[str], console: Console, *, tty: bool
) -> int:
    """The exit code. ApiError if the command was not run; Unreachable if the connection was lost."""
    async with client.websocket(request.interact(pod, container, argv, tty=tty), PROTOCOLS) as socket:
        if socket.protocol not in PROTOCOLS:
            raise errors.ServerError(f"the server supports none of the protocols {', '.join(PROTOCOLS)}")
        typing = [asyncio.create_task(_type(socket, console))]
        if tty:
            typing.append(asyncio.create_task(_resize(socket, console)))
        try:
            return await _shown(socket, console)
        finally:
            for task in typing:
                task.cancel()
            await asyncio.gather(*typing, return_exceptions=True)


async def _shown(socket: WebSocket, console: Console) -> int:
    """Writes the output until the connection ends; servers send the status last, and then close it."""
    statuses = Statuses()
    while (message := await socket.receive()) is not None:
        channel, data = message[:1], message[1:]
        if channel == bytes((STATUS,)):
            if (status := statuses.add(data)) is not None:
                return exit_code(status)
        elif data and channel in (bytes((STDOUT,)), bytes((STDERR,))):
            await console.write(data, error=channel == bytes((STDERR,)))
    raise errors.Unreachable("the connection was closed before the command ended")


async def _type(socket: WebSocket, console: Console) -> None:
    while data := await console.read():
        for start in range(0, len(data), _PIECE):
            await socket.send(bytes((_STDIN,)) + data[start : start + _PIECE])
    if socket.protocol == PROTOCOLS[0]:
        await socket.send(bytes((_CLOSE, _STDIN)))


async def _resize(socket: WebSocket, console: Console) -> None:
    async for size in console.sizes():
        shape = {"Width": size.width, "Height": size.height}
        await socket.send(bytes((_RESIZE,)) + msgspec.json.encode(shape))
