# SPDX-License-Identifier: Apache-2.0
"""A bounded server over real sockets: deadlines of heads, one request at a time, framing before aiohttp's parser."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from tests.integration.apiserver.http1 import until

from springtide.serving.connections import MAX_HEAD, Handler, Service
from springtide.serving.listening import Listener
from springtide.serving.slots import Limits

GET = b"GET /%d HTTP/1.1\r\nHost: h\r\n\r\n"
QUICK = Limits(head_seconds=0.1)


class Peer:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def answer(self) -> tuple[int, bytes]:
        async with asyncio.timeout(20):
            head = await self.reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            return int(head.split()[1]), await self.reader.readexactly(length)

    async def ended(self) -> bool:
        async with asyncio.timeout(20):
            try:
                return await self.reader.read() == b""
            except ConnectionError:
                return True


class Echo:
    """Answers with the path and the body; `gate` holds answers back."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def __call__(self, request: web.BaseRequest) -> web.Response:
        self.asked.append(request.path)
        body = await request.content.read()
        await self.gate.wait()
        return web.Response(body=request.path.encode() + b" " + body)


@asynccontextmanager
async def served(limits: Limits | None = None) -> AsyncIterator[tuple[Echo, int, Service]]:
    echo = Echo()
    service = Service(echo, limits)
    listener = Listener(service, socket.create_server(("127.0.0.1", 0)))
    try:
        yield echo, listener.port, service
    finally:
        await listener.close()
        await service.shutdown(0.1)


@asynccontextmanager
async def peer(port: int) -> AsyncIterator[Peer]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 22)
    try:
        yield Peer(reader, writer)
    finally:
        writer.close()


async def test_every_head_of_a_connection_has_its_deadline() -> None:
    async with served(QUICK) as (_, port, _), peer(port) as client:
        for number in range(3):
            client.writer.write(GET % number)
            assert await client.answer() == (200, b"/%d " % number)
        client.writer.write(b"GET /slow HT")
        assert await client.ended()


async def test_a_connection_may_idle_for_longer_than_a_head_may_take() -> None:
    async with served(QUICK) as (_, port, _), peer(port) as client:
        client.writer.write(GET % 1)
        await client.answer()
        await asyncio.sleep(0.3)
        client.writer.write(GET % 2)
        assert await client.answer() == (200, b"/2 ")


async def test_an_idle_connection_ends() -> None:
    async with served(Limits(idle_seconds=0.1)) as (_, port, _), peer(port) as client:
        client.writer.write(GET % 1)
        await client.answer()
        assert await client.ended()


async def test_one_request_of_a_connection_is_worked_on_at_a_time() -> None:
    async with served() as (echo, port, _), peer(port) as client:
        echo.gate.clear()
        client.writer.write(b"".join(GET % number for number in range(100)))
        await client.writer.drain()
        await until(lambda: bool(echo.asked))
        assert echo.asked == ["/0"]
        echo.gate.set()
        assert [await client.answer() for _ in range(100)] == [(200, b"/%d " % number) for number in range(100)]


@pytest.mark.parametrize("size", [1, 7, 100_000])
async def test_bodies_end_where_their_heads_say(size: int) -> None:
    sized = b"POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello"
    chunked = b"POST /b HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    wire = (sized + chunked + b"\r\n" + GET % 9) * 3
    async with served() as (_, port, _), peer(port) as client:
        for at in range(0, len(wire), size):
            client.writer.write(wire[at : at + size])
            await client.writer.drain()
        for _ in range(3):
            assert [await client.answer() for _ in range(3)] == [(200, b"/a hello"), (200, b"/b abcde"), (200, b"/9 ")]


async def test_a_head_of_a_mebibyte_is_served() -> None:
    async with served() as (_, port, _), peer(port) as client:
        client.writer.write(b"GET /?" + b"x" * (1 << 20) + b" HTTP/1.1\r\nHost: h\r\n\r\n")
        assert await client.answer() == (200, b"/ ")


@pytest.mark.parametrize(
    ("wire", "code"),
    [
        (b"GET / HTTP/1.1\nHost: h\n\n", 400),
        (b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: h\r\nX: a\r\n b\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", 400),
        (b"WHAT / HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: h\r\nBad Name: x\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: h\r\nX: a\x00b\r\n\r\n", 400),
        (b"GET /" + b"x" * MAX_HEAD, 431),
    ],
)
async def test_bad_framing_ends_the_connection_with_an_answer_and_no_traceback(
    wire: bytes, code: int, caplog: pytest.LogCaptureFixture
) -> None:
    for before in (b"", GET % 1):  # as a connection's first request and as its second
        async with served() as (echo, port, _), peer(port) as client:
            client.writer.write(before)
            if before:
                await client.answer()
            client.writer.write(wire + GET % 666)
            assert (await client.answer())[0] == code
            assert await client.ended()
            assert "/666" not in echo.asked
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_long_heads_beyond_the_budget_are_told_to_try_again() -> None:
    limits = Limits(free_head=1000, head_budget=100_000)
    async with served(limits) as (_, port, service), peer(port) as first, peer(port) as second:
        first.writer.write(b"GET /" + b"x" * 90_000)
        await until(lambda: service.slots.head_bytes >= 80_000)
        second.writer.write(b"GET /" + b"x" * 90_000)
        assert (await second.answer())[0] == 503


async def test_connections_without_credentials_make_room_for_others() -> None:
    async with served(Limits(unauthenticated=3, grace=0.05)) as (_, port, service):
        opened = [await asyncio.open_connection("127.0.0.1", port) for _ in range(10)]
        async with peer(port) as client:
            client.writer.write(GET % 1)
            assert await client.answer() == (200, b"/1 ")
            assert service.slots.unauthenticated <= 3
        for _, writer in opened:
            writer.close()


async def _streams_to_nobody(request: web.BaseRequest) -> web.StreamResponse:
    """As when the client leaves between the request and the first byte of the answer."""
    assert request.transport is not None
    request.transport.close()
    response = web.StreamResponse()
    await response.prepare(request)
    raise AssertionError("aiohttp refuses to write to a transport that closes")


async def _streams_to_one_who_leaves(request: web.BaseRequest) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    assert request.transport is not None
    request.transport.close()
    await response.write(b"x")
    raise AssertionError("aiohttp refuses to write to a transport that closes")


async def _loses_another_connection(request: web.BaseRequest) -> web.StreamResponse:
    raise ConnectionResetError("of the server to somebody else")


@pytest.mark.parametrize(
    ("handler", "complaints"),
    [(_streams_to_nobody, 0), (_streams_to_one_who_leaves, 0), (_loses_another_connection, 1)],
)
async def test_a_client_that_leaves_is_no_error_of_the_servers(
    handler: Handler, complaints: int, caplog: pytest.LogCaptureFixture
) -> None:
    service = Service(handler)
    listener = Listener(service, socket.create_server(("127.0.0.1", 0)))
    try:
        async with peer(listener.port) as client:
            client.writer.write(GET % 1)
            await client.reader.read()
    finally:
        await listener.close()
        await service.shutdown(0.1)
    assert len([record for record in caplog.records if record.levelno >= logging.WARNING]) == complaints


async def test_answers_in_several_parts_wait_for_no_acknowledgement() -> None:
    """With Nagle's algorithm each part would wait 40 ms for the one before."""
    nodelay: list[int] = []

    async def look(request: web.BaseRequest) -> web.StreamResponse:
        assert request.transport is not None
        connection = request.transport.get_extra_info("socket")
        nodelay.append(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        return web.Response()

    listener = Listener(Service(look), socket.create_server(("127.0.0.1", 0)))
    async with peer(listener.port) as client:
        client.writer.write(GET % 1)
        await client.answer()
    await listener.close()
    assert nodelay == [1]


async def test_a_server_that_stops_ends_connections_without_a_request() -> None:
    async with served() as (_, port, service):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        await until(lambda: service.slots.unauthenticated == 1)
    assert await Peer(reader, writer).ended()
    writer.close()
