# SPDX-License-Identifier: Apache-2.0
"""Network probes: whether a port accepts, an HTTP path returns success, or a gRPC service reports SERVING.

Sockets are created by the pod's shim in the pod's own network, which the agent is not part of.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urljoin, urlsplit

from springtide.local.kubelet.probes import grpc_health
from springtide.local.kubelet.probes.answers import Answer, ProbeError, port_number, refusal

Sockets = Callable[[], Awaitable[socket.socket]]
"""Creates an unconnected TCP socket in the pod's network."""

BODY = 10 * 1024
REDIRECTS = 10
AGENT = "kube-probe/1.36"


@asynccontextmanager
async def connected(
    sockets: Sockets, host: str, port: int, tls: ssl.SSLContext | None = None
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    made = await sockets()
    try:
        made.setblocking(False)
        await asyncio.get_running_loop().sock_connect(made, (host, port))
        reader, writer = await asyncio.open_connection(sock=made, ssl=tls, server_hostname=host if tls else None)
    except BaseException:
        made.close()
        raise
    try:
        yield reader, writer
    finally:
        writer.transport.abort()  # no more data is needed, and the peer may hang


async def ask_tcp(action: Mapping[str, Any], container: Mapping[str, Any], address: str, sockets: Sockets) -> Answer:
    host, port = action.get("host") or address, port_number(action["port"], container)
    try:
        async with connected(sockets, host, port):
            return Answer(True)
    except OSError as error:
        return Answer(False, refusal(error, f"{host}:{port}"))


async def ask_http(action: Mapping[str, Any], container: Mapping[str, Any], address: str, sockets: Sockets) -> Answer:
    """Redirects on the same host are followed; a redirect to another host counts as healthy, with a warning."""
    url = first = url_of(action, container, address)
    for _ in range(REDIRECTS):
        try:
            status, location, body = await _get(url, action, sockets)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError) as error:
            return Answer(False, f'Get "{url}": {_cause(error, url)}')
        if not 300 <= status < 400:
            break
        following = urljoin(url, location)
        if not location or urlsplit(following).hostname != urlsplit(first).hostname:
            return Answer(True, f"Probe terminated redirects, Response body: {body}", warning=True)
        url = following
    else:
        return Answer(False, f'Get "{url}": stopped after {REDIRECTS} redirects')
    if 200 <= status < 300:
        return Answer(True, body)
    return Answer(False, f"HTTP probe failed with statuscode: {status}")


def url_of(action: Mapping[str, Any], container: Mapping[str, Any], address: str) -> str:
    host = action.get("host") or address
    scheme = str(action.get("scheme") or "HTTP").lower()
    path = str(action.get("path") or "/")
    return f"{scheme}://{host}:{port_number(action['port'], container)}{path if path[0] == '/' else '/' + path}"


def _cause(error: Exception, url: str) -> str:
    if isinstance(error, OSError) and not isinstance(error, ssl.SSLError):
        return refusal(error, urlsplit(url).netloc)
    return "EOF" if isinstance(error, asyncio.IncompleteReadError) else str(error)


async def _get(url: str, action: Mapping[str, Any], sockets: Sockets) -> tuple[int, str, str]:
    """Status, Location and the beginning of the body of one GET."""
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    tls = _any_certificate() if parts.scheme == "https" else None
    async with connected(sockets, parts.hostname or "", port, tls) as (reader, writer):
        writer.write(_request(parts.path or "/", parts.query, parts.netloc, action))
        await writer.drain()
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = dict(_header(line) for line in head[1:] if ":" in line)
        status = _status(head[0])
        length = min(int(headers.get("content-length", BODY)), BODY)
        body = b"" if 200 <= status < 300 else await reader.read(length)
        return status, headers.get("location", ""), body.decode(errors="replace")


def _status(line: str) -> int:
    parts = line.split(" ", 2)
    if not parts[0].startswith("HTTP/") or len(parts) < 2 or not parts[1].isdecimal():
        raise ValueError(f'malformed HTTP response "{line}"')
    return int(parts[1])


def _header(line: str) -> tuple[str, str]:
    name, _, value = line.partition(":")
    return name.strip().lower(), value.strip()


def _request(path: str, query: str, host: str, action: Mapping[str, Any]) -> bytes:
    asked = {str(one["name"]).title(): str(one["value"]) for one in action.get("httpHeaders") or ()}
    headers = {"Host": host, "User-Agent": AGENT, "Accept": "*/*", "Connection": "close"} | asked
    if not headers["Accept"]:
        del headers["Accept"]  # an empty value removes the header
    lines = [f"GET {path}{'?' + query if query else ''} HTTP/1.1", *(f"{name}: {headers[name]}" for name in headers)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def _any_certificate() -> ssl.SSLContext:
    """Accepts every certificate: probes check that a server answers, not its identity."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


async def ask_grpc(action: Mapping[str, Any], address: str, sockets: Sockets) -> Answer:
    service, port = str(action.get("service") or ""), int(action["port"])
    if not 0 < port < 65536:
        raise ProbeError(f"invalid port number: {port}")
    place = f"{address}:{port}"
    try:
        async with connected(sockets, address, port) as (reader, writer):
            return await grpc_health.check(reader, writer, service, place)
    except (OSError, asyncio.IncompleteReadError) as error:
        cause = refusal(error, place) if isinstance(error, OSError) else "EOF"
        return Answer(False, f'error: failed to connect service at "{place}": {cause}')
