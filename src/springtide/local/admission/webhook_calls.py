# SPDX-License-Identifier: Apache-2.0
"""HTTPS calls to webhooks, and messages for failed calls."""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from typing import Any, Final, Protocol

import aiohttp
from yarl import URL

MAX_ANSWER: Final = 4 << 20
"""An AdmissionReview without its object is small; this is sufficient for webhooks that send the object back."""


class CallError(Exception):
    """The call failed or the response is invalid; failurePolicy decides the result."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    url: str
    ca: bytes | None
    """PEM certificates to trust; None for the system's certificates."""
    service: tuple[str, str, int] | None = None
    """(namespace, name, port) when the address must be resolved."""


class Call(Protocol):
    async def __call__(self, endpoint: Endpoint, body: bytes, seconds: int) -> bytes:
        """The response body. Raises CallError."""


SocketFactory = Callable[[tuple[Any, Any, int, str, tuple[Any, ...]]], socket.socket]
"""Makes the socket for an entry of `socket.getaddrinfo`: webhooks may run in pods, in a separate network."""
ResolveService = Callable[[str, str, int], tuple[str, int]]
"""(namespace, name, port) -> an address and port to connect to. Raises LookupError with the reason."""


class HttpsCalls:
    """Calls webhooks over HTTPS. Connections are kept between calls; `close` ends them."""

    def __init__(self, resolve: ResolveService, sockets: SocketFactory | None = None) -> None:
        self._resolve, self._sockets = resolve, sockets
        self._session: aiohttp.ClientSession | None = None
        self._contexts: dict[bytes | None, ssl.SSLContext] = {}

    async def __call__(self, endpoint: Endpoint, body: bytes, seconds: int) -> bytes:
        named = URL(endpoint.url).update_query(timeout=f"{seconds}s")
        try:
            target = self._address(named, endpoint)
            async with self._open_session().post(
                target,
                data=BytesIO(body),  # aiohttp warns about large plain bytes
                headers=_headers(named),
                ssl=self._context(endpoint.ca),
                server_hostname=named.host,
                timeout=aiohttp.ClientTimeout(total=seconds),
                allow_redirects=False,
                auto_decompress=False,  # a small response may decompress to a large one
            ) as answer:
                content = await _bounded(answer)
        except (aiohttp.ClientError, TimeoutError, LookupError, ssl.SSLError) as error:
            raise CallError(f'failed to call webhook: Post "{named}": {_explained(error)}') from None
        if not 200 <= answer.status < 300:
            raise CallError(f"failed to call webhook: {_refused(answer.status)}")
        return content

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _open_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(socket_factory=self._sockets))
        return self._session

    def _address(self, url: URL, endpoint: Endpoint) -> URL:
        if endpoint.service is None:
            return url
        host, port = self._resolve(*endpoint.service)
        return url.with_host(host).with_port(port)

    def _context(self, ca: bytes | None) -> ssl.SSLContext:
        context = self._contexts.get(ca)
        if context is None:
            context = self._contexts[ca] = ssl.create_default_context(cadata=ca.decode() if ca else None)
        return context


async def _bounded(answer: aiohttp.ClientResponse) -> bytes:
    content = bytearray()
    async for piece in answer.content.iter_any():
        content += piece
        if len(content) > MAX_ANSWER:
            raise CallError(f"failed to call webhook: its answer is longer than {MAX_ANSWER} bytes")
    return bytes(content)


def _headers(url: URL) -> dict[str, str]:
    return {
        "Host": url.authority,
        "User-Agent": "kube-apiserver-admission",
        "Content-Type": "application/json",
        "Accept": "application/json, */*",
        "Accept-Encoding": "identity",
    }


def _explained(error: Exception) -> str:
    """The error in words as close to Go's as possible."""
    if isinstance(error, TimeoutError):
        return "context deadline exceeded"
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return f"tls: failed to verify certificate: {error.certificate_error}"
    if isinstance(error, aiohttp.ClientConnectorError) and error.os_error.errno:
        reason = os.strerror(error.os_error.errno).lower()
        return f"dial tcp {error.host}:{error.port}: connect: {reason}"
    return str(error)


def _refused(code: int) -> str:
    if code >= 500:
        return 'an error on the server ("unknown") has prevented the request from succeeding'
    if code == 404:
        return "the server could not find the requested resource"
    return f"the server responded with the status code {code} but did not return more information"
