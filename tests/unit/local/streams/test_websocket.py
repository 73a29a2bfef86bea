# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.local.streams.pipes import frame, pair, read_all

from springtide.local.streams.head import RequestHead, parse_response
from springtide.local.streams.websocket import (
    BINARY,
    CLOSE,
    MAX_MESSAGE,
    PING,
    PONG,
    TEXT,
    Parser,
    Tunnel,
    WebSocket,
    WebSocketError,
    encode,
    masked,
    switching,
)


def test_the_handshake_of_the_specification() -> None:
    head = RequestHead((("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),), "GET", "/")
    answer = parse_response(switching(head, "v5.channel.k8s.io"))
    assert answer.status == 101
    assert answer.get("Sec-WebSocket-Accept") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
    assert answer.get("Sec-WebSocket-Protocol") == "v5.channel.k8s.io"


@given(st.binary(max_size=100), st.binary(min_size=4, max_size=4))
def test_masking_twice_gives_the_original(data: bytes, mask: bytes) -> None:
    once = masked(data, mask)
    assert masked(once, mask) == data
    assert once == bytes(byte ^ mask[index % 4] for index, byte in enumerate(data))


@pytest.mark.parametrize("size", [0, 1, 125, 126, 65535, 65536, 200_000])
def test_messages_of_every_length_arrive(size: int) -> None:
    payload = b"x" * size
    assert Parser().receive(frame(BINARY, payload)) == [(BINARY, payload)]
    assert Parser().receive(encode(BINARY, payload)) == [(BINARY, payload)]


@given(st.lists(st.integers(1, 20), max_size=30))
def test_messages_may_arrive_in_any_pieces(cuts: list[int]) -> None:
    data = (
        frame(TEXT, b"one") + frame(BINARY, b"tw", fin=False) + frame(PING, b"!") + frame(0, b"o") + frame(CLOSE, b"")
    )
    parser, seen = Parser(), []
    for cut in cuts:
        seen += parser.receive(data[:cut])
        data = data[cut:]
    seen += parser.receive(data)
    assert seen == [(TEXT, b"one"), (PING, b"!"), (BINARY, b"two"), (CLOSE, b"")]


BAD = {
    "reserved bits": b"\xf2\x80mask",
    "a continuation of nothing": frame(0, b"x"),
    "a message inside a message": frame(TEXT, b"x", fin=False) + frame(TEXT, b"y"),
    "a fragmented ping": frame(PING, b"x", fin=False),
    "a long ping": frame(PING, b"x" * 126),
    "a fragmented close": frame(CLOSE, b"", fin=False),
    "an unknown opcode": frame(3, b"x"),
    "an unknown control opcode": frame(11, b"x"),
    "a giant in pieces": frame(BINARY, b"x" * MAX_MESSAGE, fin=False) + frame(0, b"x"),
    "a giant": struct.pack(">BBQ", 0x82, 0xFF, MAX_MESSAGE + 1),
}


@pytest.mark.parametrize("case", BAD)
async def test_a_peer_that_breaks_the_protocol_is_told_and_left(case: str) -> None:
    with pytest.raises(WebSocketError):
        Parser().receive(BAD[case])
    left, right = pair()
    await left.write(BAD[case])
    assert await WebSocket(right).receive() is None
    opcode, payload = Parser().receive(await left.read())[0]
    assert (opcode, payload[:2]) == (CLOSE, struct.pack(">H", 1002))


async def test_a_clients_frame_without_a_mask_is_refused() -> None:
    left, right = pair()
    await left.write(encode(BINARY, b"x"))
    assert await WebSocket(right).receive() is None
    assert Parser().receive(await left.read())[0][1][:2] == struct.pack(">H", 1002)


def test_fragments_without_end_take_no_memory_and_no_time() -> None:
    parser = Parser()
    parser.receive(frame(BINARY, b"", fin=False))
    empty = frame(0, b"", fin=False) * 10_000
    for _ in range(20):
        assert parser.receive(empty) == []
    assert parser.receive(frame(0, b"x")) == [(BINARY, b"x")]


async def test_pings_are_answered_and_a_close_is_returned() -> None:
    left, right = pair()
    socket = WebSocket(right)
    await left.write(frame(PING, b"are you there") + frame(BINARY, b"data") + frame(CLOSE, struct.pack(">H", 1000)))
    assert await socket.receive() == b"data"
    assert await socket.receive() is None
    assert Parser().receive(await left.read() + await left.read()) == [
        (PONG, b"are you there"),
        (CLOSE, struct.pack(">H", 1000)),
    ]
    with pytest.raises(ConnectionError):
        await socket.send(b"late")


async def test_a_tunnel_carries_bytes_in_binary_messages() -> None:
    left, right = pair()
    tunnel = Tunnel(WebSocket(right))
    await left.write(frame(BINARY, b"") + frame(BINARY, b"some ") + frame(BINARY, b"bytes") + frame(CLOSE, b""))
    assert await read_all(tunnel) == b"some bytes"
    assert Parser().receive(await left.read()) == [(CLOSE, b"")]


async def test_closing_waits_for_the_peer_to_hang_up() -> None:
    left, right = pair()
    closing = asyncio.ensure_future(WebSocket(right).close())
    assert Parser().receive(await left.read()) == [(CLOSE, struct.pack(">H", 1000))]
    await left.close()
    await closing
    assert right.closed
