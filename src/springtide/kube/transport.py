# SPDX-License-Identifier: Apache-2.0
"""The `Transport` interface, and its implementation with aiohttp.

The client uses only the protocol, so tests pass a fake one and the embedded server may pass one that never leaves the
process. A transport adds credentials and nothing else: it neither retries nor interprets messages.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from io import BytesIO
from typing import Protocol

import aiohttp
from yarl import URL

from springtide.kube import errors
from springtide.kube.config import Connection
from springtide.kube.request import Request, Response

REQUEST_TIMEOUT = 60.0
UNLIMITED = 0


LARGE = 1 << 20
"""Bytes from which on aiohttp warns about a body that is not a file."""


class Transport(Protocol):
    async def send(self, request: Request) -> Response:
        """The whole response, whatever its status. Unreachable if there is none."""

    def stream(self, request: Request) -> AsyncGenerator[bytes, None]:
        """The lines of a successful response as they arrive, without line ends.

        Any other response is raised as `errors.from_answer(...)`, a lost connection as Unreachable. Closing the
        generator ends the request.
        """

    async def close(self) -> None: ...


class HttpTransport:
    """Requests over HTTP(S) with keep-alive connections. Opens none until first used."""

    def __init__(self, connection: Connection, connections: int = 100) -> None:
        self._connection = connection
        self._sessions: dict[int, aiohttp.ClientSession] = {}
        """By their limit of connections. Streams hold theirs for minutes, so they must not be limited: the
        hundred-and-first watch would wait forever, and every other request behind it."""
        self._limit = connections

    async def send(self, request: Request) -> Response:
        async with self._exchange(request, self._limit, REQUEST_TIMEOUT) as response:
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

    @asynccontextmanager
    async def _exchange(
        self, request: Request, limit: int, timeout: float | None
    ) -> AsyncGenerator[aiohttp.ClientResponse, None]:
        session = self._sessions.get(limit) or self._open(limit)
        headers = {**request.headers, **await self._connection.credentials()}
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
            where = f"{request.method} {self._connection.server}{request.path}"
            raise errors.Unreachable(f"{where}: {_explained(error)}") from error

    def _open(self, limit: int) -> aiohttp.ClientSession:
        session = self._sessions[limit] = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=limit, ssl=self._connection.ssl),
            cookie_jar=aiohttp.DummyCookieJar(),
            # On a local network compression costs more than it saves, and everything is decoded once anyway.
            headers={"User-Agent": "springtide", "Accept-Encoding": "identity"},
        )
        # A PUT or DELETE whose connection broke may have been carried out. If it were repeated, as aiohttp would, the
        # response would be 409 or 404, and the caller would attribute that to another client. There is no public switch
        # for this.
        session._retry_connection = False
        return session

    async def close(self) -> None:
        while self._sessions:
            _, session = self._sessions.popitem()
            await session.close()


def _payload(body: bytes) -> bytes | BytesIO | None:
    return BytesIO(body) if len(body) > LARGE else body or None


def _explained(error: Exception) -> str:
    """Without the object address that aiohttp adds to a refused connection."""
    if type(error) is aiohttp.ClientConnectorError:
        error = error.os_error
    return str(error) or type(error).__name__
