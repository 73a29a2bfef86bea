# SPDX-License-Identifier: Apache-2.0
"""Long answers, bodies and heads: what clients that read or write slowly may cost the server, in time and memory."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from http.client import HTTPSConnection
from pathlib import Path

import pytest
from tests.contract.apiserver.servers import Server
from tests.robustness.asking import ask, assert_refused, send
from tests.robustness.complexity.measuring import Cost, Measured, measured

LAG = 0.2
MEMORY = 64 << 20
SECRETS = "/api/v1/namespaces/long/secrets"
MAPS = "/api/v1/namespaces/long/configmaps"
OBJECTS = 30
TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
PARTIAL = {"Accept": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}
AS_YAML = {"Accept": "application/yaml"}


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Measured]:
    directory: Path = tmp_path_factory.mktemp("long") / "data"
    with measured(directory) as running:
        send(running.server, "POST", "/api/v1/namespaces", {"metadata": {"name": "long"}})
        send(running.server, "POST", "/api/v1/namespaces/long/serviceaccounts", {"metadata": {"name": "default"}})
        for number in range(OBJECTS):
            secret = {"metadata": {"name": f"s{number}"}, "stringData": {"k": "v" * 750_000}}
            assert send(running.server, "POST", SECRETS, secret).status == 201
        for number in range(20):
            data = {f"k{key}": "value" for key in range(2000)}
            assert send(running.server, "POST", MAPS, {"metadata": {"name": f"m{number}"}, "data": data}).status == 201
        yield running


def cheap(process: Measured, before: Cost) -> None:
    """What was done since `begin` held up nobody and took little memory beside what is stored."""
    cost = process.end()
    assert cost.lag < LAG
    assert cost.memory - before.memory < MEMORY


def idle(process: Measured) -> Cost:
    process.begin()
    return process.end()


@pytest.mark.parametrize(
    ("query", "headers"), [("", {}), ("", TABLE), ("", PARTIAL), ("?limit=20", {}), ("?fieldSelector=type!=a", {})]
)
def test_a_list_of_long_objects_is_made_in_pieces(process: Measured, query: str, headers: Mapping[str, str]) -> None:
    before = idle(process)
    process.begin()
    answer = ask(process.server, "GET", SECRETS + query, None, headers)
    cheap(process, before)
    document = json.loads(answer.body)
    assert len(document.get("items") or document["rows"]) == (20 if query.startswith("?limit") else OBJECTS)


def waiting(server: Server, path: str) -> HTTPSConnection:
    """A client that asks and does not read."""
    connection = server.connection()
    connection.connect()
    connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.request("GET", path, headers=server.headers)
    return connection


@pytest.mark.parametrize("path", [SECRETS, f"{SECRETS}?watch=1&resourceVersion=0", f"{SECRETS}/s1"])
def test_clients_that_do_not_read_hold_little(process: Measured, path: str) -> None:
    before = idle(process)
    process.begin()
    with ExitStack() as stack:
        for _ in range(100):
            stack.enter_context(closing(waiting(process.server, path)))
        time.sleep(0.5)
        cheap(process, before)


def test_yaml_is_written_beside_the_event_loop(process: Measured) -> None:
    process.begin()
    answer = ask(process.server, "GET", f"{MAPS}?limit=5", None, AS_YAML)
    assert answer.status == 200
    assert process.end().lag < LAG


def test_a_long_list_is_not_written_as_yaml(process: Measured) -> None:
    answer = ask(process.server, "GET", SECRETS, None, {"Accept": "application/yaml"})
    assert answer.status == 406
    assert b"ask for application/json" in answer.body


def begun(server: Server, path: str, headers: Mapping[str, str]) -> HTTPSConnection:
    """A client that sends nearly all of a long body."""
    connection = server.connection()
    connection.putrequest("POST", path)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.putheader("Content-Length", "3000000")
    connection.endheaders()
    connection.sock.setblocking(False)
    try:
        while connection.sock.send(b" " * 100_000):
            pass
    except OSError:  # the server reads no more
        return connection
    return connection


@pytest.mark.parametrize("known", [False, True])
def test_bodies_that_never_end_hold_little(process: Measured, known: bool) -> None:
    headers = process.server.headers if known else {}
    before = idle(process)
    process.begin()
    with ExitStack() as stack:
        for _ in range(100):
            stack.enter_context(closing(begun(process.server, MAPS if known else "/healthz", headers)))
        time.sleep(0.5)
        # Short requests of the same user go on meanwhile.
        assert send(process.server, "POST", f"{MAPS}?dryRun=All", {"metadata": {"name": "short"}}).status == 201
        cheap(process, before)


def test_a_body_that_is_too_long_is_refused_at_once(process: Measured) -> None:
    assert_refused(ask(process.server, "POST", MAPS, b" " * (3 * 1024 * 1024 + 1)), 413)


@pytest.mark.parametrize(
    ("path", "headers", "code"),
    [
        (MAPS, {"Accept": "," * 1_000_000}, 406),
        (MAPS, {"Accept": "a/b;as=Table," * 80_000}, 406),
        (MAPS, {"Accept": "application/json" + ";a=b" * 250_000}, 200),
        (f"{MAPS}?" + "a=b&" * 250_000, {}, 400),
        (f"{MAPS}?" + "&" * 1_000_000, {}, 400),
        ("/" * 1_000_000, {}, 414),
        ("/api/v1/" + "%2f" * 340_000, {}, 414),
        (f"{SECRETS}/s1/proxy/" + "a/" * 500_000, {}, 414),
    ],
)
def test_the_parts_of_a_long_head_hold_up_nobody(
    process: Measured, path: str, headers: Mapping[str, str], code: int
) -> None:
    before = idle(process)
    process.begin()
    answer = ask(process.server, "GET", path, None, headers)
    cheap(process, before)
    assert answer.status == code


def test_what_deletes_many_long_objects_is_answered_in_pieces(process: Measured) -> None:
    path = "/api/v1/namespaces/short/secrets"
    send(process.server, "POST", "/api/v1/namespaces", {"metadata": {"name": "short"}})
    for number in range(10):
        secret = {"metadata": {"name": f"s{number}"}, "stringData": {"k": "v" * 750_000}}
        assert send(process.server, "POST", path, secret).status == 201
    process.begin()
    answer = ask(process.server, "DELETE", path)
    assert process.end().lag < LAG
    assert len(json.loads(answer.body)["items"]) == 10
