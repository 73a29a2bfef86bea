# SPDX-License-Identifier: Apache-2.0
"""What the network does to requests: long lines, cut connections, silence. Against a small server of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest
import pytest_asyncio
from aiohttp import web

from springtide.kube import errors
from springtide.kube.config import Connection, bearer
from springtide.kube.http_transport import HttpTransport
from springtide.kube.request import Request

MEGABYTE = b"x" * 1_000_000
ARRIVED = web.AppKey("arrived", asyncio.Event)
GONE = web.AppKey("gone", asyncio.Event)


async def _long_lines(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    for piece in (MEGABYTE, MEGABYTE, b"\nshort\n\nla", b"st"):
        await response.write(piece)
    return response


async def _cut_off(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    await response.write(b"first\nsec")
    assert request.transport is not None
    request.transport.abort()
    return response


async def _silence(request: web.Request) -> web.StreamResponse:
    request.app[ARRIVED].set()
    try:
        await asyncio.sleep(3600)
    finally:
        request.app[GONE].set()
    raise AssertionError


async def _echo(request: web.Request) -> web.Response:
    return web.json_response(
        {
            "target": request.raw_path,
            "authorization": request.headers.get("Authorization"),
            "type": request.headers.get("Content-Type"),
            "body": await request.text(),
        },
        status=201,
        headers={"Retry-After": "7"},
    )


async def _refusal(request: web.Request) -> web.Response:
    return web.json_response({"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}, status=410)


class Service:
    def __init__(self, url: str, arrived: asyncio.Event, gone: asyncio.Event) -> None:
        self.url, self.arrived, self.gone = url, arrived, gone


@pytest_asyncio.fixture
async def service() -> AsyncIterator[Service]:
    app = web.Application()
    arrived, gone = asyncio.Event(), asyncio.Event()
    app[ARRIVED], app[GONE] = arrived, gone
    app.router.add_get("/long", _long_lines)
    app.router.add_get("/cut", _cut_off)
    app.router.add_get("/silence", _silence)
    app.router.add_get("/refusal", _refusal)
    app.router.add_route("*", "/echo/{rest:.*}", _echo)
    runner = web.AppRunner(app, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    yield Service(f"http://{host}:{port}", arrived, gone)
    await runner.cleanup()


@pytest_asyncio.fixture
async def transport(service: Service) -> AsyncIterator[HttpTransport]:
    transport = HttpTransport(Connection(service.url, credentials=bearer("secret")))
    yield transport
    await transport.close()


async def test_a_request_arrives_as_it_was_written(transport: HttpTransport) -> None:
    request = Request("PATCH", "/echo/a%20b:c", {"labelSelector": "a in (b,c)"}, {"Content-Type": "text/x"}, b'{"a":1}')
    response = await transport.send(request)
    assert response.status == 201
    assert response.headers["retry-after"] == "7"
    assert response.body == (
        b'{"target": "/echo/a%20b:c?labelSelector=a+in+%28b%2Cc%29", "authorization": "Bearer secret",'
        b' "type": "text/x", "body": "{\\"a\\":1}"}'
    )


async def test_lines_may_be_longer_than_any_buffer(transport: HttpTransport) -> None:
    lines = [line async for line in transport.stream(Request("GET", "/long"))]
    assert lines == [MEGABYTE * 2, b"short", b"", b"last"]


async def test_a_stream_cut_off_in_the_middle_is_unreachable(transport: HttpTransport) -> None:
    lines = transport.stream(Request("GET", "/cut"))
    assert await anext(lines) == b"first"
    with pytest.raises(errors.Unreachable):
        await anext(lines)


async def test_a_refused_stream_raises_what_the_server_said(transport: HttpTransport) -> None:
    with pytest.raises(errors.Expired, match="too old"):
        await anext(transport.stream(Request("GET", "/refusal")))


@pytest.mark.parametrize("how", ["send", "stream"])
async def test_silence_beyond_the_timeout_is_unreachable(transport: HttpTransport, how: str) -> None:
    request = Request("GET", "/silence", timeout=0.05)
    with pytest.raises(errors.Unreachable, match=r"GET .*/silence"):
        await (transport.send(request) if how == "send" else anext(transport.stream(request)))


async def test_cancelling_a_request_hangs_up(service: Service, transport: HttpTransport) -> None:
    task = asyncio.create_task(transport.send(Request("GET", "/silence")))
    await service.arrived.wait()
    task.cancel()
    await asyncio.wait_for(service.gone.wait(), 5)
    assert task.cancelled()


async def test_streams_that_are_open_hold_back_no_request(service: Service) -> None:
    transport = HttpTransport(Connection(service.url), connections=1)
    streams = [asyncio.create_task(anext(transport.stream(Request("GET", "/silence")))) for _ in range(3)]
    await service.arrived.wait()
    assert (await transport.send(Request("GET", "/echo/still"))).status == 201
    for stream in streams:
        stream.cancel()
    await asyncio.wait(streams)
    await transport.close()


async def test_closing_a_stream_leaves_the_transport_usable(transport: HttpTransport) -> None:
    async with aclosing(transport.stream(Request("GET", "/long"))) as lines:
        await anext(lines)
    assert (await transport.send(Request("GET", "/echo/again"))).status == 201


async def test_a_server_that_is_not_there_is_unreachable() -> None:
    transport = HttpTransport(Connection("http://127.0.0.1:1"))
    with pytest.raises(errors.Unreachable, match=r"GET http://127\.0\.0\.1:1/healthz"):
        await transport.send(Request("GET", "/healthz"))
    await transport.close()


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "POST", "DELETE"])
async def test_a_request_is_sent_once_whatever_becomes_of_its_connection(method: str) -> None:
    """A deletion that was carried out and then sent again would be answered by 404, as if somebody else had done it."""
    seen: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Well the first time, so that the connection is kept; then gone with the request."""
        while line := await reader.readline():
            seen.append(line.split()[0])
            await reader.readuntil(b"\r\n\r\n")
            if len(seen) > 1:
                break
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    transport = HttpTransport(Connection(f"http://127.0.0.1:{port}"))
    try:
        await transport.send(Request("GET", "/"))
        with pytest.raises(errors.Unreachable):
            await transport.send(Request(method, "/"))
        assert seen == [b"GET", method.encode()]
    finally:
        await transport.close()
        server.close()
        await server.wait_closed()
