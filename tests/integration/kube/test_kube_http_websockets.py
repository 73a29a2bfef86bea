# SPDX-License-Identifier: Apache-2.0
"""What becomes of WebSockets that are refused, cut, or silent. Against a small server of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import aiohttp
import pytest
import pytest_asyncio
from aiohttp import web

from springtide.kube import errors, http_transport
from springtide.kube.client import Client
from springtide.kube.config import Connection, bearer
from springtide.kube.exec import PROTOCOLS, Ended, TimedOut, execute
from springtide.kube.http_transport import HttpTransport
from springtide.kube.request import Request
from springtide.kube.resources import Key

EXEC = "/api/v1/namespaces/ns/pods/{pod}/exec"
SEEN = web.AppKey("seen", list[web.Request])


async def _exec(request: web.Request) -> web.StreamResponse:
    request.app[SEEN].append(request)
    name = request.match_info["pod"]
    if name == "refused":
        status = {"kind": "Status", "code": 403, "reason": "Forbidden", "message": "may not exec"}
        return web.json_response(status, status=403)
    if name == "plain":
        return web.Response(text="no WebSockets here")
    if name == "moved":
        return web.Response(status=307, headers={"Location": "http://127.0.0.1:1/"})
    if name == "slow":
        await asyncio.sleep(60)
    return await _serve(request, name)


async def _serve(request: web.Request, name: str) -> web.WebSocketResponse:
    old = name == "old"
    socket = web.WebSocketResponse(protocols=PROTOCOLS[1:] if old else PROTOCOLS, autoping=name != "half-open")
    await socket.prepare(request)
    await socket.send_bytes(b"\x01begun\n")
    if name == "cut":
        assert request.transport is not None
        request.transport.abort()
    if name in ("half-open", "endless"):
        while (await socket.receive()).type not in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED):
            pass
    if name == "text":
        await socket.send_str("\x01as text\n")
    if name != "statusless":
        await socket.send_bytes(b'\x03{"status":"Success"}')
    await socket.close()
    return socket


@pytest_asyncio.fixture
async def app() -> web.Application:
    made = web.Application()
    made[SEEN] = []
    made.router.add_get(EXEC, _exec)
    return made


@pytest_asyncio.fixture
async def client(app: web.Application) -> AsyncIterator[Client]:
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    async with Client(HttpTransport(Connection(f"http://{host}:{port}", credentials=bearer("secret")))) as made:
        yield made
    await runner.cleanup()


async def run(client: Client, pod: str, timeout: float = 30.0) -> Ended:
    return await execute(client, Key("ns", pod), "main", ["echo", "a b"], timeout)


async def test_the_words_arrive_with_the_credentials_of_every_request(client: Client, app: web.Application) -> None:
    assert await run(client, "fine") == Ended(0, "begun")
    (seen,) = app[SEEN]
    assert seen.headers["Authorization"] == "Bearer secret"
    assert seen.query.getall("command") == ["echo", "a b"]
    assert seen.query["container"] == "main"


async def test_a_server_of_version_4_is_understood(client: Client) -> None:
    assert await run(client, "old") == Ended(0, "begun")


async def test_messages_may_be_text(client: Client) -> None:
    assert await run(client, "text") == Ended(0, "begun\nas text")


async def test_a_refusal_is_raised_with_what_the_server_said(client: Client) -> None:
    with pytest.raises(errors.Forbidden, match="may not exec"):
        await run(client, "refused")
    assert await run(client, "fine") == Ended(0, "begun")


@pytest.mark.parametrize(("pod", "code"), [("plain", 200), ("moved", 307)])
async def test_an_answer_that_does_not_switch_protocols_is_an_error(client: Client, pod: str, code: int) -> None:
    with pytest.raises(errors.ApiError) as raised:
        await run(client, pod)
    assert raised.value.code == code


@pytest.mark.parametrize("pod", ["cut", "statusless"])
async def test_a_connection_that_ends_early_is_unreachable(client: Client, pod: str) -> None:
    with pytest.raises(errors.Unreachable):
        await run(client, pod)


async def test_a_half_open_connection_is_noticed(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_transport, "HEARTBEAT", 0.2)
    with pytest.raises(errors.Unreachable, match=r"GET http://.*/pods/half-open/exec"):
        await run(client, "half-open")


async def test_a_silent_connection_that_answers_pings_is_kept(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_transport, "HEARTBEAT", 0.1)
    with pytest.raises(TimedOut) as raised:
        await run(client, "endless", timeout=1.0)
    assert raised.value.last_lines == "begun"


async def test_a_handshake_that_takes_too_long_is_unreachable(client: Client) -> None:
    wanted = Request("GET", EXEC.format(pod="slow"), timeout=0.1)
    with pytest.raises(errors.Unreachable, match="TimeoutError"):
        async with client.websocket(wanted, PROTOCOLS):
            pass
    with pytest.raises(TimedOut):
        await run(client, "slow", timeout=0.1)


async def test_a_server_that_is_not_there_is_unreachable() -> None:
    async with Client(HttpTransport(Connection("http://127.0.0.1:1"))) as client:
        with pytest.raises(errors.Unreachable, match=r"GET http://127\.0\.0\.1:1/api"):
            await run(client, "p")
