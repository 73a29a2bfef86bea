# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from springtide.local.streams.head import (
    BadHead,
    RequestHead,
    ResponseHead,
    parse_request,
    parse_response,
    plain_response,
    without,
)

REQUEST = b"POST /exec?command=a HTTP/1.1\r\nHost: h\r\nUpgrade: SPDY/3.1\r\nConnection: keep-alive, Upgrade\r\n\r\n"


def test_a_request_comes_out_as_it_went_in() -> None:
    head = parse_request(REQUEST)
    assert (head.method, head.target, head.get("host"), head.upgrade) == ("POST", "/exec?command=a", "h", "spdy/3.1")
    assert head.render() == REQUEST


def test_an_upgrade_needs_the_connection_header_too() -> None:
    assert RequestHead((("Upgrade", "websocket"),), "GET", "/").upgrade == ""
    assert RequestHead((("Connection", "Upgrade"),), "GET", "/").upgrade == ""


def test_repeated_and_listed_values_are_one_list() -> None:
    head = RequestHead((("P", "a, b"), ("p", "c"), ("q", "d")), "GET", "/")
    assert head.listed("P") == ["a", "b", "c"]


def test_a_response_comes_out_as_it_went_in() -> None:
    raw = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: SPDY/3.1\r\n\r\n"
    assert parse_response(raw) == ResponseHead((("Upgrade", "SPDY/3.1"),), 101, "Switching Protocols")
    assert parse_response(raw).render() == raw


def test_a_small_answer_is_complete() -> None:
    assert plain_response(403, "no") == (
        b"HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 2\r\n"
        b"Connection: close\r\n\r\nno"
    )


@pytest.mark.parametrize(
    "raw", [b"\r\n\r\n", b"GET /\r\n\r\n", b"GET / HTTP/1.1\r\nno colon\r\n\r\n", b"GET / x y\r\n\r\n"]
)
def test_what_is_no_request_is_refused(raw: bytes) -> None:
    with pytest.raises(BadHead):
        parse_request(raw)


@pytest.mark.parametrize("raw", [b"HTTP/1.1 abc\r\n\r\n", b"SPDY 101\r\n\r\n", b"HTTP/1.1 1x1 z\r\n\r\n"])
def test_what_is_no_response_is_refused(raw: bytes) -> None:
    with pytest.raises(BadHead):
        parse_response(raw)


def test_a_header_cannot_smuggle_another() -> None:
    with pytest.raises(BadHead):
        RequestHead((("A", "b\r\nC: d"),), "GET", "/").render()


def test_headers_are_dropped_whatever_their_case() -> None:
    assert without((("AUTHORIZATION", "x"), ("Accept", "y")), ["authorization"]) == (("Accept", "y"),)
