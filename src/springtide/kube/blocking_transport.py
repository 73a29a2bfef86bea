# SPDX-License-Identifier: Apache-2.0
"""A transport for programs that send a few requests, one after another: the standard library alone, so it starts fast.

A request blocks the event loop, which is only acceptable where nothing else runs on it. Streams go to a transport with
aiohttp, which is imported when the first one begins.
"""

from __future__ import annotations

import http.client
import select
import socket
import ssl
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Final, cast
from urllib.parse import urlsplit

from springtide.kube import errors
from springtide.kube.config import Connection, trusting
from springtide.kube.request import Request, Response
from springtide.kube.transport import REQUEST_TIMEOUT, USER_AGENT, WebSocket

if TYPE_CHECKING:
    from springtide.kube.http_transport import HttpTransport

_HTTPS_PORT: Final = 443
_HTTP_PORT: Final = 80
LARGEST: Final = 1 << 29
"""Bytes of an answer; a page of the largest objects has less."""
_PIECE: Final = 1 << 20
_CLOSED: Final = (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError)


def suits(connection: Connection) -> bool:
    """Whether the server can be reached without a proxy, which only the other transport knows how to use."""
    return not connection.proxy


class BlockingTransport:
    def __init__(self, connection: Connection, timeout: float = REQUEST_TIMEOUT) -> None:
        self._connection, self._timeout = connection, timeout
        self._kept: http.client.HTTPConnection | None = None
        self._streams: HttpTransport | None = None

    async def send(self, request: Request) -> Response:
        headers = {"User-Agent": USER_AGENT, "Accept-Encoding": "identity", **request.headers}
        headers |= await self._connection.credentials()
        if self._kept is not None and request.method == "GET":
            try:
                return self._attempt(request, headers)
            except errors.Unreachable as error:
                # A server may close an idle connection at any time, and reading twice does no harm.
                if not isinstance(error.__cause__, _CLOSED):
                    raise
        return self._attempt(request, headers)

    def _attempt(self, request: Request, headers: dict[str, str]) -> Response:
        complete = False
        if self._kept is not None and _is_stale(self._kept):
            self._hang_up()
        try:
            response = self._exchange(self._kept or self._connect(request), request, headers)
            complete = True
            return response
        except (OSError, http.client.HTTPException) as error:
            raise self._unreachable(request, error) from error
        finally:
            if not complete:
                self._hang_up()  # after half a response, or Ctrl-C, the connection cannot be used again

    def _exchange(self, kept: http.client.HTTPConnection, request: Request, headers: dict[str, str]) -> Response:
        deadline = time.monotonic() + self._seconds(request)
        if kept.sock is not None:
            kept.sock.settimeout(self._seconds(request))
        kept.request(request.method, request.target, body=request.body or None, headers=headers)
        connected = kept.sock  # `kept` forgets it where the server says that it will close the connection
        response = kept.getresponse()
        body = _body(response, connected, deadline)
        if response.will_close:
            self._hang_up()
        return Response(response.status, cast(Mapping[str, str], response.headers), body)

    def _connect(self, request: Request) -> http.client.HTTPConnection:
        address, timeout = urlsplit(self._connection.server), self._seconds(request)
        host = address.hostname or ""
        if address.scheme == "http":
            self._kept = http.client.HTTPConnection(host, address.port or _HTTP_PORT, timeout=timeout)
            return self._kept
        given = self._connection.ssl
        context = given if isinstance(given, ssl.SSLContext) else trusting()
        name = self._connection.server_name or host
        self._kept = _Tls(host, address.port or _HTTPS_PORT, timeout, context, name)
        return self._kept

    def _seconds(self, request: Request) -> float:
        return self._timeout if request.timeout is None else request.timeout

    def _unreachable(self, request: Request, error: Exception) -> errors.Unreachable:
        where = f"{request.method} {self._connection.server}{request.path}"
        return errors.Unreachable(f"{where}: {str(error) or type(error).__name__}")

    def _hang_up(self) -> None:
        if self._kept is not None:
            self._kept.close()
            self._kept = None

    def stream(self, request: Request) -> AsyncGenerator[bytes, None]:
        return self._streaming().stream(request)

    def chunks(self, request: Request) -> AsyncGenerator[bytes, None]:
        return self._streaming().chunks(request)

    def websocket(self, request: Request, protocols: Sequence[str]) -> AbstractAsyncContextManager[WebSocket]:
        return self._streaming().websocket(request, protocols)

    def _streaming(self) -> HttpTransport:
        if self._streams is None:
            # Imported here because aiohttp takes longer to import than most commands run.
            from springtide.kube.http_transport import HttpTransport  # noqa: PLC0415

            self._streams = HttpTransport(self._connection, timeout=self._timeout)
        return self._streams

    async def close(self) -> None:
        self._hang_up()
        if self._streams is not None:
            await self._streams.close()


def _is_stale(kept: http.client.HTTPConnection) -> bool:
    """Whether the server has closed the idle connection. A request that changes something could not be repeated."""
    if kept.sock is None:
        return False
    readable, _, _ = select.select([kept.sock], [], [], 0)
    return bool(readable)


def _body(response: http.client.HTTPResponse, connected: socket.socket, deadline: float) -> bytes:
    """All of it in time: a server that sends a byte now and then would never time out otherwise."""
    pieces, size = [], 0
    while piece := response.read1(_PIECE):
        pieces.append(piece)
        size += len(piece)
        if size > LARGEST:
            raise http.client.HTTPException(f"the answer has more than {LARGEST >> 20} MiB")
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        connected.settimeout(left)
    response.close()  # it knows its end only where one more byte was asked for
    if response.length:
        raise http.client.IncompleteRead(b"".join(pieces), response.length)
    return b"".join(pieces)


class _Tls(http.client.HTTPSConnection):
    """HTTPS to a host whose certificate may bear another name."""

    def __init__(self, host: str, port: int, timeout: float, context: ssl.SSLContext, name: str) -> None:
        super().__init__(host, port, timeout=timeout, context=context)
        self._tls, self._certified = context, name

    def connect(self) -> None:
        plain = socket.create_connection((self.host, self.port), self.timeout)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            self.sock = self._tls.wrap_socket(plain, server_hostname=self._certified)
        except BaseException:
            plain.close()
            raise
