# SPDX-License-Identifier: Apache-2.0
"""Commands served to a client of every protocol: the `Run` under test is a function that stands for a process."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import pytest
from tests.unit.local.streams.pipes import End, frame, pair, read_all

from springtide.local.streams import channels
from springtide.local.streams.channels import Command, Status, Wanted, exited, failed
from springtide.local.streams.head import RequestHead, parse_response
from springtide.local.streams.session import Session
from springtide.local.streams.websocket import BINARY, CLOSE, TEXT, Parser
from springtide.serving.framing import END

ALL = Wanted(stdin=True, stdout=True, stderr=True)
WEBSOCKET = (("Connection", "keep-alive, Upgrade"), ("Upgrade", "websocket"), ("Sec-WebSocket-Key", "key"))
SPDY = (("Connection", "Upgrade"), ("Upgrade", "SPDY/3.1"))


async def shout(command: Command) -> Status:
    """Repeats stdin in capitals, says one word on stderr and exits with 3."""
    assert command.stdin is not None
    assert command.stdout is not None
    assert command.stderr is not None
    while data := await command.stdin.read():
        await command.stdout.write(data.upper())
    await command.stderr.write(b"done")
    return exited(3)


def websocket_head(protocol: str) -> RequestHead:
    return RequestHead((*WEBSOCKET, ("Sec-WebSocket-Protocol", protocol)), "GET", "/exec")


def spdy_head(*protocols: str) -> RequestHead:
    return RequestHead((*SPDY, *(("X-Stream-Protocol-Version", name) for name in protocols)), "POST", "/exec")


async def answer_of(client: End) -> tuple[int, bytes]:
    data = b""
    while END not in data:
        data += await client.read()
    head, rest = data.split(END, 1)
    return parse_response(head + END).status, rest


async def messages_of(client: End, rest: bytes) -> list[tuple[int, bytes]]:
    parser = Parser()
    messages = parser.receive(rest)
    while not messages or messages[-1][0] != CLOSE:
        messages += parser.receive(await client.read())
    await client.close()
    return messages


async def test_version_5_ends_stdin_while_output_goes_on() -> None:
    client, server = pair(room=64)
    serving = asyncio.ensure_future(channels.serve(websocket_head("v5.channel.k8s.io"), server, ALL, shout))
    status, rest = await answer_of(client)
    assert status == 101
    await client.write(frame(BINARY, b"\x00hello") + frame(BINARY, b"\xff\x00"))
    messages = await messages_of(client, rest)
    await serving
    assert messages[:3] == [(BINARY, b"\x01"), (BINARY, b"\x01HELLO"), (BINARY, b"\x02done")]
    assert messages[3][1][0] == channels.ERROR
    assert json.loads(messages[3][1][1:]) == exited(3)


async def test_version_4_has_no_way_to_end_stdin() -> None:
    client, server = pair(room=64)

    async def once(command: Command) -> Status:
        assert command.stdin is not None
        assert await command.stdin.read() == b"\xff\x00"  # plain bytes of channel 0, no signal
        return exited(0)

    serving = asyncio.ensure_future(channels.serve(websocket_head("v4.channel.k8s.io"), server, ALL, once))
    _, rest = await answer_of(client)
    await client.write(frame(BINARY, b"\xff\x00") + frame(BINARY, b"\x00\xff\x00"))
    messages = await messages_of(client, rest)
    await serving
    assert json.loads(messages[1][1][1:]) == {"metadata": {}, "status": "Success"}


async def test_base64_channels_are_text() -> None:
    client, server = pair(room=64)

    async def echo(command: Command) -> Status:
        assert command.stdin is not None
        assert command.stdout is not None
        await command.stdout.write(await command.stdin.read())
        return failed("no such thing")

    serving = asyncio.ensure_future(channels.serve(websocket_head("base64.channel.k8s.io"), server, ALL, echo))
    _, rest = await answer_of(client)
    await client.write(frame(TEXT, b"0!not base64!") + frame(TEXT, b"0" + base64.b64encode(b"hi")))
    messages = await messages_of(client, rest)
    await serving
    assert messages[1] == (TEXT, b"1" + base64.b64encode(b"hi"))
    assert base64.b64decode(messages[2][1][1:]) == b"Internal error occurred: no such thing"


async def test_resizes_arrive_as_json() -> None:
    client, server = pair(room=64)
    sizes: list[Any] = []

    async def look(command: Command) -> Status:
        assert command.resize is not None
        sizes.append(json.loads(await command.resize.read()))
        return exited(0)

    tty = Wanted(stdout=True, tty=True)
    serving = asyncio.ensure_future(channels.serve(websocket_head("v5.channel.k8s.io"), server, tty, look))
    _, rest = await answer_of(client)
    await client.write(frame(BINARY, b'\x04{"Width":80,"Height":24}'))
    await messages_of(client, rest)
    await serving
    assert sizes == [{"Width": 80, "Height": 24}]


async def test_spdy_streams_are_sorted_by_their_type() -> None:
    client, server = pair()
    serving = asyncio.ensure_future(
        channels.serve(spdy_head("v5.channel.k8s.io", "v4.channel.k8s.io"), server, ALL, shout)
    )
    status, _ = await answer_of(client)
    assert status == 101
    async with Session(client, server=False) as session:
        streams = await channels.open_command(session, ALL)
        await streams["stdin"].write(b"hello")
        await streams["stdin"].write_eof()
        assert await read_all(streams["stdout"]) == b"HELLO"
        assert await read_all(streams["stderr"]) == b"done"
        assert json.loads(await streams["error"].read_all(10_000)) == exited(3)
    await serving


@pytest.mark.parametrize(
    "head", [websocket_head("v5.channel.k8s.io"), spdy_head("v4.channel.k8s.io")], ids=["websocket", "spdy"]
)
async def test_a_client_that_leaves_cancels_the_command(head: RequestHead) -> None:
    client, server = pair(room=64)
    started, cancelled = asyncio.Event(), asyncio.Event()

    async def forever(command: Command) -> Status:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return exited(0)

    serving = asyncio.ensure_future(channels.serve(head, server, Wanted(stdout=True), forever))
    await answer_of(client)
    if head.upgrade != "websocket":
        session = Session(client, server=False)
        await session.__aenter__()
        await channels.open_command(session, Wanted(stdout=True))
    await started.wait()
    await client.close()
    await serving
    assert cancelled.is_set()


REFUSED = {
    "no upgrade": (RequestHead((), "POST", "/exec"), 400),
    "an unknown upgrade": (RequestHead((("Connection", "Upgrade"), ("Upgrade", "h2c")), "POST", "/"), 400),
    "no common SPDY protocol": (spdy_head("v9.k8s.io"), 403),
    "no common WebSocket protocol": (websocket_head("v9.channel.k8s.io"), 403),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_what_cannot_be_served_is_refused(case: str) -> None:
    head, expected = REFUSED[case]
    client, server = pair()
    await channels.serve(head, server, ALL, shout)
    status, _ = await answer_of(client)
    assert status == expected


def test_the_streams_are_opened_in_the_order_of_clients() -> None:
    assert Wanted(True, True, True, True).spdy_streams() == ("error", "stdin", "stdout", "stderr", "resize")
    assert Wanted(stdout=True).spdy_streams() == ("error", "stdout")
