# SPDX-License-Identifier: Apache-2.0
"""Translating a client's WebSocket (`v5.channel.k8s.io`) to SPDY for a node.

kubectl prefers the WebSocket form because it passes through ordinary proxies; the kubelet's streaming server, and
KWOK's, support its half-close only in SPDY. The client's handshake is answered first, as in kube-apiserver, so a node
that cannot be reached is reported on the error channel.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable
from typing import Final

import msgspec

from springtide.local.streams import channels
from springtide.local.streams.channels import PROTOCOL_HEADER, SPDY_PROTOCOL, V5, Command, Status, Wanted, failed
from springtide.local.streams.dialing import DialError, ask
from springtide.local.streams.duplex import Duplex, Finished, Input, Output, first_failure
from springtide.local.streams.head import RequestHead
from springtide.local.streams.kubelet import Location
from springtide.local.streams.session import Session, Stream

_MAX_STATUS: Final = 1 << 20


async def translate(head: RequestHead, client: Duplex, location: Location, wanted: Wanted) -> None:
    accepted = await channels.accept_websocket(head, client, (V5,))
    if accepted is None:
        return
    socket, protocol = accepted
    command, incoming = channels.websocket_command(socket, protocol, wanted)

    async def leave() -> None:
        await incoming.closed()
        raise Finished

    async def relay() -> None:
        await channels.greet(incoming, wanted)
        await command.report(await _ask_node(command, location, wanted))
        raise Finished

    try:
        with contextlib.suppress(ConnectionError):
            await first_failure(leave(), relay())
    finally:
        await socket.close()


async def _ask_node(command: Command, location: Location, wanted: Wanted) -> bytes:
    """Run the command on the node; returns the Status to report."""
    headers = (
        ("Host", location.address),
        ("Connection", "Upgrade"),
        ("Upgrade", "SPDY/3.1"),
        (PROTOCOL_HEADER, SPDY_PROTOCOL),
        ("Content-Length", "0"),
    )
    try:
        answer = await ask(location, "POST", headers)
    except DialError as problem:
        return _encoded(failed(f'error sending request: Post "{location.url}": {problem}'))
    try:
        if answer.head.status != 101:
            text = (await answer.duplex.read()).decode(errors="replace").strip()
            return _encoded(failed(f"unable to upgrade connection: {text}"))
        async with Session(answer.duplex, server=False) as session:
            return await _pump(command, session, wanted)
    except ConnectionError as problem:
        return _encoded(failed(str(problem)))
    finally:
        await answer.duplex.close()


async def _pump(command: Command, session: Session, wanted: Wanted) -> bytes:
    streams = await channels.open_command(session, wanted)
    error = streams["error"]
    await error.write_eof()
    status = bytearray()

    async def result() -> None:
        status.extend(await error.read_all(_MAX_STATUS))

    async def all_output() -> None:
        # The command is over when its output has ended and its status is known, whatever stdin still holds.
        outputs = [
            _copy(streams[name], target)
            for name, target in (("stdout", command.stdout), ("stderr", command.stderr))
            if name in streams and target is not None
        ]
        await asyncio.gather(*outputs, result())
        raise Finished

    inputs: list[Awaitable[None]] = [
        _copy(source, streams[name])
        for name, source in (("stdin", command.stdin), ("resize", command.resize))
        if name in streams and source is not None
    ]
    await first_failure(all_output(), *inputs)
    # A node always sends a status, also on success: without one the connection was lost.
    return bytes(status) or _encoded(failed("the connection to the node was lost before the command ended"))


async def _copy(source: Input | Stream, target: Output | Stream) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await source.read():
            await target.write(data)
        await target.write_eof()


def _encoded(status: Status) -> bytes:
    return msgspec.json.encode(status)
