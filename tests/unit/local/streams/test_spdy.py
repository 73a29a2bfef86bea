# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import contextlib
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from springtide.local.streams import spdy
from springtide.local.streams.spdy import (
    Data,
    Framer,
    GoAway,
    MoreHeaders,
    Ping,
    Reply,
    Reset,
    Settings,
    SpdyError,
    Syn,
)


def test_the_dictionary_is_the_one_of_the_specification() -> None:
    assert len(spdy.DICTIONARY) == 1423
    assert zlib.adler32(spdy.DICTIONARY) == 0xE3C6A7C2


def control(kind: int, payload: bytes, version: int = 3) -> bytes:
    return struct.pack(">HHI", 0x8000 | version, kind, len(payload)) + payload


def conversation() -> tuple[bytes, list[spdy.Frame]]:
    """Every frame that we make, and what the other side should see."""
    ours = Framer()
    sent: list[tuple[bytes, spdy.Frame]] = [
        (ours.syn(1, {"streamtype": "error"}), Syn(1, {"streamtype": "error"})),
        (ours.syn(3, {"StreamType": "data", "Port": "80"}), Syn(3, {"streamtype": "data", "port": "80"})),
        (ours.reply(3, {}), Reply(3, {})),
        (spdy.data(3, b"hello"), Data(3, b"hello")),
        (spdy.data(3, b"", fin=True), Data(3, b"", fin=True)),
        (spdy.reset(3), Reset(3, spdy.CANCEL)),
        (spdy.ping(7), Ping(7)),
        (control(spdy.SETTINGS, struct.pack(">III", 1, 0x01000004, 100)), Settings({4: 100})),
        (control(spdy.WINDOW_UPDATE, struct.pack(">II", 3, 9)), spdy.WindowUpdate(3, 9)),
        (spdy.go_away(3), GoAway(3, 0)),
    ]
    return b"".join(data for data, _ in sent), [frame for _, frame in sent]


def merged(frames: list[spdy.Frame]) -> list[spdy.Frame]:
    """Pieces of one data frame joined again."""
    result: list[spdy.Frame] = []
    for frame in frames:
        last = result[-1] if result else None
        if isinstance(frame, Data) and frame.data and isinstance(last, Data) and not last.fin:
            result[-1] = Data(frame.stream, last.data + frame.data, frame.fin)
        else:
            result.append(frame)
    return result


def test_frames_arrive_as_they_were_sent() -> None:
    data, frames = conversation()
    assert Framer().receive(data) == frames


@given(st.lists(st.integers(1, 40), max_size=60))
def test_frames_may_arrive_in_any_pieces(cuts: list[int]) -> None:
    data, frames = conversation()
    theirs, seen = Framer(), []
    for cut in cuts:
        seen += theirs.receive(data[:cut])
        data = data[cut:]
    seen += theirs.receive(data)
    assert merged(seen) == frames


def test_header_blocks_share_one_compression_context() -> None:
    ours, theirs = Framer(), Framer()
    first, second = (ours.syn(number, {"streamtype": "error", "requestid": "0"}) for number in (1, 3))
    assert len(second) < len(first)
    assert theirs.receive(first + second)[1] == Syn(3, {"streamtype": "error", "requestid": "0"})


def test_more_headers_are_understood() -> None:
    ours = Framer()
    reply = ours.reply(5, {"a": "b"})
    headers = reply[:2] + struct.pack(">H", spdy.HEADERS) + b"\x01" + reply[5:]
    assert Framer().receive(headers) == [MoreHeaders(5, {"a": "b"}, fin=True)]


def test_a_long_data_frame_is_passed_on_before_it_is_complete() -> None:
    theirs = Framer()
    frame = spdy.data(1, b"x" * 1000, fin=True)
    assert theirs.receive(frame[:500]) == [Data(1, b"x" * 492)]
    assert theirs.receive(frame[500:]) == [Data(1, b"x" * 508, fin=True)]


def test_frames_of_an_unknown_type_are_ignored() -> None:
    assert Framer().receive(control(42, b"whatever") + spdy.ping(1)) == [Ping(1)]


def packed(plain: bytes) -> bytes:
    pack = zlib.compressobj(9, zdict=spdy.DICTIONARY)
    return pack.compress(plain) + pack.flush(zlib.Z_SYNC_FLUSH)


BAD = {
    "another version": (control(spdy.PING, b"\0\0\0\1", version=2), "version 2"),
    "HTTP": (b"\x80\x03\x00\x01\xff\xff\xff\xff", "too long"),
    "a short frame": (control(spdy.PING, b"\0"), "too short"),
    "stream zero": (control(spdy.SYN_STREAM, b"\0" * 10 + packed(b"\0\0\0\0")), "zero"),
    "data of stream zero": (struct.pack(">II", 0, 4), "without a stream"),
    "headers that do not unpack": (control(spdy.SYN_REPLY, b"\0\0\0\1nonsense"), "cannot be unpacked"),
    "a header bomb": (control(spdy.SYN_REPLY, b"\0\0\0\1" + packed(b"\0" * (8 << 20))), "headers are too long"),
    "too many headers": (control(spdy.SYN_REPLY, b"\0\0\0\1" + packed(b"\0\0\xff\xff")), "too many headers"),
    "headers cut off": (
        control(spdy.SYN_REPLY, b"\0\0\0\1" + packed(b"\0\0\0\1\0\0\0\x09a\0\0\0\0")),
        "cut off",
    ),
    "settings of a wrong length": (control(spdy.SETTINGS, struct.pack(">II", 5, 0)), "wrong length"),
}


@pytest.mark.parametrize("case", BAD)
def test_nonsense_is_refused(case: str) -> None:
    data, expected = BAD[case]
    with pytest.raises(SpdyError, match=expected):
        Framer().receive(data)


@given(st.binary(max_size=200))
def test_any_bytes_are_frames_or_an_error(data: bytes) -> None:
    with contextlib.suppress(SpdyError):
        Framer().receive(data)
