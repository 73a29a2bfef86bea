# SPDX-License-Identifier: Apache-2.0
"""The operator's ports, asked over real sockets."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator

import aiohttp
import pytest
import pytest_asyncio

from springtide.controllers.metrics import Metrics
from springtide.controllers.options import Options
from springtide.controllers.serving import PortError, serve


@pytest_asyncio.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


async def asked(session: aiohttp.ClientSession, port: int, path: str) -> tuple[int, str]:
    async with session.get(f"http://127.0.0.1:{port}{path}") as answer:
        return answer.status, await answer.text()


async def test_it_lives_at_once_and_is_ready_when_its_caches_are(session: aiohttp.ClientSession) -> None:
    filled: list[bool] = []
    async with serve(Options(health_port=0), lambda: bool(filled), Metrics()) as ports:
        port = ports["/healthz"]
        assert await asked(session, port, "/healthz") == (200, "ok\n")
        assert await asked(session, port, "/readyz") == (503, "caches are being filled\n")
        filled.append(True)
        assert await asked(session, port, "/readyz") == (200, "ok\n")
        assert (await asked(session, port, "/metrics"))[0] == 404


async def test_metrics_have_a_port_of_their_own(session: aiohttp.ClientSession) -> None:
    async with serve(Options(health_port=0, metrics_port=0), lambda: True, Metrics()) as ports:
        assert ports["/metrics"] != ports["/healthz"]
        code, text = await asked(session, ports["/metrics"], "/metrics")
    assert code == 200
    assert "\nmpi_operator_is_leader 0.0\n" in text


async def test_one_port_named_twice_serves_both(session: aiohttp.ClientSession) -> None:
    port = free_port()
    async with serve(Options(health_port=port, metrics_port=port), lambda: True, Metrics()):
        assert (await asked(session, port, "/healthz"))[0] == 200
        assert (await asked(session, port, "/metrics"))[0] == 200


async def test_nothing_listens_when_nothing_is_wanted() -> None:
    async with serve(Options(), lambda: True, Metrics()) as ports:
        assert ports == {}


async def test_a_port_that_is_taken_is_named_with_the_flag_that_chooses_another() -> None:
    with socket.socket() as other:
        other.bind(("0.0.0.0", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(PortError) as caught:
            async with serve(Options(metrics_port=port), lambda: True, Metrics()):
                pass
    said = str(caught.value)
    assert said == f"cannot listen on port {port}: address already in use\nChoose another: --monitoring-port PORT"


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


async def test_the_ports_have_the_bounds_of_every_server() -> None:
    """One request in doubt shows which server answers; the bounds themselves are tested with `springtide.serving`."""
    async with serve(Options(health_port=0), lambda: True, Metrics()) as ports:
        reader, writer = await asyncio.open_connection("127.0.0.1", ports["/healthz"])
        writer.write(b"POST /healthz HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\nContent-Length: 5\r\n\r\n")
        answer = await reader.read()
        writer.close()
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"more than one header says how long" in answer
