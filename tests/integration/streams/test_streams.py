# SPDX-License-Identifier: Apache-2.0
"""The whole road: a client, the API server's takeover and proxy, TLS, a node with real processes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlencode

import aiohttp
import pytest
from tests.integration.streams.node import Front, front_and_node, listening

from springtide.local.access import pki
from springtide.local.status import StatusError
from springtide.local.streams import channels, logs
from springtide.local.streams.channels import SPDY_PROTOCOL, Wanted, exited
from springtide.local.streams.dialing import Answer, ask
from springtide.local.streams.duplex import Socket
from springtide.local.streams.head import Headers
from springtide.local.streams.kubelet import Kubelet, Location
from springtide.local.streams.session import Session
from springtide.serving.connections import MAX_HEAD
from springtide.serving.slots import Limits

POD = "/api/v1/namespaces/default/pods/p"
ALL = Wanted(stdin=True, stdout=True, stderr=True)
MEGABYTE = 1 << 20


@pytest.fixture(params=["translated", "direct"])
async def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[tuple[Front, ssl.SSLContext]]:
    """A front before a node that only speaks SPDY, and before one that declares WebSockets."""
    async with front_and_node(tmp_path, websocket=request.param == "direct") as (front, ca):
        yield front, pki.client_context(ca)


async def upgraded(front: Front, tls: ssl.SSLContext, target: str, protocol: str) -> Answer:
    headers: Headers = (
        ("Host", "x"),
        ("Connection", "Upgrade"),
        ("Upgrade", "SPDY/3.1"),
        ("X-Stream-Protocol-Version", protocol),
    )
    return await ask(Location("127.0.0.1", front.port, target, tls), "POST", headers)


@contextlib.asynccontextmanager
async def spdy(front: Front, tls: ssl.SSLContext, target: str, protocol: str = SPDY_PROTOCOL) -> AsyncIterator[Session]:
    answer = await upgraded(front, tls, target, protocol)
    assert answer.head.status == 101
    async with Session(answer.duplex, server=False) as session:
        yield session


def exec_target(*words: str, wanted: Wanted = ALL) -> str:
    names = {"stdin": wanted.stdin, "stdout": wanted.stdout, "stderr": wanted.stderr, "tty": wanted.tty}
    asked = [(name, "true") for name, on in names.items() if on]
    return f"{POD}/exec?" + urlencode([("command", word) for word in words] + asked)


async def test_spdy_runs_a_command_and_tells_its_exit_code(cluster: tuple[Front, ssl.SSLContext]) -> None:
    async with spdy(*cluster, exec_target("sh", "-c", "cat; echo oops >&2; exit 5")) as session:
        streams = await channels.open_command(session, ALL)
        await streams["stdin"].write(b"hello")
        await streams["stdin"].write_eof()
        assert await streams["stdout"].read_all(100) == b"hello"
        assert await streams["stderr"].read_all(100) == b"oops\n"
        assert json.loads(await streams["error"].read_all(1000)) == exited(5)


async def test_ten_megabytes_come_back_whole(cluster: tuple[Front, ssl.SSLContext]) -> None:
    content = os.urandom(MEGABYTE) * 10
    async with spdy(*cluster, exec_target("cat")) as session:
        streams = await channels.open_command(session, ALL)

        async def send() -> None:
            await streams["stdin"].write(content)
            await streams["stdin"].write_eof()

        _, received = await asyncio.gather(send(), streams["stdout"].read_all(2 * len(content)))
    assert received == content


@contextlib.asynccontextmanager
async def websocket(
    front: Front, tls: ssl.SSLContext, target: str, protocol: str
) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
    """aiohttp's own client, on a connection that has served a plain request before."""
    async with aiohttp.ClientSession(f"https://127.0.0.1:{front.port}") as session:
        async with session.get(POD, ssl=tls) as response:
            assert response.status == 200
        async with session.ws_connect(target, ssl=tls, protocols=[protocol], max_msg_size=0) as socket:
            yield socket


async def said(socket: aiohttp.ClientWebSocketResponse) -> dict[int, bytes]:
    """Everything until the status, by channel."""
    channels_seen: dict[int, bytes] = {}
    async for message in socket:
        assert isinstance(message.data, bytes)
        number = message.data[0]
        channels_seen[number] = channels_seen.get(number, b"") + message.data[1:]
        if number == channels.ERROR:
            break
    return channels_seen


async def test_a_websocket_of_version_5_half_closes_stdin(cluster: tuple[Front, ssl.SSLContext]) -> None:
    async with websocket(*cluster, exec_target("sh", "-c", "wc -c; exit 4"), "v5.channel.k8s.io") as socket:
        assert socket.protocol == "v5.channel.k8s.io"
        for _ in range(4):
            await socket.send_bytes(b"\x00" + b"x" * 300_000)
        await socket.send_bytes(b"\xff\x00")
        seen = await said(socket)
    assert seen[channels.STDOUT].strip() == b"1200000"
    assert json.loads(seen[channels.ERROR]) == exited(4)


async def test_a_websocket_of_version_4_is_passed_through(cluster: tuple[Front, ssl.SSLContext]) -> None:
    async with websocket(*cluster, exec_target("head", "-c", "2"), "v4.channel.k8s.io") as socket:
        await socket.send_bytes(b"\x00hello")
        seen = await said(socket)
    assert seen[channels.STDOUT] == b"he"
    assert json.loads(seen[channels.ERROR]) == exited(0)


async def test_much_output_and_a_slow_reader_lose_nothing(cluster: tuple[Front, ssl.SSLContext]) -> None:
    target = exec_target("head", "-c", str(10 * MEGABYTE), "/dev/zero", wanted=Wanted(stdout=True))
    async with websocket(*cluster, target, "v5.channel.k8s.io") as socket:
        await socket.receive()  # the greeting; then nothing is read for a while
        for _ in range(200):
            await asyncio.sleep(0)
        seen = await said(socket)
    assert len(seen[channels.STDOUT]) == 10 * MEGABYTE


async def test_a_terminal_has_the_size_that_was_sent(cluster: tuple[Front, ssl.SSLContext]) -> None:
    tty = Wanted(stdin=True, stdout=True, tty=True)
    command = "until stty size | grep '31 101'; do :; done"
    async with spdy(*cluster, exec_target("sh", "-c", command, wanted=tty)) as session:
        streams = await channels.open_command(session, tty)
        await streams["resize"].write(b'{"Width":101,"Height":31}\n')
        assert b"31 101" in await streams["stdout"].read_all(1000)
        assert json.loads(await streams["error"].read_all(1000)) == exited(0)


async def test_attach_reaches_the_process_that_runs(cluster: tuple[Front, ssl.SSLContext]) -> None:
    async with spdy(*cluster, f"{POD}/attach?stdin=1&stdout=1") as session:
        streams = await channels.open_command(session, Wanted(stdin=True, stdout=True))
        await streams["stdin"].write(b"attached")
        await streams["stdin"].write_eof()
        assert await streams["stdout"].read_all(100) == b"attached"


@contextlib.asynccontextmanager
async def echo_server() -> AsyncIterator[int]:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def test_several_connections_are_forwarded_at_once(cluster: tuple[Front, ssl.SSLContext]) -> None:
    async with echo_server() as port, spdy(*cluster, f"{POD}/portforward", "portforward.k8s.io") as session:

        async def exchange(number: int) -> bool:
            headers = {"port": str(port), "requestid": str(number)}
            error = await session.open(headers | {"streamtype": "error"})
            data = await session.open(headers | {"streamtype": "data"})
            content = os.urandom(1000) * 500

            async def send() -> None:
                await data.write(content)
                await data.write_eof()

            _, received = await asyncio.gather(send(), data.read_all(2 * len(content)))
            return received == content and await error.read_all(100) == b""

        assert await asyncio.gather(*map(exchange, range(8))) == [True] * 8


async def test_an_exec_url_may_be_a_mebibyte_long(cluster: tuple[Front, ssl.SSLContext]) -> None:
    words = ["-c", "exit $#", "sh", *(["x" * 100_000] * 10)]  # a single argument of a process has its own limit
    async with spdy(*cluster, exec_target("sh", *words)) as session:
        streams = await channels.open_command(session, ALL)
        assert json.loads(await streams["error"].read_all(1000)) == exited(10)


async def test_a_plain_request_may_be_as_long(cluster: tuple[Front, ssl.SSLContext]) -> None:
    front, tls = cluster
    url = f"https://127.0.0.1:{front.port}{POD}?x={'y' * MEGABYTE}"
    async with aiohttp.ClientSession() as session, session.get(url, ssl=tls) as response:
        assert response.status == 200


async def test_logs_are_streamed_from_the_node(cluster: tuple[Front, ssl.SSLContext]) -> None:
    front, tls = cluster
    url = f"https://127.0.0.1:{front.port}{POD}/log?tailLines=3&follow=true"
    async with aiohttp.ClientSession() as session, session.get(url, ssl=tls) as response:
        assert await response.text() == "/containerLogs/default/p/main?follow=true&tailLines=3\nsecond line\n"


async def refused_log(session: aiohttp.ClientSession, location: Location) -> StatusError:
    with pytest.raises(StatusError) as refused:
        async for _ in logs.stream(session, location, "p"):
            pass
    return refused.value


async def test_a_log_that_cannot_be_had_says_why(cluster: tuple[Front, ssl.SSLContext]) -> None:
    front, _ = cluster
    missing = await refused_log(front.session, front.kubelet.at("/containerLogs/default/missing/c"))
    assert (missing.code, missing.reason) == (404, "NotFound")
    assert missing.message == "the server could not find the requested resource ( pods/log p)"
    nobody = await refused_log(front.session, Location("127.0.0.1", 1, "/containerLogs/x", front.kubelet.tls))
    assert (nobody.code, nobody.reason) == (500, "")
    assert nobody.message == (
        'Get "https://127.0.0.1:1/containerLogs/x": dial tcp 127.0.0.1:1: connect: connection refused'
    )


async def test_a_node_that_cannot_be_reached_is_an_error_before_the_switch(
    cluster: tuple[Front, ssl.SSLContext],
) -> None:
    front, tls = cluster
    front.kubelet = Kubelet("127.0.0.1", 1, front.kubelet.tls, front.kubelet.speaks_websocket)
    answer = await upgraded(front, tls, exec_target("ls"), SPDY_PROTOCOL)
    body = json.loads(await answer.duplex.reader.read())
    await answer.duplex.close()
    assert (answer.head.status, body["code"]) == (500, 500)
    assert body["message"] == "error dialing backend: dial tcp 127.0.0.1:1: connect: connection refused"


async def test_a_node_that_cannot_be_reached_is_told_on_the_error_channel_of_version_5(tmp_path: Path) -> None:
    async with front_and_node(tmp_path) as (front, ca):
        front.kubelet = Kubelet("127.0.0.1", 1, front.kubelet.tls)
        tls = pki.client_context(ca)
        async with websocket(front, tls, exec_target("ls", wanted=Wanted(stdout=True)), "v5.channel.k8s.io") as socket:
            status = json.loads((await said(socket))[channels.ERROR])
    assert status["message"] == (
        "Internal error occurred: error sending request: "
        'Post "https://127.0.0.1:1/exec/default/p/main?command=ls&output=1": '
        "dial tcp 127.0.0.1:1: connect: connection refused"
    )


async def test_refusals_of_the_node_reach_the_client(cluster: tuple[Front, ssl.SSLContext]) -> None:
    front, tls = cluster
    answer = await upgraded(front, tls, exec_target("ls"), "v9.channel.k8s.io")
    assert answer.head.status == 403
    assert b"unable to negotiate protocol: client supports [v9.channel.k8s.io]" in await answer.duplex.reader.read()
    await answer.duplex.close()


async def test_an_unknown_container_is_refused(cluster: tuple[Front, ssl.SSLContext]) -> None:
    front, tls = cluster
    answer = await upgraded(front, tls, exec_target("ls") + "&container=zz", SPDY_PROTOCOL)
    assert answer.head.status == 400
    body = json.loads(await answer.duplex.reader.read())
    await answer.duplex.close()
    assert body["message"] == "container zz is not valid for pod p"


async def connection(port: int) -> Socket:
    return Socket(*await asyncio.open_connection("127.0.0.1", port))


async def nobody(_: object) -> aiohttp.web.StreamResponse:
    raise AssertionError("the head was not complete")


async def test_a_head_that_never_ends_is_cut_off() -> None:
    async with listening(nobody, _unused, None) as port:
        client = await connection(port)
        with contextlib.suppress(ConnectionError):
            await client.write(b"GET /" + b"x" * (MAX_HEAD + 1))
        assert (await client.read()).startswith(b"HTTP/1.1 431 ")
        await client.close()


async def test_a_head_that_comes_too_slowly_is_cut_off() -> None:
    async with listening(nobody, _unused, None, Limits(head_seconds=0.05)) as port:
        client = await connection(port)
        await client.write(b"GET / HTTP/1.1\r\n")
        assert await client.read() == b""
        await client.close()


async def _unused(_: object) -> None:
    raise AssertionError("nothing was upgraded")


async def test_pipelined_plain_requests_are_replayed_whole(tmp_path: Path) -> None:
    async with front_and_node(tmp_path, tls=False) as (front, _):
        client = await connection(front.port)
        request = f"GET {POD} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
        for piece in (request[:10], request[10:] + request[:5], request[5:]):
            await client.write(piece)
        received = b""
        while received.count(b"HTTP/1.1 200 OK") < 2:
            received += await client.read()
        await client.close()
