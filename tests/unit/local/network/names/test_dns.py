# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import contextlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from springtide.local.network.names import dns
from springtide.local.network.names.dns import BadMessage, Question, Record

WEB = b"\x03web\x07default\x03svc\x07cluster\x05local\x00"


def packet(
    name: bytes = WEB, kind: int = dns.A, *, flags: int = 0x100, counts: str = "1000", more: bytes = b""
) -> bytes:
    numbers = [int(count) for count in counts]
    return struct.pack("!HHHHHH", 0x1234, flags, *numbers) + name + struct.pack("!HH", kind, 1) + more


OPTION = b"\0" + struct.pack("!HHIH", dns.OPT, 4096, 0, 0)


def test_a_question_is_read_in_lower_case() -> None:
    question = dns.parse_question(packet(WEB.replace(b"web", b"WeB")))
    assert (question.identity, question.name, question.kind) == (0x1234, "web.default.svc.cluster.local", dns.A)
    assert question.recursion
    assert question.size is None


def test_the_askers_buffer_is_read_from_the_option() -> None:
    assert dns.parse_question(packet(counts="1001", more=OPTION)).size == 4096


@pytest.mark.parametrize(
    ("data", "code"),
    [
        pytest.param(b"", None, id="nothing"),
        pytest.param(b"\0" * 11, None, id="too short for a header"),
        pytest.param(packet(flags=0x8000), None, id="an answer"),
        pytest.param(packet(flags=0x2800), dns.NOT_IMPLEMENTED, id="an update"),
        pytest.param(packet(counts="2000"), dns.FORMAT_ERROR, id="two questions"),
        pytest.param(packet()[:20], dns.FORMAT_ERROR, id="cut in the name"),
        pytest.param(packet(b"\xc0\x0c"), dns.FORMAT_ERROR, id="a name that points at itself"),
        pytest.param(packet(b"\x40abc\0"), dns.FORMAT_ERROR, id="an unknown kind of label"),
        pytest.param(packet(counts="1001", more=OPTION[:5]), dns.FORMAT_ERROR, id="cut in the option"),
        pytest.param(packet()[:-2] + b"\0\3", dns.REFUSED, id="another class"),
    ],
)
def test_what_is_no_question_says_how_to_answer_it(data: bytes, code: int | None) -> None:
    with pytest.raises(BadMessage) as bad:
        dns.parse_question(data)
    assert bad.value.code == code


@given(st.binary(max_size=200) | st.binary(max_size=100).map(lambda tail: packet()[:12] + tail))
def test_no_packet_does_more_harm_than_that(data: bytes) -> None:
    with contextlib.suppress(BadMessage):
        dns.parse_question(data)
    with contextlib.suppress(BadMessage):
        dns.parse_answer(data)


def asked(more: bytes = b"", counts: str = "1000") -> Question:
    return dns.parse_question(packet(more=more, counts=counts))


def test_an_answer_repeats_the_question_and_points_back_to_its_name() -> None:
    answer = dns.answer(asked(), dns.OK, [Record("web.default.svc.cluster.local", dns.A, 5, b"\x0a\x60\x07\x01")])
    assert answer[:12] == struct.pack("!HHHHHH", 0x1234, 0x8580, 1, 1, 0, 0)
    assert answer[12:] == WEB + b"\0\1\0\1" + b"\xc0\x0c\0\1\0\1\0\0\0\5\0\4\x0a\x60\x07\x01"


def test_an_answer_too_long_for_its_asker_is_marked_and_left_out() -> None:
    records = [Record("web.default.svc.cluster.local", dns.A, 5, bytes(4))] * 40
    answer = dns.answer(asked(), dns.OK, records, limit=512)
    assert struct.unpack_from("!HHHHHH", answer) == (0x1234, 0x8780, 1, 0, 0, 0)
    assert len(dns.answer(asked(), dns.OK, records)) > 512


def test_who_sends_the_option_hears_ours() -> None:
    assert dns.answer(asked(OPTION, "1001"), dns.OK)[-11:] == b"\0" + struct.pack("!HHIH", dns.OPT, 1232, 0, 0)


def test_names_in_anothers_answer_are_written_out() -> None:
    alias = b"\xc0\x0c" + struct.pack("!HHIH", dns.CNAME, 1, 60, 6) + b"\x03www\xc0\x10"
    address = b"\x03www\xc0\x10" + struct.pack("!HHIH", dns.A, 1, 60, 4) + b"\1\2\3\4"
    head = struct.pack("!HHHHHH", 7, 0x8180, 1, 2, 0, 0) + b"\x03abc\x07example\x03com\0" + b"\0\1\0\1"
    code, (first, second) = dns.parse_answer(head + alias + address)
    assert code == dns.OK
    assert (first.name, first.data) == ("abc.example.com", b"\x03www\x07example\x03com\0")
    assert (second.name, second.data) == ("www.example.com", b"\1\2\3\4")


def test_our_own_question_can_be_read() -> None:
    question = dns.parse_question(dns.query(9, "example.com", dns.AAAA))
    assert (question.identity, question.name, question.kind, question.size) == (9, "example.com", dns.AAAA, 1232)


@pytest.mark.parametrize("name", ["a..b", "x" * 64, ".a"])
def test_what_is_no_name_is_not_sent(name: str) -> None:
    with pytest.raises(ValueError, match="not a domain name"):
        dns.encode_name(name)
