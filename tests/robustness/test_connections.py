# SPDX-License-Identifier: Apache-2.0
"""Connections that behave badly: too slow, half closed, cut off, far too many, or never reading.

The server is a process of its own, so that its memory, descriptors and answers can be looked at from outside.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from tests.crash.process import ServerProcess, session_to

MAPS = "/api/v1/namespaces/default/configmaps"
WATCHERS = 1000
CONNECTIONS = 2000
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    found = ServerProcess(tmp_path_factory.mktemp("connections") / "data")
    asyncio.run(found.start())
    yield found
    code = found.stop()
    found.kill()
    assert (code, found.complaints()) == (0, [])


@asynccontextmanager
async def connected(process: ServerProcess, tls: ssl.SSLContext) -> AsyncIterator[Streams]:
    reader, writer = await asyncio.open_connection("127.0.0.1", process.port, ssl=tls)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


def request(path: str, method: str = "GET", head: str = "", body: bytes = b"") -> bytes:
    return f"{method} {path} HTTP/1.1\r\nHost: x\r\n{head}\r\n".encode() + body


async def answers(process: ServerProcess) -> None:
    """Others are still served, reads and writes."""
    async with session_to(process) as session:
        async with session.get("/readyz") as ready:
            assert ready.status == 200
        body = {"metadata": {"generateName": "still-"}}
        async with session.post(MAPS, json=body) as created:
            assert created.status == 201


def memory(process: ServerProcess) -> float:
    """Resident mebibytes."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def descriptors(process: ServerProcess) -> int:
    return len(os.listdir(f"/proc/{process.pid}/fd"))


async def until_back_to(process: ServerProcess, most: int) -> int:
    """Closing takes the server a moment; what it never closes stays in the count."""
    for _ in range(400):
        if descriptors(process) <= most:
            break
        await asyncio.sleep(0.025)
    return descriptors(process)


async def test_heads_that_never_end_hold_nobody_up(process: ServerProcess) -> None:
    tls = process.tls()
    async with AsyncExitStack() as stack:
        for _ in range(100):
            _, writer = await stack.enter_async_context(connected(process, tls))
            writer.write(b"GET /api HTTP/1.1\r\nX-Slow: ")
        await answers(process)


async def test_a_head_without_bound_is_refused(process: ServerProcess) -> None:
    async with connected(process, process.tls()) as (reader, writer):
        writer.write(b"GET /api HTTP/1.1\r\nX-Long: " + b"x" * (2 << 20))
        assert b" 431 " in await reader.readline()
    await answers(process)


async def test_requests_sent_all_at_once_are_answered_in_order(process: ServerProcess) -> None:
    async with connected(process, process.tls()) as (reader, writer):
        writer.write(b"".join(request(f"{MAPS}/pipelined-{number}") for number in range(50)))
        for number in range(50):
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            status = json.loads(await reader.readexactly(length))
            assert (status["code"], status["details"]["name"]) == (404, f"pipelined-{number}")


async def test_uploads_that_break_off_leave_nothing_behind(process: ServerProcess) -> None:
    before, tls = descriptors(process), process.tls()
    for _ in range(50):
        async with connected(process, tls) as (_, writer):
            head = "Content-Type: application/json\r\nContent-Length: 100000\r\n"
            writer.write(request(MAPS, "POST", head, b'{"metadata":{"name":"broken-off"'))
            await writer.drain()
    assert await until_back_to(process, before) <= before
    async with session_to(process) as session, session.get(f"{MAPS}/broken-off") as answer:
        assert answer.status == 404


def test_a_half_closed_connection_comes_to_an_end(process: ServerProcess) -> None:
    raw = socket.create_connection(("127.0.0.1", process.port), timeout=10)
    with process.tls().wrap_socket(raw, server_hostname="127.0.0.1") as connection:
        connection.sendall(request(f"{MAPS}?watch=1"))
        connection.recv(1)
        socket.socket.shutdown(connection, socket.SHUT_WR)
        try:
            while connection.recv(65536):
                pass
        except (ssl.SSLError, ConnectionError):
            pass  # the server may end it without ceremony; it must only end it
    asyncio.run(answers(process))


@pytest.mark.timeout(240)
async def test_a_thousand_idle_watchers_see_the_next_change(process: ServerProcess) -> None:
    before, tls = memory(process), process.tls()
    files = descriptors(process)
    async with AsyncExitStack() as stack:
        opened: list[Streams] = []
        for _ in range(WATCHERS):
            streams = await stack.enter_async_context(connected(process, tls))
            streams[1].write(request(f"{MAPS}?watch=1&fieldSelector=metadata.name%3Dseen-by-all"))
            opened.append(streams)
        for reader, _ in opened:
            await reader.readuntil(b"\r\n\r\n")
        await answers(process)
        print(f"{WATCHERS} idle watchers: {memory(process) - before:.0f} MiB more")
        async with session_to(process) as session:
            async with session.post(MAPS, json={"metadata": {"name": "seen-by-all"}}) as created:
                assert created.status == 201
            for reader, _ in opened:
                assert b'"ADDED"' in await reader.readuntil(b"}\n")
            await session.delete(f"{MAPS}/seen-by-all")
    assert await until_back_to(process, files) <= files


@pytest.mark.timeout(240)
async def test_readers_that_stall_cost_little_memory(process: ServerProcess) -> None:
    """Forty mebibytes of changes; were they queued for each of the ten readers, that would be four hundred."""
    tls = process.tls()
    async with AsyncExitStack() as stack:
        for _ in range(10):
            reader, writer = await stack.enter_async_context(connected(process, tls))
            writer.write(request(f"{MAPS}?watch=1&resourceVersion=0"))
            await reader.readuntil(b"\r\n\r\n")
            writer.transport.pause_reading()  # type: ignore[attr-defined]  # asyncio types it as a WriteTransport
        before = memory(process)
        await _write_much(process)
        grown = memory(process) - before
        print(f"ten stalled readers and 40 MiB of changes: {grown:.0f} MiB more")
        assert grown < 150
        await answers(process)


async def _write_much(process: ServerProcess) -> None:
    async with session_to(process) as session:
        await session.post(MAPS, json={"metadata": {"name": "much"}})
        for number in range(400):
            patch = {"data": {"a": f"{number}" + "x" * 100_000}}
            headers = {"Content-Type": "application/merge-patch+json"}
            async with session.patch(f"{MAPS}/much", data=json.dumps(patch), headers=headers) as answer:
                assert answer.status == 200
        await session.delete(f"{MAPS}/much")


@pytest.mark.timeout(240)
async def test_two_thousand_connections_leave_no_descriptor_behind(process: ServerProcess) -> None:
    await answers(process)
    before, tls = descriptors(process), process.tls()

    async def visit(number: int) -> None:
        async with connected(process, tls) as (reader, writer):
            if number % 4 == 0:
                return  # hangs up right after the handshake
            writer.write(request(f"{MAPS}?watch=1" if number % 4 == 1 else "/readyz"))
            if number % 4 == 2:
                return  # hangs up before the answer
            await reader.readuntil(b"\r\n\r\n")

    for start in range(0, CONNECTIONS, 50):
        await asyncio.gather(*(visit(number) for number in range(start, start + 50)))
    assert await until_back_to(process, before) <= before
    await answers(process)


async def test_an_abandoned_handshake_is_given_up(process: ServerProcess) -> None:
    before = descriptors(process)
    for _ in range(50):
        _, writer = await asyncio.open_connection("127.0.0.1", process.port)
        writer.write(b"\x16\x03\x01")
        writer.transport.abort()
    assert await until_back_to(process, before) <= before


def test_plain_http_on_the_port_is_refused(process: ServerProcess) -> None:
    with socket.create_connection(("127.0.0.1", process.port), timeout=10) as raw:
        raw.sendall(request("/api"))
        assert raw.recv(1024).startswith((b"", b"\x15"))  # an alert or nothing
    assert threading.active_count()
    asyncio.run(answers(process))


def test_nothing_speaks_to_a_client_without_credentials(process: ServerProcess) -> None:
    async def go() -> int:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        async with (
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context)) as session,
            session.get(process.url + MAPS) as answer,
        ):
            return answer.status

    assert asyncio.run(go()) == 401
