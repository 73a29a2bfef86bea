# SPDX-License-Identifier: Apache-2.0
"""The transport with aiohttp: many requests at once, streams and WebSockets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus
from io import BytesIO
from typing import Any, Final

import aiohttp
from yarl import URL

from springtide.kube import errors
from springtide.kube.config import Connection
from springtide.kube.request import Request, Response
from springtide.kube.transport import REQUEST_TIMEOUT, USER_AGENT, WebSocket

UNLIMITED = 0
HEARTBEAT: Final = 20.0
"""Seconds between two pings on a WebSocket. Half of it without an answer, and the peer counts as gone: a connection
whose other end was switched off stays open for ever otherwise."""
_CLOSING: Final = 1.0
"""Seconds for the peer to confirm that a WebSocket is closed."""
_LONGEST_MESSAGE: Final = 16 << 20
_LONGEST_REFUSAL: Final = 1 << 20

LARGE = 1 << 20
"""Bytes from which on aiohttp warns about a body that is not a file."""


class HttpTransport:
    """Requests over HTTP(S) with keep-alive connections. Opens none until first used."""

    def __init__(self, connection: Connection, connections: int = 100, timeout: float = REQUEST_TIMEOUT) -> None:
        self._connection, self._timeout = connection, timeout
        self._sessions: dict[int, aiohttp.ClientSession] = {}
        """By their limit of connections. Streams hold theirs for minutes, so they must not be limited: the
        hundred-and-first watch would wait forever, and every other request behind it."""
        self._limit = connections
        self._upgrading: aiohttp.ClientSession | None = None

    async def send(self, request: Request) -> Response:
        async with self._exchange(request, self._limit, self._timeout) as response:
            return Response(response.status, response.headers, await response.read())

    async def stream(self, request: Request) -> AsyncGenerator[bytes, None]:
        async with self._exchange(request, UNLIMITED, None) as response:
            if response.status >= 300:
                raise errors.from_answer(response.status, response.headers, await response.read())
            # StreamReader.readline rejects lines beyond its buffer, and an object may be a megabyte long.
            rest: list[bytes] = []
            async for chunk in response.content.iter_any():
                *lines, tail = chunk.split(b"\n")
                for line in lines:
                    rest.append(line)
                    yield b"".join(rest)
                    rest.clear()
                rest.append(tail)
            if last := b"".join(rest):
                yield last

    async def chunks(self, request: Request) -> AsyncGenerator[bytes, None]:
        async with self._exchange(request, UNLIMITED, None) as response:
            if response.status >= 300:
                raise errors.from_answer(response.status, response.headers, await response.read())
            async for chunk in response.content.iter_any():
                yield chunk

    @asynccontextmanager
    async def _exchange(
        self, request: Request, limit: int, timeout: float | None
    ) -> AsyncGenerator[aiohttp.ClientResponse, None]:
        session = self._sessions.get(limit) or self._open(limit)
        headers = await self._headers(request)
        total = timeout if request.timeout is None else request.timeout
        try:
            async with session.request(
                request.method,
                URL(self._connection.server + request.target, encoded=True),
                data=_payload(request.body),
                headers=headers,
                ssl=self._connection.ssl,
                server_hostname=self._connection.server_name or None,
                proxy=self._connection.proxy or None,
                timeout=aiohttp.ClientTimeout(total=total),
                allow_redirects=False,
            ) as response:
                yield response
        except (aiohttp.ClientError, TimeoutError, asyncio.IncompleteReadError, OSError) as error:
            raise self._unreachable(request, error) from error

    @asynccontextmanager
    async def websocket(self, request: Request, protocols: Sequence[str]) -> AsyncGenerator[WebSocket, None]:
        self._upgrading = self._upgrading or self._upgrades()
        headers = await self._headers(request)
        try:
            async with asyncio.timeout(self._timeout if request.timeout is None else request.timeout):
                socket = await self._upgrading.ws_connect(
                    URL(self._connection.server + request.target, encoded=True),
                    method=request.method,
                    protocols=protocols,
                    headers=headers,
                    ssl=self._connection.ssl,
                    server_hostname=self._connection.server_name or None,
                    proxy=self._connection.proxy or None,
                    timeout=aiohttp.ClientWSTimeout(ws_close=_CLOSING),
                    heartbeat=HEARTBEAT,
                    max_msg_size=_LONGEST_MESSAGE,
                )
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self._unreachable(request, error) from error
        async with socket:
            yield _Socket(socket, self._where(request))

    async def _headers(self, request: Request) -> Mapping[str, str]:
        return {**request.headers, **await self._connection.credentials()}

    def _where(self, request: Request) -> str:
        return f"{request.method} {self._connection.server}{request.path}"

    def _unreachable(self, request: Request, error: Exception) -> errors.Unreachable:
        return errors.Unreachable(f"{self._where(request)}: {_explained(error)}")

    def _open(self, limit: int) -> aiohttp.ClientSession:
        session = self._sessions[limit] = self._session(limit)
        # A PUT or DELETE whose connection broke may have been carried out. If it were repeated, as aiohttp would, the
        # response would be 409 or 404, and the caller would attribute that to another client. There is no public switch
        # for this.
        session._retry_connection = False
        return session

    def _upgrades(self) -> aiohttp.ClientSession:
        redirects = aiohttp.TraceConfig()
        redirects.on_request_redirect.append(_redirected)
        return self._session(UNLIMITED, raise_for_status=_refused, trace_configs=[redirects])

    def _session(self, limit: int, **options: Any) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=limit, ssl=self._connection.ssl),
            cookie_jar=aiohttp.DummyCookieJar(),
            # On a local network compression costs more than it saves, and everything is decoded once anyway.
            headers={"User-Agent": USER_AGENT, "Accept-Encoding": "identity"},
            **options,
        )

    async def close(self) -> None:
        while self._sessions:
            _, session = self._sessions.popitem()
            await session.close()
        if self._upgrading is not None:
            session, self._upgrading = self._upgrading, None
            await session.close()


async def _refused(response: aiohttp.ClientResponse) -> None:
    """Raises what the server answers instead of switching protocols: aiohttp's own error lacks the body."""
    if response.status == HTTPStatus.SWITCHING_PROTOCOLS:
        return
    try:
        body = await response.content.read(_LONGEST_REFUSAL)
    finally:
        response.close()
    raise errors.from_answer(response.status, response.headers, body)


async def _redirected(_session: object, _context: object, seen: aiohttp.TraceRequestRedirectParams) -> None:
    """Redirects are errors, as for every other request: credentials are for one server."""
    await _refused(seen.response)


class _Socket:
    def __init__(self, socket: aiohttp.ClientWebSocketResponse, where: str) -> None:
        self._socket, self._where = socket, where

    @property
    def protocol(self) -> str:
        return self._socket.protocol or ""

    async def send(self, message: bytes) -> None:
        try:
            await self._socket.send_bytes(message)
        except (aiohttp.ClientError, OSError) as error:
            raise errors.Unreachable(f"{self._where}: {_explained(error)}") from error

    async def receive(self) -> bytes | None:
        message = await self._socket.receive()
        match message.type:
            case aiohttp.WSMsgType.BINARY:
                data: bytes = message.data
                return data
            case aiohttp.WSMsgType.TEXT:
                return str(message.data).encode()
            case aiohttp.WSMsgType.ERROR:
                raise errors.Unreachable(f"{self._where}: {_explained(message.data)}")
        return None


def _payload(body: bytes) -> bytes | BytesIO | None:
    return BytesIO(body) if len(body) > LARGE else body or None


def _explained(error: Exception) -> str:
    """Without the object address that aiohttp adds to a refused connection."""
    if type(error) is aiohttp.ClientConnectorError:
        error = error.os_error
    return str(error) or type(error).__name__
