# SPDX-License-Identifier: Apache-2.0
"""Proxying upgraded connections from a client to a node: exec, attach, port-forward.

As in kube-apiserver, the client's upgrade is repeated to the node and, once the node has switched protocols, bytes are
copied both ways unparsed. Nodes that only support SPDY do not understand two WebSocket forms: `v5.channel.k8s.io` is
translated (`translation.py`), and port-forward's tunnel is unwrapped, the SPDY inside being passed on unchanged. A node
that declares WebSocket support gets both unchanged.

The caller has authorized the user, and resolved pod and node. Errors before the switch are ordinary `Status` responses.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Final

import msgspec

from springtide.local.status import StatusError
from springtide.local.streams.channels import PROTOCOL_HEADER, V5, Wanted
from springtide.local.streams.dialing import Answer, DialError, SocketFactory, ask
from springtide.local.streams.duplex import CHUNK, Duplex, splice
from springtide.local.streams.forwarding import TUNNEL_PREFIX
from springtide.local.streams.head import Headers, RequestHead, plain_response, without
from springtide.local.streams.kubelet import Location
from springtide.local.streams.translation import translate
from springtide.local.streams.websocket import Tunnel, WebSocket, switching

_REFUSAL_TIMEOUT: Final = 10.0
_MOST_REFUSAL: Final = 1 << 20
# The user's credentials and identity are not forwarded: to the node, the API server authenticates as itself.
_PRIVATE: Final = ("authorization", "cookie", "host")


async def command(head: RequestHead, client: Duplex, location: Location, wanted: Wanted, *, websocket: bool) -> None:
    """Exec and attach. `websocket`: the node supports `v5.channel.k8s.io` itself."""
    if head.upgrade == "websocket" and V5 in head.listed("sec-websocket-protocol") and not websocket:
        await translate(head, client, location, wanted)
    else:
        await pass_through(head, client, location)


async def forward(head: RequestHead, client: Duplex, location: Location, *, websocket: bool) -> None:
    """Port-forward. `websocket`: the node unwraps tunnelled SPDY itself."""
    asked = head.listed("sec-websocket-protocol")
    tunnelled = [name.removeprefix(TUNNEL_PREFIX) for name in asked if name.startswith(TUNNEL_PREFIX)]
    if head.upgrade == "websocket" and tunnelled and not websocket:
        await _unwrap(head, client, location, tunnelled)
    else:
        await pass_through(head, client, location)


async def pass_through(
    head: RequestHead, client: Duplex, location: Location, sockets: SocketFactory | None = None
) -> None:
    """Repeat the same upgrade to `location`, then copy bytes both ways."""
    try:
        answer = await _ask(location, head.method, forwarded(head, location), sockets)
    except StatusError as refused:
        await refuse(client, refused)
        return
    try:
        if answer.head.status != 101:
            await _relay_refusal(client, answer)
            return
        await client.write(answer.raw)
        await splice(client, answer.duplex)
    finally:
        await answer.duplex.close()
        await client.close()


async def _unwrap(head: RequestHead, client: Duplex, location: Location, protocols: list[str]) -> None:
    plain = without(forwarded(head, location), ("upgrade", "connection", PROTOCOL_HEADER, *_websocket_headers(head)))
    spdy = (("Connection", "Upgrade"), ("Upgrade", "SPDY/3.1"), *((PROTOCOL_HEADER, name) for name in protocols))
    try:
        answer = await _ask(location, "POST", plain + spdy)
    except StatusError as refused:
        await refuse(client, refused)
        return
    try:
        if answer.head.status != 101:
            await _relay_refusal(client, answer)
            return
        chosen = answer.head.get(PROTOCOL_HEADER)
        await client.write(switching(head, TUNNEL_PREFIX + chosen if chosen else ""))
        tunnel = Tunnel(WebSocket(client))
        await splice(tunnel, answer.duplex)
        await tunnel.close()
    finally:
        await answer.duplex.close()
        await client.close()


async def _ask(location: Location, method: str, headers: Headers, sockets: SocketFactory | None = None) -> Answer:
    try:
        return await ask(location, method, headers, sockets)
    except DialError as problem:
        raise StatusError(500, "", f"error dialing backend: {problem}") from None


def forwarded(head: RequestHead, location: Location) -> Headers:
    """The client's headers as sent to the node."""
    identities = (name for name, _ in head.headers if name.lower().startswith(("impersonate-", "x-remote-")))
    return (("Host", location.address), *without(head.headers, (*_PRIVATE, *identities)))


def _websocket_headers(head: RequestHead) -> tuple[str, ...]:
    return tuple(name for name, _ in head.headers if name.lower().startswith("sec-websocket-"))


async def _relay_refusal(client: Duplex, answer: Answer) -> None:
    """The node did not switch protocols: relay its response, if it is an error."""
    if answer.head.status < 400:
        await refuse(client, StatusError(500, "", f"invalid upgrade response: status code {answer.head.status}"))
        return
    length = answer.head.get("content-length")
    short = length.isascii() and length.isdigit() and len(length) <= len(str(_MOST_REFUSAL))
    left = min(int(length), _MOST_REFUSAL) if short else _MOST_REFUSAL
    with contextlib.suppress(TimeoutError, OSError):
        await client.write(answer.raw)
        async with asyncio.timeout(_REFUSAL_TIMEOUT):
            while left > 0 and (data := await answer.duplex.reader.read(min(left, CHUNK))):
                await client.write(data)
                left -= len(data)


async def refuse(client: Duplex, refused: StatusError) -> None:
    """Send an error on a connection that was taken over from aiohttp but is still HTTP."""
    body = msgspec.json.encode(refused.as_object()).decode()
    with contextlib.suppress(ConnectionError):
        await client.write(plain_response(refused.code, body, "application/json"))
    await client.close()
