# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from yarl import URL

from springtide.local.status import StatusError
from springtide.local.streams import plain_proxy
from springtide.local.streams.kubelet import Location

PREFIX = "/api/v1/namespaces/default/pods/p/proxy"


async def backend(request: web.BaseRequest) -> web.StreamResponse:
    match request.path:
        case "/redirect":
            raise web.HTTPFound("/echo?again=1")
        case "/drip":
            response = web.StreamResponse()
            await response.prepare(request)
            for word in ("one ", "two ", "three"):
                await response.write(word.encode())
                await asyncio.sleep(0)
            return response
    shown = {name.lower(): value for name, value in request.headers.items()}
    return web.json_response(
        {"method": request.method, "path": request.raw_path, "headers": shown, "body": await request.text()},
        headers={"X-Made-By": "backend", "Connection": "close"},
    )


@pytest.fixture
async def proxied() -> AsyncIterator[aiohttp.ClientSession]:
    """A client of a server that sends everything below the prefix on to `backend`; port 1 is dead."""
    async with aiohttp.ClientSession() as outward:
        behind = TestServer(web.Application())
        behind.app.router.add_route("*", "/{path:.*}", backend)
        await behind.start_server()

        async def front(request: web.Request) -> web.StreamResponse:
            target = request.raw_path.removeprefix(PREFIX)
            port = 1 if target.startswith("/dead") else behind.port
            assert port is not None
            try:
                return await plain_proxy.forward(outward, request, Location("127.0.0.1", port, target), PREFIX)
            except StatusError as refused:
                return web.json_response(refused.as_object(), status=refused.code)

        application = web.Application()
        application.router.add_route("*", "/{path:.*}", front)
        async with TestServer(application) as server, aiohttp.ClientSession(server.make_url("/")) as client:
            yield client
        await behind.close()


async def test_method_path_query_and_body_go_through(proxied: aiohttp.ClientSession) -> None:
    headers = {"Authorization": "Bearer secret", "Impersonate-User": "x", "X-Own": "kept", "Content-Type": "text/x"}
    async with proxied.put(URL(f"{PREFIX}/echo?a=b%2Fc", encoded=True), data="hello", headers=headers) as response:
        seen = await response.json()
        assert response.headers["X-Made-By"] == "backend"
    assert (seen["method"], seen["path"], seen["body"]) == ("PUT", "/echo?a=b%2Fc", "hello")
    assert seen["headers"]["x-own"] == "kept"
    assert seen["headers"]["x-forwarded-uri"] == f"{PREFIX}/echo"
    assert not {"authorization", "impersonate-user"} & seen["headers"].keys()


async def test_a_body_without_length_goes_through(proxied: aiohttp.ClientSession) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for piece in (b"in ", b"pieces"):
            yield piece

    async with proxied.post(f"{PREFIX}/echo", data=pieces()) as response:
        assert (await response.json())["body"] == "in pieces"


async def test_answers_are_streamed(proxied: aiohttp.ClientSession) -> None:
    async with proxied.get(f"{PREFIX}/drip") as response:
        assert await response.text() == "one two three"


async def test_redirects_stay_inside_the_proxy(proxied: aiohttp.ClientSession) -> None:
    async with proxied.get(f"{PREFIX}/redirect", allow_redirects=False) as response:
        assert (response.status, response.headers["Location"]) == (302, f"{PREFIX}/echo?again=1")


async def test_a_service_that_cannot_be_reached_is_unavailable(proxied: aiohttp.ClientSession) -> None:
    async with proxied.get(f"{PREFIX}/dead") as response:
        status = await response.json()
    assert (response.status, status["reason"]) == (503, "ServiceUnavailable")
    assert status["message"] == ("error trying to reach service: dial tcp 127.0.0.1:1: connect: connection refused")
