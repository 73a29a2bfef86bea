# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from springtide.serving.framing import CHUNKED, END, BadRequest, Chunks, check_partial, inspected, is_whole_request


def head(*lines: str, first: str = "POST /x HTTP/1.1") -> bytes:
    return "\r\n".join((first, "Host: h", *lines, "", "")).encode("latin-1")


@pytest.mark.parametrize(
    ("lines", "length"),
    [
        ((), 0),
        (("Content-Length: 0",), 0),
        (("content-length:17",), 17),
        (("Transfer-Encoding: chunked",), CHUNKED),
        (("TRANSFER-ENCODING:  Chunked ",), CHUNKED),
        (("X: content-length: 5",), 0),
    ],
)
def test_a_good_head_says_how_long_its_body_is(lines: tuple[str, ...], length: int) -> None:
    assert inspected(head(*lines)) == (length, False)


@pytest.mark.parametrize("line", ["Upgrade: websocket", "UPGRADE:x"])
def test_an_upgrade_is_seen(line: str) -> None:
    assert inspected(head("Content-Length: 7", line)) == (7, True)
    assert inspected(head("X: upgrade", "Connection: Upgrade")) == (0, False)


@pytest.mark.parametrize(
    "lines",
    [
        ("Content-Length: 5", "Transfer-Encoding: chunked"),
        ("Content-Length: 5", "Content-Length: 5"),
        ("Content-Length: 5", "Content-Length: 6"),
        ("Content-Length: 5, 5",),
        ("Content-Length: +5",),
        ("Content-Length: -5",),
        ("Content-Length: 0x5",),
        ("Content-Length: 5_0",),
        ("Content-Length: \u00b2",),
        ("Content-Length:",),
        ("Content-Length: " + "9" * 400,),
        ("Content-Length : 5",),
        (" Content-Length: 5",),
        ("Content-Length\x00: 5",),
        ("X: a", " Content-Length: 5"),
        ("X: a", "\tb"),
        ("Transfer-Encoding: chunked", "Transfer-Encoding: identity"),
        ("Transfer-Encoding: chunked, identity",),
        ("Transfer-Encoding: xchunked",),
        ("Transfer-Encoding: gzip, chunked",),
        ("Transfer-Encoding:\x0bchunked",),
        ("X: a\nContent-Length: 5",),
        ("X: a\rContent-Length: 5",),
    ],
)
def test_a_head_in_doubt_is_refused(lines: tuple[str, ...]) -> None:
    with pytest.raises(BadRequest):
        inspected(head(*lines))


@pytest.mark.parametrize(
    "first",
    [
        "GET /",
        "GET  / HTTP/1.1",
        "GET / HTTP/1.1 ",
        "GET /a b HTTP/1.1",
        "GET /\x00 HTTP/1.1",
        "GET / HTTP/2.0",
        "GET / HTTP/11",
        "G(T / HTTP/1.1",
        " GET / HTTP/1.1",
        "CONNECT h:1 HTTP/1.1",
        "",
    ],
)
def test_a_malformed_request_line_is_refused(first: str) -> None:
    with pytest.raises(BadRequest):
        inspected(head(first=first))


def test_the_encoding_of_an_old_client_is_refused() -> None:
    with pytest.raises(BadRequest):
        inspected(head("Transfer-Encoding: chunked", first="POST / HTTP/1.0"))


def test_lines_that_end_without_a_return_are_refused_before_the_head_is_complete() -> None:
    with pytest.raises(BadRequest):
        check_partial(bytearray(b"GET / HTTP/1.1\nHost: h\n\n"), 0)
    check_partial(bytearray(b"GET / HTTP/1.1\r\nHost: h\r\n"), 0)


@pytest.mark.parametrize(
    ("request_", "is_whole"),
    [
        (head(), True),
        (head("Content-Length: 0"), True),
        (head("Content-Length: 2", "Accept: */*") + b"{}", True),
        (head("Content-Length: 2") + b"{", False),
        (head("Content-Length: 2") + b"{}G", False),
        (head() + b"GET / HTTP/1.1\r\n", False),
        (head()[:-1], False),
        (b"\r\n" + head(), False),
        (head(first="POST / HTTP/1.0"), False),
        (head("Content-Length: 2", "Content-Length: 2") + b"{}", False),
        (head("Content-Length: 2", "Transfer-Encoding: chunked") + b"{}", False),
        (head("transfer-Encoding: chunked"), False),
        (head("Upgrade: websocket"), False),
        (head("X: a\nContent-Length: 5"), False),
        (head("X: a\rContent-Length: 5"), False),
        (head("X: a", "\tb"), False),
    ],
)
def test_a_request_that_came_whole_is_recognised(request_: bytes, is_whole: bool) -> None:
    assert is_whole_request(request_) is is_whole


_REQUESTS = [head(), head("Accept: */*"), head("Content-Length: 2") + b"{}", head("Content-Length: 0", "Accept: */*")]
_NOISE = st.text("aZ05-:,/ \t\r\n\0\x7fé", max_size=3) | st.sampled_from(
    ["Content-Length: 2\r\n", "content-length:2\r\n", "Transfer-Encoding: chunked\r\n", "Upgrade: x\r\n"]
)


@given(st.sampled_from(_REQUESTS), st.integers(0, 70), _NOISE)
def test_what_is_recognised_as_whole_is_accepted_with_the_same_length(request_: bytes, at: int, noise: str) -> None:
    data = request_[:at] + noise.encode("latin-1") + request_[at:]
    if is_whole_request(data):
        end = data.index(END) + len(END)
        assert inspected(data[:end]) == (len(data) - end, False)


@pytest.mark.parametrize("field", [b"a:\r\n", b"Content-Length: 1\r\n", b"\r\n", b"a"])
def test_a_long_head_without_end_is_read_once(field: bytes) -> None:
    assert not is_whole_request(b"GET / HTTP/1.1\r\n" + field * 200_000)


CHUNKS = b"5\r\nhello\r\n10\r\n0123456789abcdef\r\n0\r\n\r\n"


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_a_chunked_body_ends_where_it_ends_however_it_comes(size: int) -> None:
    chunks, data, at = Chunks(), CHUNKS + b"GET / HTTP/1.1", 0
    while True:
        piece = data[at : at + size]
        used, complete = chunks.scan(piece)
        at += used
        if complete:
            break
        assert used == len(piece)
    assert at == len(CHUNKS)


@pytest.mark.parametrize(
    "body",
    [
        b"5;name=value\r\nhello\r\n0\r\n\r\n",
        b"5\nhello\r\n0\r\n\r\n",
        b"5\r\nhello0\r\n\r\n",
        b"5\r\nhello\n0\r\n\r\n",
        b"0x5\r\nhello\r\n0\r\n\r\n",
        b"-5\r\nhello\r\n0\r\n\r\n",
        b" 5\r\nhello\r\n0\r\n\r\n",
        b"\r\n",
        b"ffffffffffffffffff\r\n",
        b"0\r\nTrailer: x\r\n\r\n",
        b"0\r\n\n",
        b"g\r\n",
    ],
)
def test_a_malformed_chunk_is_refused(body: bytes) -> None:
    with pytest.raises(BadRequest):
        Chunks().scan(body)
