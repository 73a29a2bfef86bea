# SPDX-License-Identifier: Apache-2.0
"""`pods/proxy` and `services/proxy` to a program that really listens, HTTP and WebSocket."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import AsyncIterator

import aiohttp
import pytest
import pytest_asyncio
from aiohttp import web
from aiohttp.test_utils import TestServer
from tests.integration.apiserver.http1 import PATIENCE, administrator
from yarl import URL

from springtide.kube.resources import PODS, SERVICES, Key
from springtide.local.cluster import Cluster
from springtide.local.store import backend as stored

pytestmark = pytest.mark.asyncio(loop_scope="module")

SPACE = "/api/v1/namespaces/default"
POD_ADDRESS = "127.9.0.2"
"""One that a pod without a network of its own may have."""


async def echo(request: web.Request) -> web.StreamResponse:
    if request.headers.get("Upgrade") == "websocket":
        return await speak(request)
    if request.path == "/teapot":
        return web.Response(status=418, text="short and stout")
    seen = {"method": request.method, "path": request.raw_path, "body": (await request.read()).hex()}
    return web.json_response(seen | {"token": request.headers.get("Authorization", "")})


async def speak(request: web.Request) -> web.StreamResponse:
    socket = web.WebSocketResponse(protocols=["parrot"])
    await socket.prepare(request)
    async for message in socket:
        await socket.send_str(f"{request.path_qs} {message.data}")
    return socket


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def listening() -> AsyncIterator[int]:
    application = web.Application(client_max_size=1 << 24)
    application.router.add_route("*", "/{path:.*}", echo)
    async with TestServer(application, host=POD_ADDRESS) as server:
        assert server.port is not None
        yield server.port


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def web_pod(cluster: Cluster, listening: int) -> int:
    """The pod `web`, whose address is this machine's, behind the service of the same name."""
    client, key = cluster.client("tester"), Key("default", "web")
    container = {"name": "c", "image": "x", "ports": [{"containerPort": listening}]}
    pod = {"spec": {"nodeName": "here", "containers": [container]}}
    labels = {"metadata": {"name": "web", "namespace": "default", "labels": {"app": "web"}}}
    await client.create(PODS, PODS.describe(key) | labels | pod)
    ready = {"type": "Ready", "status": "True"}
    status = {"phase": "Running", "podIP": POD_ADDRESS, "podIPs": [{"ip": POD_ADDRESS}], "conditions": [ready]}
    await client.patch(PODS, key, {"status": status}, subresource="status")
    spec = {"spec": {"ports": [{"name": "http", "port": 80, "targetPort": listening}]}}
    await client.create(SERVICES, SERVICES.describe(key) | spec)
    await _lead_to_loopback(cluster, listening)
    return listening


async def _lead_to_loopback(cluster: Cluster, port: int) -> None:
    """Straight into the store: the API takes no endpoint on loopback, and a test has no other address to rely on."""
    address = {"ip": POD_ADDRESS, "targetRef": {"kind": "Pod", "namespace": "default", "name": "web"}}
    subset = {"addresses": [address], "ports": [{"name": "http", "port": port, "protocol": "TCP"}]}
    body = {"metadata": {"name": "web", "namespace": "default"}, "subsets": [subset]}
    await cluster.server.store.write(
        stored.Key("endpoints", "default", "web"), None, lambda _: json.dumps(body).encode()
    )


@pytest_asyncio.fixture(loop_scope="module")
async def session(cluster: Cluster, web_pod: int) -> AsyncIterator[aiohttp.ClientSession]:
    connector = aiohttp.TCPConnector(ssl=administrator(cluster), limit=1)
    timeout = aiohttp.ClientTimeout(total=PATIENCE)
    async with aiohttp.ClientSession(cluster.url, connector=connector, timeout=timeout) as found:
        yield found


DOORS = ["pods/web", "pods/web:{port}", "pods/http:web:{port}", "services/web:http", "services/web:80"]


@pytest.fixture(params=DOORS)
def door(request: pytest.FixtureRequest, web_pod: int) -> str:
    return f"{SPACE}/{request.param.format(port=web_pod)}/proxy"


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
async def test_every_method_reaches_the_program(session: aiohttp.ClientSession, door: str, method: str) -> None:
    async with session.request(method, f"{door}/some/path?a=1&a=2", data=b"hello") as answer:
        seen = await answer.json()
    assert seen == {"method": method, "path": "/some/path?a=1&a=2", "body": b"hello".hex(), "token": ""}


@pytest.mark.parametrize("path", ["/", "/folder/", "/a%20b/%C3%BC%3F", "/plain:@x+y,z;=~", "/a//b"])
async def test_paths_arrive_as_they_were_sent(session: aiohttp.ClientSession, door: str, path: str) -> None:
    async with session.get(URL(f"{door}{path}", encoded=True)) as answer:
        assert (await answer.json())["path"] == path


async def test_refusals_of_the_program_come_back_as_they_are(session: aiohttp.ClientSession, door: str) -> None:
    async with session.get(f"{door}/teapot") as answer:
        assert (answer.status, await answer.text()) == (418, "short and stout")


async def test_head_goes_through_and_the_connection_lives_on(session: aiohttp.ClientSession, door: str) -> None:
    for _ in range(2):
        async with session.head(f"{door}/x") as answer:
            assert (answer.status, await answer.read()) == (200, b"")


async def test_packed_bodies_stay_packed(session: aiohttp.ClientSession, door: str) -> None:
    """The program unpacks what says that it is packed: had the server done so too, this would fail."""
    headers = {"Content-Encoding": "gzip"}
    async with session.post(f"{door}/x", data=gzip.compress(b"hello"), headers=headers) as answer:
        assert (await answer.json())["body"] == b"hello".hex()


async def test_a_large_body_goes_through_without_the_limit_on_objects(session: aiohttp.ClientSession) -> None:
    content = b"x" * 5_000_000
    async with session.post(f"{SPACE}/pods/web/proxy/x", data=io.BytesIO(content)) as answer:
        assert (await answer.json())["body"] == content.hex()


@pytest.mark.parametrize(
    ("name", "code", "message"),
    [
        ("pods/nobody", 404, 'pods "nobody" not found'),
        ("services/nobody", 404, 'services "nobody" not found'),
        ("services/web:81", 503, 'no service port 81 found for service "web"'),
        ("services/web:nope", 503, 'no endpoints available for service "web"'),
        ("pods/web:1", 503, "error trying to reach service: dial tcp 127.9.0.2:1: connect: connection refused"),
        ("pods/a:b:c:d", 400, 'invalid pod request "a:b:c:d"'),
    ],
)
async def test_doors_that_lead_nowhere_say_so(
    session: aiohttp.ClientSession, name: str, code: int, message: str
) -> None:
    async with session.get(f"{SPACE}/{name}/proxy/x") as answer:
        assert (answer.status, (await answer.json())["message"]) == (code, message)


async def test_a_websocket_goes_through(session: aiohttp.ClientSession, door: str) -> None:
    async with session.ws_connect(f"{door}/talk?x=1", protocols=["parrot"]) as socket:
        await socket.send_str("hello")
        assert (socket.protocol, await socket.receive_str()) == ("parrot", "/talk?x=1 hello")


async def test_a_websocket_goes_through_a_connection_that_was_used_before(
    session: aiohttp.ClientSession, door: str
) -> None:
    for _ in range(2):
        async with session.get("/healthz") as answer:
            assert await answer.text() == "ok"
    async with session.ws_connect(f"{door}/talk", protocols=["parrot"]) as socket:
        for word in ("one", "two"):
            await socket.send_str(word)
            assert await socket.receive_str() == f"/talk {word}"
    async with session.get("/healthz") as answer:
        assert await answer.text() == "ok"


@pytest.mark.parametrize("used_before", [False, True])
async def test_a_websocket_to_nobody_is_refused_with_a_status(
    session: aiohttp.ClientSession, used_before: bool
) -> None:
    if used_before:
        async with session.get("/healthz") as answer:
            await answer.read()
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        await session.ws_connect(f"{SPACE}/pods/nobody/proxy/talk")
    assert refused.value.status == 404
