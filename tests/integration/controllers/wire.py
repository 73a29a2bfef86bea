# SPDX-License-Identifier: Apache-2.0
"""The operator's line to the API server: it remembers every write, and can be cut after any of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import msgspec

from springtide.kube import errors
from springtide.kube.request import Request, Response
from springtide.kube.transport import Transport, WebSocket, websockets_of


@dataclass(frozen=True)
class Write:
    method: str
    path: str
    body: Any
    answer: Any

    @property
    def kind(self) -> str:
        """The plural of what was written."""
        parts = self.path.split("/namespaces/", 1)[-1].split("/")
        return "/".join((parts[1], *parts[3:]))

    @property
    def name(self) -> str:
        found: str = self.body["metadata"]["name"] if self.method == "POST" else self.path.split("/")[-1]
        return self.path.split("/")[-2] if found in ("status", "scale") else found

    def __str__(self) -> str:
        return f"{self.method} {self.kind} {self.name}"


class Wire:
    """A transport. Events and leases do not count as writes: nothing depends on them."""

    def __init__(self, transport: Transport, lives_for: int | None = None, *, hears_the_last: bool = True) -> None:
        self.writes: list[Write] = []
        self.reads: list[str] = []
        self.streams: list[str] = []
        self.cut = asyncio.Event()
        self.refuses = ""
        """What is in the paths of requests that get lost."""
        self.before: Callable[[Request], Awaitable[None]] | None = None
        """What happens just before a write reaches the server."""
        self._transport = transport
        self._left = lives_for
        self._hears_the_last = hears_the_last

    @property
    def faulty(self) -> bool:
        return self.cut.is_set() or bool(self.refuses)

    async def send(self, request: Request) -> Response:
        if self._loses(request):
            raise errors.Unreachable("the line is cut")
        counts = request.method != "GET" and not _is_talk(request)
        if not counts:
            self.reads.append(f"{request.method} {request.path}")
            return await self._transport.send(request)
        if self._left is not None:
            self._left -= 1
            if self._left <= 0:
                self.cut.set()
        if self.before is not None:
            await self.before(request)
        response = await self._transport.send(request)
        if response.status < 300:
            body = msgspec.json.decode(request.body) if request.body else None
            self.writes.append(Write(request.method, request.path, body, msgspec.json.decode(response.body)))
        if self.cut.is_set() and not self._hears_the_last:
            raise errors.Unreachable("the line was cut before the answer came")
        return response

    def _loses(self, request: Request) -> bool:
        return self.cut.is_set() or bool(self.refuses and self.refuses in request.path)

    async def stream(self, request: Request) -> AsyncGenerator[bytes, None]:
        if self._loses(request):
            raise errors.Unreachable("the line is cut")
        self.streams.append(request.path.rpartition("/")[2])
        lines = self._transport.stream(request)
        try:
            async for line in lines:
                if self._loses(request):
                    raise errors.Unreachable("the line is cut")
                yield line
        finally:
            await lines.aclose()

    @asynccontextmanager
    async def websocket(self, request: Request, protocols: Sequence[str]) -> AsyncGenerator[WebSocket, None]:
        if self._loses(request):
            raise errors.Unreachable("the line is cut")
        async with websockets_of(self._transport).websocket(request, protocols) as socket:
            yield socket

    async def close(self) -> None:
        await self._transport.close()

    def written(self, *methods: str) -> list[str]:
        return [str(write) for write in self.writes if not methods or write.method in methods]


def _is_talk(request: Request) -> bool:
    return "/events" in request.path or "/leases" in request.path
