# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from springtide.local.network.loop import READ, WRITE, Loop


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    one, other = socket.socketpair()
    yield one, other
    one.close()
    other.close()


def test_timers_come_in_their_order() -> None:
    loop, seen = Loop(), list[str]()
    loop.later(0.002, loop.stop)
    loop.later(0.001, lambda: seen.append("second"))
    loop.later(0.0, lambda: seen.append("first"))
    loop.run()
    assert seen == ["first", "second"]


def test_a_callback_that_fails_is_reported_and_stops_nobody(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        raise ValueError("a bad packet")

    loop = Loop()
    loop.later(0.0, fail)
    loop.later(0.0, loop.stop)
    loop.run()
    assert "a bad packet" in capsys.readouterr().err


def test_a_source_is_watched_until_it_is_forgotten(pair: tuple[socket.socket, socket.socket]) -> None:
    loop, seen = Loop(), list[bytes]()

    def read() -> None:
        seen.append(pair[0].recv(1))
        if len(seen) == 2:
            loop.forget(pair[0])
            loop.later(0.0, loop.stop)

    loop.watch(pair[0], READ, read)
    pair[1].send(b"abc")
    loop.run()
    assert seen == [b"a", b"b"]


def test_what_is_watched_for_may_change(pair: tuple[socket.socket, socket.socket]) -> None:
    loop = Loop()
    loop.watch(pair[0], READ, lambda: pytest.fail("there is nothing to read"))
    loop.watch(pair[0], WRITE, loop.stop)
    loop.run()


def test_a_source_that_another_callback_forgot_is_not_called(pair: tuple[socket.socket, socket.socket]) -> None:
    loop, calls = Loop(), list[str]()

    def first(own: str, other: socket.socket) -> None:
        calls.append(own)
        loop.forget(other)
        loop.stop()

    loop.watch(pair[0], WRITE, lambda: first("one", pair[1]))
    loop.watch(pair[1], WRITE, lambda: first("other", pair[0]))
    loop.run()
    assert len(calls) == 1
