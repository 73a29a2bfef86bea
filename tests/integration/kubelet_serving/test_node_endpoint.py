# SPDX-License-Identifier: Apache-2.0
"""Logs, ports, metrics and who may ask, at a node's endpoint with real shims behind it."""

from __future__ import annotations

import asyncio
import socket
from contextlib import closing
from pathlib import Path

import aiohttp
import msgspec
import pytest
from tests.integration.kubelet_serving.node import Node, eventually

from springtide.local.access import pki
from springtide.local.apiserver.nodes import resource_metrics
from springtide.local.streams.session import Session

LOG = "/containerLogs/ns/p/main"


async def test_a_log_is_followed_to_the_end_of_its_attempt(node: Node, tmp_path: Path) -> None:
    script = f"echo one; echo two >&2; while [ ! -e {tmp_path}/go ]; do sleep 0.01; done; echo three; printf four"
    pod = await node.run("p", "sh", "-c", script)
    async with node.get(f"{LOG}?follow=true") as response:
        lines = {await response.content.readline(), await response.content.readline()}
        assert lines == {b"one\n", b"two\n"}
        (tmp_path / "go").touch()
        assert await response.content.readline() == b"three\n"
        reading = asyncio.ensure_future(response.content.read())
        while pod.states["main"].status == "running":
            await node.look(pod)
            await asyncio.sleep(0.01)
        assert await reading == b"four"


async def test_attempts_have_logs_of_their_own(node: Node) -> None:
    pod = await node.run("p", "echo", "first")
    await _ended(node, pod.uid)
    await node.start(pod, "echo", "second", attempt=1)
    await _ended(node, pod.uid)
    assert await node.text(LOG) == (200, "second\n")
    assert await node.text(f"{LOG}?previous=true") == (200, "first\n")
    assert await node.text(f"{LOG}?tailLines=0") == (200, "")
    stamped = (await node.text(f"{LOG}?timestamps=true"))[1]
    assert stamped.endswith("Z second\n")


async def _ended(node: Node, uid: str) -> None:
    pod = node.pods.find("ns", "p", uid)
    assert pod is not None
    while pod.states["main"].status == "running":
        await node.look(pod)
        await asyncio.sleep(0.01)


async def test_a_log_that_is_not_there_is_explained(node: Node) -> None:
    await node.run("p", "sleep", "60")
    assert await node.text("/containerLogs/ns/other/main") == (404, 'pod "other" does not exist')
    assert await node.text("/containerLogs/ns/p/other") == (404, 'container "other" not found in pod "p"')
    missing = 'previous terminated container "main" in pod "p" not found'
    assert await node.text(f"{LOG}?previous=true") == (400, missing)


async def test_a_reader_that_leaves_is_not_followed_for(node: Node) -> None:
    await node.run("p", "sleep", "60")
    tasks = len(asyncio.all_tasks())
    async with node.get(f"{LOG}?follow=true") as response:
        assert response.status == 200
        assert len(asyncio.all_tasks()) > tasks
    await eventually(lambda: len(asyncio.all_tasks()) <= tasks)


SERVER = """
import socket
with socket.create_server(("127.0.0.1", 0)) as server:
    print(server.getsockname()[1], flush=True)
    while True:
        with server.accept()[0] as client:
            while data := client.recv(65536):
                client.sendall(data.upper())
"""


async def test_a_port_is_forwarded(node: Node) -> None:
    await node.run("p", "python3", "-c", SERVER)
    async with node.get(f"{LOG}?follow=true") as response:
        port = (await response.content.readline()).decode().strip()
    answer = await node.upgraded(node.kubelet.at("/portForward/ns/p"), "portforward.k8s.io")
    async with Session(answer.duplex, server=False) as session:
        for _ in range(2):
            headers = {"port": port, "requestid": str(session)}
            error = await session.open({"streamtype": "error", **headers})
            data = await session.open({"streamtype": "data", **headers})
            await data.write(b"hello")
            assert await data.read() == b"HELLO"
            await data.write_eof()
            assert await error.read_all(100) == b""


async def test_a_port_where_nobody_listens_is_refused(node: Node) -> None:
    pod = await node.run("p", "sleep", "60")
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    answer = await node.upgraded(node.kubelet.at("/portForward/ns/p"), "portforward.k8s.io")
    async with Session(answer.duplex, server=False) as session:
        error = await session.open({"streamtype": "error", "port": str(port), "requestid": "0"})
        await session.open({"streamtype": "data", "port": str(port), "requestid": "0"})
        said = (await error.read_all(1000)).decode()
    assert said == f"error forwarding port {port} to pod p, uid {pod.uid}: connect: connection refused"


async def test_usage_is_measured(node: Node) -> None:
    await node.run("p", "sh", "-c", "while :; do :; done")

    async def busy() -> None:
        read: resource_metrics.Readings = {}
        while not (read and read["ns", "p", "main"].cpu_seconds > 0.05):
            await asyncio.sleep(0.3)
            read = resource_metrics.parse((await node.text("/metrics/resource"))[1], 0.0)
        assert read["ns", "p", "main"].memory_bytes > 100_000
        assert read["", "", ""].cpu_seconds > 0.05

    await asyncio.wait_for(busy(), 20)


async def test_pods_are_listed(node: Node) -> None:
    pod = await node.run("p", "sleep", "60")
    code, text = await node.text("/pods")
    assert (code, msgspec.json.decode(text)["items"]) == (200, [pod.obj])


@pytest.mark.parametrize(
    ("who", "path", "expected"),
    [
        ("nobody", "/healthz", (200, "ok")),
        ("nobody", "/pods", (401, "Unauthorized")),
        ("nobody", "/anything", (401, "Unauthorized")),
        ("node", "/pods", (403, "Forbidden (user=system:node:n, verb=get, resource=nodes, subresource=proxy)")),
        ("server", "/anything", (404, "404 page not found")),
        ("server", "/exec/ns/p/main", (400, "Upgrade request required")),
    ],
)
async def test_the_api_server_alone_may_ask(node: Node, who: str, path: str, expected: tuple[int, str]) -> None:
    pairs = {
        "server": pki.kubelet_client_pair(node.authority),
        "node": pki.node_pair(node.authority, "n", ["127.0.0.1"]),
    }
    tls = pki.client_context(node.authority.certificate, pairs.get(who))
    url = f"https://127.0.0.1:{node.port}{path}"
    async with aiohttp.ClientSession() as session, session.get(url, ssl=tls) as response:
        assert (response.status, await response.text()) == expected


async def test_an_upgrade_needs_the_certificate_too(node: Node) -> None:
    await node.run("p", "sleep", "60")
    stranger = node.kubelet.at("/exec/ns/p/main", [("command", "true"), ("output", "1")])
    tls = pki.client_context(node.authority.certificate)
    answer = await node.upgraded(type(stranger)(stranger.host, stranger.port, stranger.target, tls))
    assert answer.head.status == 401
    await answer.duplex.close()
