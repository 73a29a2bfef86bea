# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import hostile

from springtide.elastic.protocol import wire
from springtide.elastic.protocol.wire import Bond, Caller, Opening, RefusedError

KEY, OTHER = b"k" * 32, b"o" * 32


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    one, other = socket.socketpair()
    with one, other:
        yield one, other


def answered(connection: socket.socket, key: bytes) -> list[object]:
    found: list[object] = []

    def run() -> None:
        try:
            found.append(wire.answer(connection, key))
        except (RefusedError, EOFError, OSError) as error:
            found.append(error)
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    found.append(thread)
    return found


def test_two_that_know_the_secret_meet(pair: tuple[socket.socket, socket.socket]) -> None:
    caller, called = pair
    found = answered(called, KEY)
    bond = wire.call(caller, Caller.PEER, 7, KEY)
    found.pop(0).join()  # type: ignore[attr-defined]
    (opening,) = found
    assert opening == bond.opening
    assert (bond.opening.caller, bond.opening.id) == (Caller.PEER, 7)


def test_a_caller_notices_that_the_other_side_is_not_of_this_run(pair: tuple[socket.socket, socket.socket]) -> None:
    caller, called = pair
    found = answered(called, OTHER)
    with pytest.raises(RefusedError, match="does not know the secret"):
        wire.call(caller, Caller.PEER, 7, KEY)
    caller.close()
    found.pop(0).join()  # type: ignore[attr-defined]
    assert isinstance(found[0], EOFError)


def test_a_caller_that_does_not_know_the_secret_is_refused(pair: tuple[socket.socket, socket.socket]) -> None:
    caller, called = pair
    found = answered(called, KEY)
    opening = Opening.new(Caller.PEER, 7)
    caller.sendall(bytes(opening))
    reply = wire.receive_exactly(caller, wire.REPLY_SIZE)
    caller.sendall(Bond(opening, reply[:32], OTHER).proof(b"caller"))
    found.pop(0).join()  # type: ignore[attr-defined]
    assert isinstance(found[0], RefusedError)


def test_a_proof_cannot_be_sent_back(pair: tuple[socket.socket, socket.socket]) -> None:
    """Whoever is called proves first: its proof must be of no use to a caller that has none."""
    caller, called = pair
    found = answered(called, KEY)
    caller.sendall(bytes(Opening.new(Caller.PEER, 7)))
    reply = wire.receive_exactly(caller, wire.REPLY_SIZE)
    caller.sendall(reply[32:])
    found.pop(0).join()  # type: ignore[attr-defined]
    assert isinstance(found[0], RefusedError)


def test_strangers_are_no_callers() -> None:
    with pytest.raises(RefusedError, match="not part of a run"):
        Opening.read(b"GET / HTTP/1.1\r\nHost: x\r\n".ljust(wire.OPENING_SIZE, b"x"))


@given(st.binary(max_size=300))
def test_what_is_sealed_is_opened_by_the_same_bond_alone(words: bytes) -> None:
    bond = Bond(Opening.new(Caller.AGENT, 1), b"n" * 32, KEY)
    sealed = bond.seal(words)
    assert bond.unseal(sealed) == words
    assert len(words) < 8 or words not in sealed
    for other in (
        Bond(bond.opening, bond.answer, OTHER),
        Bond(bond.opening, b"m" * 32, KEY),
        Bond(Opening.new(Caller.AGENT, 1), bond.answer, KEY),
    ):
        with pytest.raises(RefusedError):
            other.unseal(sealed)


@given(st.binary(min_size=1, max_size=40), st.integers(0), st.integers(1, 255))
def test_a_seal_shows_every_change(words: bytes, place: int, change: int) -> None:
    bond = Bond(Opening.new(Caller.AGENT, 1), b"n" * 32, KEY)
    sealed = bytearray(bond.seal(words))
    sealed[place % len(sealed)] ^= change
    with pytest.raises(RefusedError, match="changed on its way"):
        bond.unseal(bytes(sealed))
    for cut in (b"", bytes(sealed[:-1])):
        with pytest.raises(RefusedError):
            bond.unseal(cut)


def test_frames_arrive_as_they_were_sent(pair: tuple[socket.socket, socket.socket]) -> None:
    one, other = pair
    one.sendall(wire.encode("output", b"\x00words", stream="out") + wire.encode("beat"))
    frame = wire.receive(other)
    assert (frame.type, frame.head["stream"], bytes(frame.payload)) == ("output", "out", b"\x00words")
    assert wire.receive(other).type == "beat"
    one.close()
    with pytest.raises(EOFError):
        wire.receive(other)


def test_a_frame_of_absurd_size_is_no_frame() -> None:
    with pytest.raises(RefusedError):
        wire.sizes(b"\xff" * 12)


@pytest.mark.parametrize("words", hostile.LINES.values(), ids=list(hostile.LINES))
def test_what_begins_with_no_words_is_no_frame(words: bytes) -> None:
    with suppress(RefusedError):
        (frame,) = wire.decode(bytearray(len(words).to_bytes(4, "big") + bytes(8) + words))
        assert isinstance(frame.head, dict)


async def test_a_launcher_answers_those_it_waits_for() -> None:
    async def key_of(opening: Opening) -> bytes | None:
        return KEY if opening.id == 3 else None

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        bond = await wire.answer_stream(reader, writer, key_of)
        frame = await wire.receive_stream(reader)
        writer.write(wire.encode("welcome", bond.seal(b"s" * 32), to=frame.head["id"]))
        writer.close()

    def call(port: int) -> tuple[object, bytes]:
        with socket.create_connection(("127.0.0.1", port)) as connection:
            bond = wire.call(connection, Caller.AGENT, 3, KEY)
            connection.sendall(wire.encode("hello", id=3))
            frame = wire.receive(connection)
            return frame.head["to"], bond.unseal(bytes(frame.payload))

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        assert await asyncio.to_thread(call, port) == (3, b"s" * 32)


@given(st.lists(st.binary(max_size=40), max_size=5), st.lists(st.integers(1, 30)))
def test_frames_are_the_same_however_they_come(payloads: list[bytes], cuts: list[int]) -> None:
    data = b"".join(wire.encode("word", payload, number=number) for number, payload in enumerate(payloads))
    come, found = bytearray(), []
    for cut in [*cuts, len(data)]:
        come += data[:cut]
        data = data[cut:]
        found += list(wire.decode(come))
    assert [bytes(frame.payload) for frame in found] == payloads
    assert [frame.head["number"] for frame in found] == list(range(len(payloads)))
    assert not come
