# SPDX-License-Identifier: Apache-2.0
"""Connecting to a `Location`; errors are worded like those of Go's network stack.

Users know `dial tcp 10.0.0.7:10250: connect: connection refused`; scripts look for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
import ssl
from collections.abc import Callable
from typing import Any, Final

from springtide.local.streams.duplex import Socket
from springtide.local.streams.head import BadHead, Headers, RequestHead, ResponseHead, parse_response
from springtide.local.streams.kubelet import Location
from springtide.serving.connections import MAX_HEAD
from springtide.serving.framing import END

DIAL_TIMEOUT: Final = 30.0
ANSWER_TIMEOUT: Final = 30.0


AddressInfo = tuple[int | socket.AddressFamily, int | socket.SocketKind, int, str, tuple[Any, ...]]
"""An entry of `socket.getaddrinfo`."""
SocketFactory = Callable[[AddressInfo], socket.socket]
"""Creates the socket for a connection: pods may be in a network that ordinary sockets cannot reach."""


class DialError(Exception):
    """The connection failed; the message is worded like Go's."""


async def dial(location: Location, sockets: SocketFactory | None = None) -> Socket:
    try:
        reader, writer = await asyncio.wait_for(_open(location, sockets), DIAL_TIMEOUT)
    except (OSError, TimeoutError) as problem:
        raise DialError(explained(problem, location)) from None
    return Socket(reader, writer)


async def _open(location: Location, sockets: SocketFactory | None) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    if sockets is None:
        return await asyncio.open_connection(location.host, location.port, ssl=location.tls)
    loop = asyncio.get_running_loop()
    found = (await loop.getaddrinfo(location.host, location.port, type=socket.SOCK_STREAM))[0]
    sock = sockets(found)
    try:
        await loop.sock_connect(sock, found[4])
        name = location.host if location.tls else None
        return await asyncio.open_connection(sock=sock, ssl=location.tls, server_hostname=name)
    except BaseException:
        sock.close()
        raise


def explained(problem: Exception, location: Location) -> str:
    """The message for a failed connection, worded like Go's."""
    if isinstance(problem, ssl.SSLCertVerificationError):
        return f"tls: failed to verify certificate: x509: {problem.verify_message}"
    if isinstance(problem, ssl.SSLError):
        return f"remote error: tls: {(problem.reason or 'handshake failure').lower().replace('_', ' ')}"
    if isinstance(problem, socket.gaierror):
        return f"dial tcp: lookup {location.host}: no such host"
    if isinstance(problem, TimeoutError):
        return f"dial tcp {location.address}: i/o timeout"
    number = getattr(problem, "errno", None)
    # asyncio combines the errors of several addresses into one without an errno.
    reason = "connection refused" if isinstance(problem, ConnectionRefusedError) else _reason(number, problem)
    return f"dial tcp {location.address}: connect: {reason}"


def _reason(number: int | None, problem: Exception) -> str:
    known = {errno.EHOSTUNREACH: "no route to host", errno.ENETUNREACH: "network is unreachable"}
    if number in known:
        return known[number]
    return (getattr(problem, "strerror", None) or str(problem)).lower()


class Answer:
    """The head of a peer's response to an upgrade request, and its connection."""

    def __init__(self, head: ResponseHead, raw: bytes, duplex: Socket) -> None:
        self.head, self.raw, self.duplex = head, raw, duplex


async def ask(location: Location, method: str, headers: Headers, sockets: SocketFactory | None = None) -> Answer:
    """Send an upgrade request and read the head of the response; DialError when there is none."""
    duplex = await dial(location, sockets)
    try:
        await duplex.write(RequestHead(headers, method, location.target).render())
        raw = await asyncio.wait_for(_head(duplex.reader), ANSWER_TIMEOUT)
        return Answer(parse_response(raw), raw, duplex)
    except (OSError, TimeoutError, EOFError, BadHead, asyncio.LimitOverrunError) as problem:
        await duplex.close()
        raise DialError(_no_answer(problem)) from None
    except asyncio.CancelledError:
        with contextlib.suppress(OSError):
            await duplex.close()
        raise


def _no_answer(problem: Exception) -> str:
    if isinstance(problem, ssl.SSLError):
        return f"remote error: tls: {(problem.reason or 'handshake failure').lower().replace('_', ' ')}"
    if isinstance(problem, TimeoutError):
        return "timed out waiting for an answer"
    return f"malformed HTTP response: {problem}" if isinstance(problem, BadHead) else "unexpected EOF"


async def _head(reader: asyncio.StreamReader) -> bytes:
    """Read up to the empty line and no further: the bytes after it are no longer HTTP."""
    lines = bytearray()
    while not lines.endswith(END):
        lines += await reader.readuntil(b"\n")
        if len(lines) > MAX_HEAD:
            raise BadHead("header size limit exceeded")
    return bytes(lines)
