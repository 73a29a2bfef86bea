# SPDX-License-Identifier: Apache-2.0
"""The corners of HTTP/1.1 that stock programs rely on."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.integration.apiserver.http1 import Connection, connected, until

from springtide.kube.resources import CONFIGMAPS, Key
from springtide.local.apiserver.edge import BODY_LIMIT
from springtide.local.cluster import Cluster

pytestmark = pytest.mark.asyncio(loop_scope="module")

MAPS = "/api/v1/namespaces/default/configmaps"
JSON = "Content-Type: application/json"
ZIPPED = "Accept-Encoding: gzip"


@pytest_asyncio.fixture(loop_scope="module")
async def connection(cluster: Cluster) -> AsyncIterator[Connection]:
    async with connected(cluster) as found:
        yield found


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def many(cluster: Cluster) -> str:
    """A namespace whose list is long: above the size that is compressed and the count that is written in pieces."""
    client = cluster.client("tester")
    created = [
        client.create(CONFIGMAPS, CONFIGMAPS.describe(Key("kube-public", f"c{n}")) | {"data": {"x": "y" * 300}})
        for n in range(600)
    ]
    await asyncio.gather(*created)
    return "/api/v1/namespaces/kube-public/configmaps"


def body(name: str) -> bytes:
    return json.dumps({"metadata": {"name": name}, "data": {"a": "b"}}).encode()


@pytest.mark.parametrize("path", ["/healthz", "/openapi/v3", "/nowhere"])
async def test_head_answers_like_get_without_the_body(connection: Connection, path: str) -> None:
    got, head = await connection.ask("GET", path), await connection.ask("HEAD", path)
    assert (head.code, head.header("content-type")) == (got.code, got.header("content-type"))
    assert head.header("content-length") == str(len(got.body))
    assert (await connection.ask("GET", "/healthz")).body == b"ok"


@pytest.mark.parametrize("path", [MAPS, f"{MAPS}/missing", f"{MAPS}?watch=1", "/api/v1/namespaces/default"])
async def test_head_of_objects_is_no_method_as_on_the_real_server(connection: Connection, path: str) -> None:
    assert (await connection.ask("HEAD", path)).code == 405
    assert (await connection.ask("GET", "/healthz")).body == b"ok"


@pytest.mark.parametrize("query", ["", "?limit=550", "?limit=450"], ids=["in pieces", "a page in pieces", "at once"])
async def test_long_lists_are_compressed_for_those_who_ask(connection: Connection, many: str, query: str) -> None:
    plain, zipped = await connection.ask("GET", many + query), await connection.ask("GET", many + query, ZIPPED)
    assert (plain.header("content-encoding"), zipped.header("content-encoding")) == ("", "gzip")
    assert zipped.document["items"] == plain.document["items"]
    assert len(zipped.body) < len(plain.body) / 2


async def test_short_answers_are_not_compressed(connection: Connection) -> None:
    assert (await connection.ask("GET", "/api/v1/namespaces/default", ZIPPED)).header("content-encoding") == ""


async def test_openapi_is_compressed_only_for_those_who_ask(connection: Connection) -> None:
    plain = await connection.ask("GET", "/openapi/v3/api/v1")
    zipped = await connection.ask("GET", "/openapi/v3/api/v1", ZIPPED)
    assert (plain.header("content-encoding"), zipped.header("content-encoding")) == ("", "gzip")
    assert gzip.decompress(zipped.body) == plain.body


@pytest.mark.parametrize(
    ("method", "path", "sent", "code"),
    [
        ("GET", f"{MAPS}/missing", b"", 404),
        ("POST", MAPS, b"{", 400),
        ("POST", MAPS, b'{"metadata":{"name":"NOT A NAME"}}', 422),
        ("PUT", f"{MAPS}/missing", b'{"metadata":{"name":"other"}}', 400),
        ("POST", "/api/v1/nothings", body("x"), 404),
        ("PATCH", MAPS, b"{}", 405),
        ("DELETE", f"{MAPS}/missing", b"", 404),
        ("POST", MAPS, b"x" * (BODY_LIMIT + 1), 413),
    ],
)
async def test_a_connection_serves_on_after_a_refusal(
    cluster: Cluster, method: str, path: str, sent: bytes, code: int
) -> None:
    async with connected(cluster) as connection:
        assert (await connection.ask(method, path, JSON, body=sent)).code == code
        if code != 413:  # there the rest of the body may not be worth reading
            assert (await connection.ask("GET", "/healthz")).body == b"ok"


async def test_the_server_closes_when_told_to(cluster: Cluster) -> None:
    async with connected(cluster) as connection:
        answer = await connection.ask("GET", "/healthz", "Connection: close")
        assert (answer.code, answer.header("connection")) == (200, "close")
        assert await connection.is_closed()


async def test_bodies_may_come_in_chunks(connection: Connection) -> None:
    await connection.send("POST", MAPS, JSON, "Transfer-Encoding: chunked")
    for piece in (body("in-chunks")[:10], body("in-chunks")[10:]):
        await connection.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
    await connection.write(b"0\r\n\r\n")
    assert (await connection.answer()).code == 201


async def test_chunks_above_the_limit_are_refused(cluster: Cluster) -> None:
    async with connected(cluster) as connection:
        await connection.send("POST", MAPS, JSON, "Transfer-Encoding: chunked")
        await connection.write(f"{BODY_LIMIT + 1:x}\r\n".encode() + b"x" * (BODY_LIMIT + 1) + b"\r\n0\r\n\r\n")
        assert (await connection.answer()).code == 413


async def test_a_client_that_waits_for_100_continue_gets_it(connection: Connection) -> None:
    sent = body("continued")
    await connection.send("POST", MAPS, JSON, f"Content-Length: {len(sent)}", "Expect: 100-continue")
    assert (await connection.answer()).code == 100
    await connection.write(sent)
    assert (await connection.answer()).code == 201


async def test_a_refused_client_is_not_asked_for_its_body(cluster: Cluster) -> None:
    async with connected(cluster) as connection:
        headers = (JSON, f"Content-Length: {BODY_LIMIT + 1}", "Expect: 100-continue")
        await connection.send("POST", MAPS, *headers)
        assert (await connection.answer()).code == 413


async def test_a_compressed_body_is_not_unpacked_as_the_real_server_does_not(connection: Connection) -> None:
    sent = gzip.compress(body("bomb"))
    assert (await connection.ask("POST", MAPS, JSON, "Content-Encoding: gzip", body=sent)).code == 400


async def test_urls_may_be_nearly_a_megabyte_long(connection: Connection) -> None:
    selector = ",".join(f"k{n}!=v" for n in range(1000)).ljust((1 << 20) - 1000 - len(MAPS), "x")
    assert (await connection.ask("GET", f"{MAPS}?unknown={selector}")).code == 200


async def test_a_watch_ends_when_its_time_is_up_and_the_connection_stays(connection: Connection) -> None:
    answer = await connection.ask("GET", f"{MAPS}?watch=1&timeoutSeconds=1&resourceVersion=1", ZIPPED)
    assert (answer.code, answer.header("transfer-encoding"), answer.header("content-encoding")) == (200, "chunked", "")
    assert (await connection.ask("GET", "/healthz")).body == b"ok"


@pytest.mark.parametrize(
    ("path", "sent", "warning"),
    [
        (MAPS, {"metadata": {"name": "warned"}, "naem": 1}, '299 - "unknown field \\"naem\\""'),
        (
            "/api/v1/namespaces/default/endpoints",
            {"metadata": {"name": "warned"}},
            '299 - "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"',
        ),
    ],
)
async def test_warnings_come_as_headers(connection: Connection, path: str, sent: object, warning: str) -> None:
    answer = await connection.ask("POST", path, JSON, body=json.dumps(sent).encode())
    assert (answer.code, answer.headers["warning"]) == (201, [warning])


async def test_requests_may_be_sent_before_the_answers_are_read(connection: Connection) -> None:
    for _ in range(3):
        await connection.send("GET", "/healthz")
    assert [(await connection.answer()).body for _ in range(3)] == [b"ok"] * 3


async def test_a_client_that_leaves_in_the_middle_of_a_watch_gives_its_place_back(cluster: Cluster) -> None:
    async with connected(cluster) as connection:
        await connection.send("GET", f"{MAPS}?watch=1")
        await until(lambda: cluster.server.measures.watches == 1)
    await until(lambda: cluster.server.measures.watches == 0)
