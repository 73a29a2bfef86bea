# SPDX-License-Identifier: Apache-2.0
"""Watches with long selectors: opening many of them, and the changes that each is told of, delay nobody."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, closing
from http.client import HTTPSConnection

import pytest
from tests.contract.apiserver.servers import Server
from tests.robustness.asking import send
from tests.robustness.complexity.measuring import Measured, measured

LAG = 0.2
MEMORY = 64 << 20
MAPS = "/api/v1/namespaces/watched/configmaps"
WATCHES = 15
"""Of 65,000 characters each: about as many as are allowed. Further ones are answered with 429."""
CHANGES = 10
SELECTORS = {
    "many terms": ",".join(f"k{number}!=v" for number in range(5_000)),
    "many values": "a in (b," + ",".join(f"v{number}" for number in range(8_000)) + ")",
    "many absent": "a=b," + ",".join(f"!k{number}" for number in range(6_000)),
}


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Measured]:
    with measured(tmp_path_factory.mktemp("watched") / "data") as running:
        send(running.server, "POST", "/api/v1/namespaces", {"metadata": {"name": "watched"}})
        yield running


def watching(server: Server, selector: str) -> HTTPSConnection:
    connection = server.connection()
    query = f"?watch=1&labelSelector={selector.replace(' ', '%20').replace('!', '%21')}"
    connection.request("GET", MAPS + query, headers=server.headers)
    return connection


@pytest.mark.timeout(180)
@pytest.mark.parametrize("selector", SELECTORS.values(), ids=SELECTORS)
def test_many_watches_with_long_selectors_delay_nobody(process: Measured, selector: str) -> None:
    name = f"m-{list(SELECTORS.values()).index(selector)}"
    process.begin()
    before = process.end()
    process.begin()
    with ExitStack() as stack:
        opened = [stack.enter_context(closing(watching(process.server, selector))) for _ in range(WATCHES)]
        answers = [connection.getresponse() for connection in opened]
        assert {answer.status for answer in answers} == {200}
        for number in range(CHANGES):
            made = {"metadata": {"name": f"{name}-{number}", "labels": {"a": "b"}}}
            assert send(process.server, "POST", MAPS, made).status == 201
        for answer in answers:
            while json.loads(answer.readline())["object"]["metadata"]["name"] != f"{name}-{CHANGES - 1}":
                pass
        cost = process.end()
    assert cost.lag < LAG
    assert cost.memory - before.memory < MEMORY
