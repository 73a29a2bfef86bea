# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import socket
from collections.abc import Iterator

import pytest

from springtide.local.network import messages
from springtide.local.network.messages import Incoming


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    one, other = socket.socketpair()
    yield one, other
    one.close()
    other.close()


Pair = tuple[socket.socket, socket.socket]


def test_a_message_comes_whole_however_it_was_cut(pair: Pair) -> None:
    incoming = Incoming(pair[1])
    for piece in (b'{"do":', b'"info"}\n{"do":"e', b'nd"}\n'):
        pair[0].send(piece)
        incoming.read()
    assert incoming.take() == ({"do": "info"}, [])
    assert incoming.take() == ({"do": "end"}, [])
    assert incoming.take() is None


def test_descriptors_ride_along(pair: Pair) -> None:
    read, write = os.pipe()
    messages.send(pair[0], {"do": "attach"}, [write])
    incoming = Incoming(pair[1])
    assert incoming.read()
    taken = incoming.take()
    assert taken is not None
    (copy,) = taken[1]
    os.write(copy, b"x")
    assert os.read(read, 1) == b"x"
    messages.close_all([read, write, copy])


@pytest.mark.parametrize("line", [b"nonsense\n", b"[1]\n", b"\xff\n"])
def test_what_is_no_message_is_refused(pair: Pair, line: bytes) -> None:
    pair[0].send(line)
    incoming = Incoming(pair[1])
    incoming.read()
    with pytest.raises(ValueError):  # noqa: PT011 - the words are the decoder's
        incoming.take()


def test_the_end_of_the_stream_is_told(pair: Pair) -> None:
    pair[0].close()
    assert not Incoming(pair[1]).read()
