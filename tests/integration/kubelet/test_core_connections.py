# SPDX-License-Identifier: Apache-2.0
"""Probes over the network, against servers that answer well, badly, elsewhere or not at all."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from springtide.local.kubelet.probes import connections
from springtide.local.kubelet.probes.answers import Answer

HOST = "127.0.0.1"
MAIN = {"name": "main"}


async def sockets() -> socket.socket:
    return socket.socket(socket.AF_INET, socket.SOCK_STREAM)


@asynccontextmanager
async def a_server(answer: Callable[[str], bytes]) -> AsyncIterator[int]:
    """Answers each request by its first line and headers, and hangs up."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            writer.write(answer(head.decode()))
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # a TCP probe says nothing
        finally:
            writer.close()

    server = await asyncio.start_server(serve, HOST, 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


def responding(status: int, body: str = "", **headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status} whatever", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + f"\r\n\r\n{body}").encode()


async def get(port: int, **action: object) -> Answer:
    return await connections.ask_http({"port": port, **action}, MAIN, HOST, sockets)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


async def test_a_good_answer_is_healthy_and_a_bad_one_is_not() -> None:
    async with a_server(lambda _: responding(204)) as port:
        assert (await get(port)).healthy
    async with a_server(lambda _: responding(503)) as port:
        assert await get(port) == Answer(False, "HTTP probe failed with statuscode: 503")


async def test_the_request_is_what_was_asked_for() -> None:
    seen: list[str] = []

    def answer(head: str) -> bytes:
        seen.append(head)
        return responding(200)

    async with a_server(answer) as port:
        await get(port, path="healthz?full=1", httpHeaders=[{"name": "X-Probe", "value": "yes"}])
        await get(port, httpHeaders=[{"name": "host", "value": "example"}, {"name": "accept", "value": ""}])
    first, second = seen
    assert first.startswith("GET /healthz?full=1 HTTP/1.1\r\n")
    assert f"Host: {HOST}:{port}\r\n" in first
    assert "User-Agent: kube-probe/1.36\r\n" in first
    assert "X-Probe: yes\r\n" in first
    assert "Host: example\r\n" in second
    assert "Accept" not in second


async def test_redirects_on_the_same_host_are_followed() -> None:
    def answer(head: str) -> bytes:
        return responding(302, Location="/there") if head.startswith("GET / ") else responding(200)

    async with a_server(answer) as port:
        assert await get(port) == Answer(True)


async def test_a_redirect_elsewhere_is_a_warning() -> None:
    async with a_server(lambda _: responding(302, "go", Location="http://example.com/")) as port:
        assert await get(port) == Answer(True, "Probe terminated redirects, Response body: go", warning=True)


async def test_redirects_without_end_are_a_failure() -> None:
    async with a_server(lambda _: responding(302, Location="/")) as port:
        answer = await get(port)
    assert answer == Answer(False, f'Get "http://{HOST}:{port}/": stopped after 10 redirects')


async def test_nobody_there() -> None:
    port = free_port()
    refused = f"dial tcp {HOST}:{port}: connect: connection refused"
    assert await get(port, path="/x") == Answer(False, f'Get "http://{HOST}:{port}/x": {refused}')
    assert await connections.ask_tcp({"port": port}, MAIN, HOST, sockets) == Answer(False, refused)
    answer = await connections.ask_grpc({"port": port}, HOST, sockets)
    assert answer == Answer(False, f'error: failed to connect service at "{HOST}:{port}": {refused}')


async def test_whoever_hangs_up_or_talks_nonsense_is_not_healthy() -> None:
    async with a_server(lambda _: b"") as port:
        assert await get(port) == Answer(False, f'Get "http://{HOST}:{port}/": EOF')
    async with a_server(lambda _: b"hello\r\n\r\n") as port:
        assert not (await get(port)).healthy


async def test_a_port_that_accepts_is_healthy() -> None:
    async with a_server(lambda _: b"") as port:
        assert await connections.ask_tcp({"port": str(port)}, MAIN, HOST, sockets) == Answer(True)
