# SPDX-License-Identifier: Apache-2.0
"""How the host's processes reach addresses that exist only in the pods' network.

A socket belongs to the network namespace that it was made in, not to the one its user is in. So the holder makes
sockets inside and hands them out; connecting, TLS and HTTP are then the caller's as with any other:

    aiohttp.TCPConnector(socket_factory=socket_factory(holder))
    async for listener in listeners(holder, "10.96.0.1", 443): ...      # again after every restart of the holder
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import os
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, Final

from springtide.local.network import messages
from springtide.local.network.messages import Conversation, Refused

NETWORKS: Final = tuple(map(ipaddress.ip_network, ("10.244.0.0/16", "10.96.0.0/16")))
PATIENCE: Final = 2.0
_AGAIN: Final = 0.1

AddressInfo = tuple[int | socket.AddressFamily, int | socket.SocketKind, int, str, tuple[Any, ...]]
"""An entry of `socket.getaddrinfo`, as aiohttp shows it to a socket factory."""
SocketFactory = Callable[[AddressInfo], socket.socket]


def is_inside(address: str) -> bool:
    """Whether an address is a pod's or a service's."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return False
    return any(ip in network for network in NETWORKS)


def socket_factory(holder: Path) -> SocketFactory:
    """Sockets made inside for addresses inside, ordinary ones for all others."""

    def make(wanted: AddressInfo) -> socket.socket:
        family, kind, protocol, _, address = wanted
        if is_inside(str(address[0])):
            return fresh(holder)
        made = socket.socket(family, kind, protocol)
        made.setblocking(False)
        return made

    return make


def fresh(holder: Path, kind: str = "tcp") -> socket.socket:
    """An unconnected, non-blocking socket made inside; the holder answers within a millisecond. OSError."""
    made, conversation = _asked(holder, {"do": "socket", "kind": kind})
    conversation.close()
    return made


async def dial(holder: Path, address: str, port: int) -> socket.socket:
    """A connection to a pod or service. OSError as from connecting anywhere."""
    sock = await asyncio.to_thread(fresh, holder)
    try:
        await asyncio.get_running_loop().sock_connect(sock, (address, port))
    except BaseException:
        sock.close()
        raise
    return sock


async def listening(holder: Path, address: str, port: int) -> socket.socket:
    """A listening TCP socket inside. It lives as long as it is open here, whatever becomes of the holder."""
    request = {"do": "listen", "address": address, "port": port, "protocol": "tcp"}
    made, conversation = await asyncio.to_thread(_asked, holder, request)
    conversation.close()
    return made


async def listeners(holder: Path, address: str, port: int) -> AsyncIterator[socket.socket]:
    """A listening socket, and a new one whenever another holder has come, which may have made another network."""
    request = {"do": "listen", "address": address, "port": port, "protocol": "tcp"}
    while True:
        try:
            made, conversation = await asyncio.to_thread(_asked, holder, request)
        except OSError:
            await asyncio.sleep(_AGAIN)
            continue
        yield made
        await ended(conversation)


async def ended(conversation: Conversation) -> None:
    """Returns when the other side is gone."""
    reader, writer = await asyncio.open_unix_connection(sock=conversation.socket())
    try:
        while await reader.read(messages.MOST_DESCRIPTORS):
            pass
    except OSError:
        return
    finally:
        writer.close()


def _asked(holder: Path, request: dict[str, Any]) -> tuple[socket.socket, Conversation]:
    try:
        conversation = Conversation(str(holder), PATIENCE)
    except OSError as problem:
        why = f"the pods' network is down: nobody answers at {holder} ({problem.strerror or problem})"
        raise OSError(errno.ENETUNREACH, why) from problem
    try:
        _, (descriptor,) = conversation.ask(request)
    except (OSError, Refused, ValueError) as problem:
        conversation.close()
        raise OSError(errno.ENETUNREACH, f"the network holder gave no socket: {problem}") from problem
    made = socket.socket(fileno=descriptor)
    os.set_inheritable(descriptor, False)
    made.setblocking(False)
    return made, conversation
