# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest
from tests.unit.local.streams.pipes import End, pair, read_all

from springtide.local.streams import spdy
from springtide.local.streams.duplex import WINDOW
from springtide.local.streams.session import MAX_STREAMS, Session, Stream


@contextlib.asynccontextmanager
async def sessions() -> AsyncIterator[tuple[Session, Session]]:
    left, right = pair()
    async with Session(right, server=True) as server, Session(left, server=False) as client:
        yield client, server


async def opened(client: Session, server: Session) -> tuple[Stream, Stream]:
    opening = asyncio.ensure_future(client.open({"streamtype": "data"}))
    accepted = await server.accept()
    assert accepted is not None
    await accepted.reply()
    return await opening, accepted


async def test_a_stream_carries_bytes_both_ways_and_ends_each_way_by_itself() -> None:
    async with sessions() as (client, server):
        ours, theirs = await opened(client, server)
        assert theirs.headers == {"streamtype": "data"}
        await ours.write(b"question")
        await ours.write_eof()
        assert await read_all(theirs) == b"question"
        await theirs.write(b"answer")
        await theirs.write_eof()
        assert await read_all(ours) == b"answer"
        assert ours.done
        assert theirs.done


async def test_streams_do_not_mix() -> None:
    async with sessions() as (client, server):
        pairs = [await opened(client, server) for _ in range(3)]
        for number, (ours, _) in enumerate(pairs):
            await ours.write(b"%d" % number)
            await ours.write_eof()
        assert [await read_all(theirs) for _, theirs in pairs] == [b"0", b"1", b"2"]


async def test_a_reader_that_lags_stops_the_writer() -> None:
    async with sessions() as (client, server):
        ours, theirs = await opened(client, server)
        content = b"x" * (4 * WINDOW)
        writing = asyncio.ensure_future(ours.write(content))
        await asyncio.wait([writing], timeout=0.05)
        assert not writing.done()
        received = asyncio.ensure_future(theirs.read_all(len(content)))
        await writing
        assert await received == content


async def test_a_refused_stream_is_an_error_for_who_opened_it() -> None:
    async with sessions() as (client, server):
        opening = asyncio.ensure_future(client.open({}))
        accepted = await server.accept()
        assert accepted is not None
        await accepted.reset(spdy.REFUSED_STREAM)
        with pytest.raises(ConnectionError):
            await opening


async def test_a_reset_ends_both_directions() -> None:
    async with sessions() as (client, server):
        ours, theirs = await opened(client, server)
        await theirs.reset()
        assert await ours.read() == b""
        with pytest.raises(ConnectionError):
            await ours.write(b"late")


async def test_the_end_of_the_connection_ends_its_streams() -> None:
    async with sessions() as (client, server):
        ours, theirs = await opened(client, server)
        await ours.write(b"last words")
        await client.close()
        assert await read_all(theirs) == b"last words"
        assert await server.accept() is None
        await server.closed()
        with pytest.raises(ConnectionError):
            await client.open({})


async def test_closing_wakes_a_reader_that_was_never_read() -> None:
    async with sessions() as (client, server):
        ours, _ = await opened(client, server)
        writing = asyncio.ensure_future(ours.write(b"x" * (4 * WINDOW)))
        await asyncio.wait([writing], timeout=0.02)
        await server.close()
        with pytest.raises(ConnectionError):
            await writing


async def served(*frames: bytes) -> tuple[End, spdy.Framer]:
    """The raw other side of a server session that was sent these frames."""
    left, right = pair(room=64)
    session = Session(right, server=True)
    await session.__aenter__()
    for frame in frames:
        await left.write(frame)
    left.session = session  # type: ignore[attr-defined]  # keeps it alive
    return left, spdy.Framer()


async def test_pings_of_the_peer_are_answered_and_our_own_are_not() -> None:
    left, framer = await served(spdy.ping(2), spdy.ping(7))
    assert framer.receive(await left.read()) == [spdy.Ping(7)]


@pytest.mark.parametrize("stream", [2, 1])
async def test_a_stream_id_that_may_not_be_is_reset(stream: int) -> None:
    ours = spdy.Framer()
    left, framer = await served(ours.syn(1, {}), ours.syn(stream, {}))
    assert framer.receive(await left.read()) == [spdy.Reset(stream, spdy.PROTOCOL_ERROR)]


async def test_too_many_streams_are_refused() -> None:
    ours = spdy.Framer()
    many = b"".join(ours.syn(2 * number + 1, {}) for number in range(MAX_STREAMS + 1))
    left, framer = await served(many)
    assert framer.receive(await left.read()) == [spdy.Reset(2 * MAX_STREAMS + 1, spdy.REFUSED_STREAM)]


async def test_a_peer_that_does_not_speak_spdy_ends_the_connection() -> None:
    left, right = pair()
    async with Session(right, server=True) as session:
        await left.write(b"GET / HTTP/1.1\r\n\r\n" + b"\x80" * 64)
        await left.write_eof()
        assert await session.accept() is None
