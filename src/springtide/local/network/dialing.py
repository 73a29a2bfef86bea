# SPDX-License-Identifier: Apache-2.0
"""Connections from host processes to addresses that exist only in the pod network.

A socket belongs to the network namespace it was created in, not to the namespace of its user. netd therefore creates
sockets inside the pod network and passes them out; connecting, TLS and HTTP then work as with any other socket:

    aiohttp.TCPConnector(socket_factory=socket_factory(holder))
    async for listener in listeners(holder, "10.96.0.1", 443): ...      # one listener per start of netd
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
"""An entry of `socket.getaddrinfo`, as aiohttp passes it to a socket factory."""
SocketFactory = Callable[[AddressInfo], socket.socket]


def is_inside(address: str) -> bool:
    """Whether an address belongs to a pod or a service."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return False
    return any(ip in network for network in NETWORKS)


def socket_factory(holder: Path) -> SocketFactory:
    """Creates sockets in the pod network for addresses in it, ordinary sockets for all others."""

    def make(wanted: AddressInfo) -> socket.socket:
        family, kind, protocol, _, address = wanted
        if is_inside(str(address[0])):
            return fresh(holder)
        made = socket.socket(family, kind, protocol)
        made.setblocking(False)
        return made

    return make


def fresh(holder: Path, kind: str = "tcp") -> socket.socket:
    """An unconnected, non-blocking socket in the pod network; netd answers within a millisecond. Raises OSError."""
    made, conversation = _asked(holder, {"do": "socket", "kind": kind})
    conversation.close()
    return made


async def dial(holder: Path, address: str, port: int) -> socket.socket:
    """A connection to a pod or service. Raises OSError like any connect."""
    sock = await asyncio.to_thread(fresh, holder)
    try:
        await asyncio.get_running_loop().sock_connect(sock, (address, port))
    except BaseException:
        sock.close()
        raise
    return sock


async def listening(holder: Path, address: str, port: int) -> socket.socket:
    """A listening TCP socket in the pod network. It stays open until closed here, even when netd exits."""
    request = {"do": "listen", "address": address, "port": port, "protocol": "tcp"}
    made, conversation = await asyncio.to_thread(_asked, holder, request)
    conversation.close()
    return made


async def listeners(holder: Path, address: str, port: int) -> AsyncIterator[socket.socket]:
    """Yields a listening socket, and a new one after every restart of netd, which may have created a new network."""
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
    """Returns when the peer has closed the connection."""
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
        why = f"the pods' network is down: nothing answers at {holder} ({problem.strerror or problem})"
        raise OSError(errno.ENETUNREACH, why) from problem
    try:
        _, (descriptor,) = conversation.ask(request)
    except (OSError, Refused, ValueError) as problem:
        conversation.close()
        raise OSError(errno.ENETUNREACH, f"netd gave no socket: {problem}") from problem
    made = socket.socket(fileno=descriptor)
    os.set_inheritable(descriptor, False)
    made.setblocking(False)
    return made, conversation
