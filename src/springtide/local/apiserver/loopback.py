# SPDX-License-Identifier: Apache-2.0
"""In-process transport: the cluster's own controllers call the server without sockets or TLS.

Their requests pass authorisation, admission and validation like all others; they use only the Kubernetes API.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any, cast

from springtide.kube import errors
from springtide.kube import request as kube
from springtide.local.access.identity import User
from springtide.local.apiserver.dispatch import Dispatcher
from springtide.local.apiserver.replies import Answer, Reply, Stream
from springtide.local.apiserver.requests import Query, Request, split_target


class Loopback:
    def __init__(self, dispatcher: Dispatcher, user: User) -> None:
        self._dispatcher, self._user = dispatcher, user

    async def send(self, request: kube.Request) -> kube.Response:
        answer = await self._answer(request)
        return kube.Response(answer.status, answer.headers, await _whole(answer))

    async def stream(self, request: kube.Request) -> AsyncGenerator[bytes, None]:
        answer = await self._answer(request)
        if answer.status >= 300 or isinstance(answer, Reply):
            body = await _whole(answer)
            if answer.status >= 300:
                raise errors.from_answer(answer.status, answer.headers, body)
            for line in body.splitlines():
                yield line
            return
        async with aclosing(cast(Any, answer.chunks)) as chunks:
            async for line in _lines(chunks):
                yield line

    async def _answer(self, request: kube.Request) -> Answer:
        path, query = split_target(request.target)
        inner = Request(request.method, path, Query(query), request.headers, self._user, request.body or b"")
        return await self._dispatcher.handle(inner, path)

    async def close(self) -> None:
        return None


async def _lines(chunks: AsyncIterator[bytes | memoryview]) -> AsyncIterator[bytes]:
    rest = b""
    async for chunk in chunks:
        *lines, rest = b"".join((rest, chunk)).split(b"\n")
        for line in lines:
            yield line
    if rest:
        yield rest


async def _whole(answer: Answer) -> bytes:
    if isinstance(answer, Stream):
        return b"".join([chunk async for chunk in answer.chunks])
    return answer.body
