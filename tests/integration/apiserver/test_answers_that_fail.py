# SPDX-License-Identifier: Apache-2.0
"""Answers that cannot be written: refused before anything is done or said, or broken off for all to see."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.integration.apiserver.http1 import connected

from springtide.kube.resources import CONFIGMAPS, NAMESPACES, Key
from springtide.local.apiserver.encoding import present
from springtide.local.apiserver.encoding.objects import item_parts
from springtide.local.apiserver.encoding.pieces import Part
from springtide.local.apiserver.registry.resources import Resource
from springtide.local.cluster import Cluster
from springtide.local.store.backend import Record

pytestmark = pytest.mark.asyncio(loop_scope="module")

MAPS = "/api/v1/namespaces/long/configmaps"
COUNT = 4
TABLE = "Accept: application/json;as=Table;g=meta.k8s.io;v=v1"


@pytest_asyncio.fixture(loop_scope="module")
async def maps(cluster: Cluster) -> AsyncIterator[str]:
    client = cluster.client("tester")
    if await client.find(NAMESPACES, Key("", "long")) is None:
        await client.create(NAMESPACES, NAMESPACES.describe(Key("", "long")))
    for number in range(COUNT):
        obj = CONFIGMAPS.describe(Key("long", f"m{number}")) | {"data": {"x": "y" * 700_000}}
        if await client.find(CONFIGMAPS, Key("long", f"m{number}")) is None:
            await client.create(CONFIGMAPS, obj)
    yield MAPS


def left(cluster: Cluster) -> int:
    return sum(record.key.name.startswith("m") for record in cluster.server.store.list("configmaps", "long"))


@pytest.mark.parametrize(
    ("query", "accept", "code"),
    [
        ("", "Accept: application/yaml", 406),
        ("", "Accept: application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", 406),
        ("?includeObject=bogus", TABLE, 400),
    ],
)
async def test_nothing_is_deleted_whose_list_cannot_be_written(
    cluster: Cluster, maps: str, query: str, accept: str, code: int
) -> None:
    async with connected(cluster) as connection:
        answer = await connection.ask("DELETE", maps + query, accept)
    assert (answer.code, left(cluster)) == (code, COUNT)


def failing(monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    made = 0

    def parts(record: Record, resource: Resource) -> tuple[Part, ...]:
        nonlocal made
        made += 1
        if made > at:
            raise RecursionError("too deep a row")
        return item_parts(record, resource)

    monkeypatch.setattr(present, "item_parts", parts)


async def test_what_fails_in_the_first_piece_is_an_answer(
    cluster: Cluster, maps: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, at=0)
    async with connected(cluster) as connection:
        answer = await connection.ask("GET", maps)
    assert answer.code == 400
    assert answer.document["kind"] == "Status"


@pytest.mark.parametrize("zipped", [(), ("Accept-Encoding: gzip",)])
async def test_what_fails_later_breaks_the_answer_off(
    cluster: Cluster, maps: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, zipped: tuple[str]
) -> None:
    failing(monkeypatch, at=2)
    async with connected(cluster) as connection:
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await connection.ask("GET", maps, *zipped)
    told = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert told == [f"the answer to GET {MAPS} broke off: RecursionError: too deep a row"]
    assert "Traceback" not in caplog.text


async def test_the_audit_log_says_that_an_answer_broke_off(
    cluster: Cluster, maps: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, at=2)
    async with connected(cluster) as connection:
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await connection.ask("DELETE", maps)
    lines = [json.loads(line) for line in cluster.directory.audit.read_text().splitlines()]
    told = [(line["code"], line.get("answer")) for line in lines if line["path"] == MAPS and line["method"] == "DELETE"]
    assert told[-2:] == [(200, None), (200, "broke off")]
