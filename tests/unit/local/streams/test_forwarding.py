# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import errno

import pytest
from tests.unit.local.streams.pipes import End, frame, pair, read_all

from springtide.local.streams import forwarding
from springtide.local.streams.duplex import Duplex
from springtide.local.streams.head import RequestHead, parse_response
from springtide.local.streams.session import Session, Stream
from springtide.local.streams.websocket import BINARY, Parser
from springtide.serving.framing import END

SPDY = RequestHead(
    (("Connection", "Upgrade"), ("Upgrade", "SPDY/3.1"), ("X-Stream-Protocol-Version", "portforward.k8s.io")),
    "POST",
    "/",
)


async def dial(port: int) -> Duplex:
    """Port 7 echoes, nothing listens anywhere else."""
    if port != 7:
        raise ConnectionRefusedError(errno.ECONNREFUSED, "refused")
    near, far = pair()

    async def echo() -> None:
        while data := await far.read():
            await far.write(data)
        await far.write_eof()

    echoes.append(asyncio.ensure_future(echo()))
    return near


echoes: list[asyncio.Task[None]] = []


async def answer_of(client: End) -> tuple[int, bytes]:
    data = b""
    while END not in data:
        data += await client.read()
    head, rest = data.split(END, 1)
    return parse_response(head + END).status, rest


async def connected(session: Session, port: int, request: str) -> tuple[Stream, Stream]:
    headers = {"port": str(port)} | ({"requestid": request} if request else {})
    error = await session.open(headers | {"streamtype": "error"})
    await error.write_eof()
    return error, await session.open(headers | {"streamtype": "data"})


@pytest.mark.parametrize("request_ids", [("0", "1", "2"), ("", "", "")], ids=["request ids", "old clients"])
async def test_connections_share_a_session(request_ids: tuple[str, ...]) -> None:
    client, server = pair()
    serving = asyncio.ensure_future(forwarding.serve(SPDY, server, dial, "p_default"))
    assert (await answer_of(client))[0] == 101
    async with Session(client, server=False) as session:
        pairs = [await connected(session, 7, request) for request in request_ids]
        for number, (_, data) in enumerate(pairs):
            await data.write(b"%d" % number * 100_000)
            await data.write_eof()
        for number, (error, data) in enumerate(pairs):
            assert await read_all(data) == b"%d" % number * 100_000
            assert await read_all(error) == b""
    await serving


async def test_a_port_where_nobody_listens_is_reported_and_the_session_goes_on() -> None:
    client, server = pair()
    serving = asyncio.ensure_future(forwarding.serve(SPDY, server, dial, "p_default"))
    await answer_of(client)
    async with Session(client, server=False) as session:
        error, data = await connected(session, 9, "0")
        assert await read_all(error) == b"error forwarding port 9 to pod p_default: connect: connection refused"
        assert await read_all(data) == b""
        _, data = await connected(session, 7, "1")
        await data.write(b"still here")
        await data.write_eof()
        assert await read_all(data) == b"still here"
    await serving


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"streamtype": "data"},
        {"streamtype": "data", "port": "0"},
        {"streamtype": "data", "port": "70000"},
        {"streamtype": "data", "port": "seven"},
        {"streamtype": "sideways", "port": "7"},
    ],
)
async def test_streams_that_make_no_sense_are_refused(headers: dict[str, str]) -> None:
    client, server = pair()
    serving = asyncio.ensure_future(forwarding.serve(SPDY, server, dial, "p_default"))
    await answer_of(client)
    async with Session(client, server=False) as session:
        with pytest.raises(ConnectionError):
            await session.open(headers)
    await serving


def websocket_head(protocol: str, query: str = "") -> RequestHead:
    headers = (("Connection", "Upgrade"), ("Upgrade", "websocket"), ("Sec-WebSocket-Key", "key"))
    return RequestHead((*headers, ("Sec-WebSocket-Protocol", protocol)), "GET", f"/portForward/default/p{query}")


class WebSocketClient:
    """A client's `Duplex` of SPDY in WebSocket messages."""

    def __init__(self, end: End, rest: bytes) -> None:
        self._end, self._parser = end, Parser()
        self._messages = self._parser.receive(rest)

    async def read(self) -> bytes:
        while not self._messages:
            data = await self._end.read()
            if not data:
                return b""
            self._messages = self._parser.receive(data)
        return self._messages.pop(0)[1]

    async def write(self, data: bytes) -> None:
        await self._end.write(frame(BINARY, data))

    async def write_eof(self) -> bool:
        return False

    async def close(self) -> None:
        await self._end.close()


async def test_spdy_may_come_inside_a_websocket() -> None:
    client, server = pair(room=16)
    head = websocket_head("SPDY/3.1+portforward.k8s.io")
    serving = asyncio.ensure_future(forwarding.serve(head, server, dial, "p_default"))
    status, rest = await answer_of(client)
    assert status == 101
    async with Session(WebSocketClient(client, rest), server=False) as session:
        _, data = await connected(session, 7, "0")
        await data.write(b"tunnelled")
        await data.write_eof()
        assert await read_all(data) == b"tunnelled"
    await serving


async def test_plain_channels_carry_a_pair_per_port() -> None:
    client, server = pair(room=64)
    head = websocket_head("v4.channel.k8s.io", "?port=7,9")
    serving = asyncio.ensure_future(forwarding.serve(head, server, dial, "p_default"))
    status, rest = await answer_of(client)
    assert status == 101
    socket = WebSocketClient(client, rest)
    await socket.write(b"\x00ping")
    seen = sorted([await socket.read() for _ in range(6)])
    assert seen == [
        b"\x00\x07\x00",
        b"\x00ping",
        b"\x01\x07\x00",
        b"\x02\x09\x00",
        b"\x03\x09\x00",
        b"\x03error forwarding port 9 to pod p_default: connect: connection refused",
    ]
    await client.close()
    await serving


REFUSED = {
    "no upgrade": (RequestHead((), "POST", "/"), 400),
    "another protocol": (RequestHead((("Connection", "Upgrade"), ("Upgrade", "SPDY/3.1")), "POST", "/"), 403),
    "channels without a port": (websocket_head("v4.channel.k8s.io"), 400),
    "channels with a bad port": (websocket_head("v4.channel.k8s.io", "?port=7,x"), 400),
    "an unknown WebSocket protocol": (websocket_head("v9", "?port=7"), 403),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_what_cannot_be_served_is_refused(case: str) -> None:
    head, expected = REFUSED[case]
    client, server = pair()
    await forwarding.serve(head, server, dial, "p_default")
    assert (await answer_of(client))[0] == expected
