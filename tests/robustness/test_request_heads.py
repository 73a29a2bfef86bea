# SPDX-License-Identifier: Apache-2.0
"""Request heads of clients without credentials: how much memory, how many connections and how long they get."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import pytest
from tests.crash.process import ServerProcess
from tests.robustness.test_connections import MAPS, answers, connected, memory, request

ATTACKERS = 800
LONG = b"GET /healthz?" + b"x" * (1 << 20)
MOST = 64


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    found = ServerProcess(tmp_path_factory.mktemp("heads") / "data")
    asyncio.run(found.start())
    yield found
    code = found.stop()
    found.kill()
    assert (code, found.complaints()) == (0, [])


def stranger() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


@asynccontextmanager
async def long_heads(process: ServerProcess, first: bytes = b"") -> AsyncIterator[list[asyncio.Task[None]]]:
    """As many as the server takes; each sends a mebibyte of a head that does not end, after the requests `first`."""
    tls = stranger()

    async def attack() -> None:
        with suppress(ConnectionError, ssl.SSLError, TimeoutError):
            async with connected(process, tls) as (reader, writer):
                if first:
                    writer.write(first)
                    head = await reader.readuntil(b"\r\n\r\n")
                    await reader.readexactly(int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]))
                writer.write(LONG)
                await writer.drain()
                await reader.read()

    tasks = [asyncio.create_task(attack()) for _ in range(ATTACKERS)]
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("first", [b"", request("/healthz")], ids=["first request", "second request"])
async def test_long_heads_without_credentials_hold_little_memory(process: ServerProcess, first: bytes) -> None:
    await answers(process)
    async with AsyncExitStack() as stack:
        reader, writer = await stack.enter_async_context(connected(process, process.tls()))
        writer.write(request(f"{MAPS}?watch=1"))
        await reader.readuntil(b"\r\n\r\n")
        before, most = memory(process), 0.0
        tasks = await stack.enter_async_context(long_heads(process, first))
        for _ in range(40):
            await asyncio.wait(tasks, timeout=0.1)
            most = max(most, memory(process) - before)
        print(f"{ATTACKERS} heads of 1 MiB: at most {most:.0f} MiB more")
        assert most < MOST
        await answers(process)  # newcomers get in
        await reader.readuntil(b"still-")  # and who watches goes on


async def test_a_long_head_still_passes(process: ServerProcess) -> None:
    async with connected(process, stranger()) as (reader, writer):
        writer.write(LONG + b" HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b" 200 " in await reader.readline()
