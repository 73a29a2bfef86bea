# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import AsyncIterator
from typing import cast

import pytest
from tests.unit.local.apiserver.builders import JANE

from springtide.kube.errors import NotFound
from springtide.kube.request import Request
from springtide.local.apiserver.dispatch import Dispatcher
from springtide.local.apiserver.loopback import Loopback
from springtide.local.apiserver.replies import Answer, Reply, Stream, refusal
from springtide.local.apiserver.requests import Request as Inner
from springtide.local.status import not_found


class Canned:
    """A dispatcher that always answers the same."""

    def __init__(self, answer: Answer) -> None:
        self.answer, self.asked = answer, list[Inner]()

    async def handle(self, request: Inner, path: str) -> Answer:
        self.asked.append(request)
        return self.answer


def loopback(answer: Answer) -> tuple[Loopback, Canned]:
    canned = Canned(answer)
    return Loopback(cast(Dispatcher, canned), JANE), canned


class Chunks:
    """Remembers whether it was closed."""

    def __init__(self, *chunks: bytes) -> None:
        self.left, self.closed = list(chunks), False

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        if not self.left:
            raise StopAsyncIteration
        return self.left.pop(0)

    async def aclose(self) -> None:
        self.closed = True


@pytest.mark.parametrize(
    ("chunks", "lines"),
    [
        ([], []),
        ([b""], []),
        ([b"a\nb\n"], [b"a", b"b"]),
        ([b"a", b"b\nc", b"\n"], [b"ab", b"c"]),
        ([b"a\n", b"unfinished"], [b"a", b"unfinished"]),
    ],
)
async def test_pieces_become_lines(chunks: list[bytes], lines: list[bytes]) -> None:
    server, _ = loopback(Stream(Chunks(*chunks)))
    assert [line async for line in server.stream(Request("GET", "/x"))] == lines


async def test_an_abandoned_stream_is_closed() -> None:
    chunks = Chunks(b"a\nb\n", b"c\n")
    server, _ = loopback(Stream(chunks))
    stream = server.stream(Request("GET", "/x"))
    assert await anext(stream) == b"a"
    await stream.aclose()
    assert chunks.closed


async def test_a_refused_stream_raises() -> None:
    server, _ = loopback(refusal(not_found("", "pods", "p")))
    with pytest.raises(NotFound):
        await anext(server.stream(Request("GET", "/x")))


async def test_a_whole_answer_may_come_in_pieces() -> None:
    server, _ = loopback(Stream(Chunks(b"a", b"b")))
    assert (await server.send(Request("GET", "/x"))).body == b"ab"


async def test_the_caller_is_who_the_loopback_says() -> None:
    server, canned = loopback(Reply(b"{}"))
    await server.send(Request("POST", "/api/v1/x?a=1", body=b"body"))
    (asked,) = canned.asked
    assert (asked.method, asked.path, asked.query.raw, asked.user, asked.body) == (
        "POST", "/api/v1/x", "a=1", JANE, b"body",
    )  # fmt: skip
