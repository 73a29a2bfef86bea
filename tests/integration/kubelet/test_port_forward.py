# SPDX-License-Identifier: Apache-2.0
"""Ports of pods at a local port, through a real API server and a real agent."""

from __future__ import annotations

import asyncio
import logging
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
from tests.integration.kubelet.core_world import NAMESPACE, PATIENCE, World, a_program, a_world
from tests.integration.patience import until

from springtide.kube import errors, port_forward
from springtide.kube.client import Client
from springtide.kube.resources import PODS, Key
from springtide.local.runtime import remains

SERVER = """
import asyncio

async def answer(reader, writer):
    line = await reader.readline()
    if line.startswith(b"GET"):
        body = b"x" * int(line.split()[1][1:] or 2)
        writer.write(b"HTTP/1.0 200 OK\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(body) + body)
        await writer.drain()
        writer.close()
    while data := await reader.read(65536):  # an echo
        writer.write(line + data)
        line = b""
        await writer.drain()
    print("closed", flush=True)
    writer.close()

async def main():
    server = await asyncio.start_server(answer, "127.0.0.1", 8080)
    print("ready", flush=True)
    await server.serve_forever()

asyncio.run(main())
"""


@pytest.fixture
async def world() -> AsyncIterator[World]:
    data = Path(tempfile.mkdtemp(prefix="tide-"))
    try:
        async with a_world(data, "none") as made:
            yield made
    finally:
        remains.discard(data)


@pytest.fixture
async def client(world: World) -> AsyncIterator[Client]:
    async with await Client.connect(str(world.cluster.directory.kubeconfig)) as found:
        yield found


async def find() -> Key:
    return Key(NAMESPACE, "web")


async def start(world: World) -> None:
    """A pod without a network of its own has a loopback address of its own."""
    script = SERVER.replace('"127.0.0.1"', "os.environ['POD_IP']").replace("import asyncio", "import asyncio, os", 1)
    address = {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
    program = a_program("") | {"command": ["python", "-c", script], "image": "python", "env": [address]}
    await world.bind("web", program, restartPolicy="Never")
    pod = await world.until_phase("web", "Running")

    async def said() -> str:
        return world.log(pod)

    await until(said, lambda text: "ready" in text, PATIENCE)


async def test_requests_are_answered_by_the_pod_many_at_a_time(world: World, client: Client) -> None:
    await start(world)
    async with port_forward.forwarding(client, find, 8080) as port, aiohttp.ClientSession() as session:

        async def get(size: int) -> int:
            async with session.get(f"http://127.0.0.1:{port}/{size}") as answer:
                return len(await answer.read())

        sizes = [*range(1, 20), 5_000_000]
        assert await asyncio.gather(*(get(size) for size in sizes)) == sizes


async def test_a_client_that_goes_is_not_waited_for(
    world: World, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(port_forward, "_LAST_WORDS", 0.1)
    await start(world)
    pod = await world.pod("web")
    async with port_forward.forwarding(client, find, 8080) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"hello\n" + b"y" * 200_000)
        assert await reader.readexactly(200_006) == b"hello\n" + b"y" * 200_000
        writer.close()

        async def said() -> str:
            return world.log(pod)

        await until(said, lambda text: "closed" in text, PATIENCE)


async def test_a_port_without_a_listener_ends_the_connection(
    world: World, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    await start(world)
    async with port_forward.forwarding(client, find, 9) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        assert await reader.read() == b""
        writer.close()
    assert "connection refused" in caplog.text


async def test_the_pod_is_found_anew_for_each_connection(
    world: World, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)

    async def find_running() -> Key:
        if await client.find(PODS, Key(NAMESPACE, "web")) is None:
            raise errors.NotFound("there is no pod")
        return await find()

    async with port_forward.forwarding(client, find_running, 8080) as port, aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.ClientError):
            await session.get(f"http://127.0.0.1:{port}/1")
        assert "there is no pod" in caplog.text
        await start(world)
        async with session.get(f"http://127.0.0.1:{port}/1") as answer:
            assert answer.status == 200
