# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from socket import socket

import pytest
from aiohttp import web

from springtide.local.access import pki
from springtide.local.admission.webhook_calls import CallError, Endpoint, HttpsCalls


class Gate:
    """A webhook on loopback, with a certificate for `gate.ops.svc`."""

    def __init__(self, directory: Path) -> None:
        self.authority = pki.Authority(directory, datetime.now(UTC))
        self.pair = pki.server_pair(self.authority, more=["gate.ops.svc"])
        self.port = 0
        self.code = 200
        self.seen: list[tuple[str, str, bytes]] = []

    async def answer(self, request: web.Request) -> web.Response:
        self.seen.append((request.host, request.path_qs, await request.read()))
        return web.Response(body=b"yes", status=self.code)


@pytest.fixture
async def gate(tmp_path: Path) -> AsyncIterator[Gate]:
    gate = Gate(tmp_path)
    app = web.Application()
    app.router.add_post("/check", gate.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    with socket() as probe:
        probe.bind(("127.0.0.1", 0))
        gate.port = probe.getsockname()[1]
    context = pki.server_context(gate.pair, gate.authority.certificate)
    await web.TCPSite(runner, "127.0.0.1", gate.port, ssl_context=context).start()
    yield gate
    await runner.cleanup()


@pytest.fixture
async def calls(gate: Gate) -> AsyncIterator[HttpsCalls]:
    def resolve(namespace: str, name: str, port: int) -> tuple[str, int]:
        if name != "gate":
            raise LookupError(f'service "{name}" not found')
        return "127.0.0.1", gate.port

    calls = HttpsCalls(resolve)
    yield calls
    await calls.close()


async def test_a_url_is_called_with_the_given_ca(gate: Gate, calls: HttpsCalls) -> None:
    endpoint = Endpoint(f"https://127.0.0.1:{gate.port}/check", gate.authority.certificate)
    assert await calls(endpoint, b"body", 3) == b"yes"
    assert gate.seen == [(f"127.0.0.1:{gate.port}", "/check?timeout=3s", b"body")]


async def test_a_service_is_called_under_its_name(gate: Gate, calls: HttpsCalls) -> None:
    url = "https://gate.ops.svc:8443/check"
    assert await calls(Endpoint(url, gate.authority.certificate, ("ops", "gate", 8443)), b"", 3) == b"yes"
    assert gate.seen[0][0] == "gate.ops.svc:8443"


async def test_what_goes_wrong_is_said(gate: Gate, calls: HttpsCalls, tmp_path: Path) -> None:
    ca = gate.authority.certificate
    with pytest.raises(CallError, match=r'service "nope" not found$'):
        await calls(Endpoint("https://nope.ops.svc:443/", ca, ("ops", "nope", 443)), b"", 3)
    with pytest.raises(CallError, match=r"dial tcp 127.0.0.1:1: connect: connection refused$"):
        await calls(Endpoint("https://127.0.0.1:1/check", ca), b"", 3)
    stranger = pki.Authority(tmp_path / "other", datetime.now(UTC)).certificate
    with pytest.raises(CallError, match="tls: failed to verify certificate"):
        await calls(Endpoint(f"https://127.0.0.1:{gate.port}/check", stranger), b"", 3)
    gate.code = 500
    with pytest.raises(CallError, match="an error on the server"):
        await calls(Endpoint(f"https://127.0.0.1:{gate.port}/check", ca), b"", 3)
