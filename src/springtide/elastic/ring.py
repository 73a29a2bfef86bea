# SPDX-License-Identifier: Apache-2.0
"""Collectives over a ring of TCP connections: every rank sends to the right and receives from the left.

Sums go round in two laps, in pieces, so that every link carries the same and is busy all the time: after the first lap
each rank has the whole sum of one piece, after the second all have all. Sending and receiving go on at the same time,
and what has come is added while the rest is on its way.
"""

from __future__ import annotations

import contextlib
import itertools
import select
import socket
import struct
from collections.abc import Callable, Sequence
from typing import Any, Final

from springtide.elastic.groups import BrokenError, Buffer

_PIECE: Final = 1 << 20
"""Bytes that are added at a time: large enough to be worth a call, small enough to overlap with the network."""
_LENGTH: Final = struct.Struct("!Q")


def _nothing(_: int) -> None:
    pass


class Ring:
    def __init__(self, left: socket.socket, right: socket.socket, rank: int, size: int) -> None:
        self.rank, self.size = rank, size
        self._left, self._right = left, right
        for connection in (left, right):
            connection.setblocking(False)

    def allreduce(self, flat: Any) -> None:
        pieces = _divided(flat, self.size)
        spare = pieces[0].copy()  # the longest of them
        for step in range(self.size - 1):
            into = pieces[(self.rank - step - 1) % self.size]
            arrived = spare[: len(into)]
            self._exchange(_bytes(pieces[(self.rank - step) % self.size]), _bytes(arrived), _adder(into, arrived))
        for step in range(self.size - 1):
            outgoing = pieces[(self.rank + 1 - step) % self.size]
            self._exchange(_bytes(outgoing), _bytes(pieces[(self.rank - step) % self.size]))

    def allgather(self, mine: bytes) -> Sequence[bytes]:
        found: list[bytes] = [b""] * self.size
        found[self.rank] = mine
        for step in range(self.size - 1):
            found[(self.rank - step - 1) % self.size] = self._swap(found[(self.rank - step) % self.size])
        return found

    def broadcast(self, data: Buffer, root: int) -> None:
        self.pass_on(data, root, everybody=True)

    def pass_on(self, data: Buffer, source: int, *, everybody: bool) -> None:
        """Each rank passes on what has come while the rest is on its way."""
        place = (self.rank - source) % self.size
        length = self.size if everybody else self.size - source
        if place >= length:
            return
        receives, sends = place > 0, place < length - 1
        if receives and sends:
            self._relay(data)
        elif receives:
            self._exchange(memoryview(b""), data)
        elif sends:
            self._exchange(data, memoryview(b""))

    def abort(self) -> None:
        for connection in (self._left, self._right):
            with contextlib.suppress(OSError):  # it may be gone already
                connection.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._left.close()
        self._right.close()

    def _swap(self, mine: bytes) -> bytes:
        """What the left neighbour has, for what we have."""
        length = bytearray(_LENGTH.size)
        self._exchange(memoryview(_LENGTH.pack(len(mine))), memoryview(length))
        theirs = bytearray(_LENGTH.unpack(length)[0])
        self._exchange(memoryview(mine), memoryview(theirs))
        return bytes(theirs)

    def _relay(self, data: Buffer) -> None:
        for start in range(0, len(data), _PIECE):
            # The piece before goes out while this one comes in.
            before = data[max(start - _PIECE, 0) : start]
            self._exchange(before, data[start : start + _PIECE])
        last = (len(data) - 1) // _PIECE * _PIECE if data else 0
        self._exchange(data[last:], memoryview(b""))

    def _exchange(self, out: Buffer, into: Buffer, arrived: Callable[[int], None] = _nothing) -> None:
        """Send all of one and receive all of the other, in whatever order the network has it."""
        sent = received = 0
        try:
            while sent < len(out) or received < len(into):
                count = _sent(self._right, out[sent:]) if sent < len(out) else None
                sent += count or 0
                got = _received(self._left, into[received:]) if received < len(into) else None
                if got:
                    received += got
                    arrived(received)
                if not count and not got:
                    self._wait(sent < len(out), received < len(into))
        except OSError as error:
            raise BrokenError(f"lost touch with a neighbour: {error}") from error

    def _wait(self, sending: bool, receiving: bool) -> None:
        poll = select.poll()
        if sending:
            poll.register(self._right, select.POLLOUT)
        if receiving:
            poll.register(self._left, select.POLLIN)
        poll.poll()


def _sent(connection: socket.socket, data: Buffer) -> int | None:
    try:
        return connection.send(data)
    except BlockingIOError:
        return None


def _received(connection: socket.socket, into: Buffer) -> int | None:
    try:
        count = connection.recv_into(into)
    except BlockingIOError:
        return None
    if not count:
        raise ConnectionResetError("the neighbour hung up")
    return count


def _divided(flat: Any, count: int) -> list[Any]:
    """In as many pieces as there are ranks, the first ones an element longer where it does not come out even."""
    length, longer = divmod(len(flat), count)
    starts = [number * length + min(number, longer) for number in range(count + 1)]
    return [flat[start:end] for start, end in itertools.pairwise(starts)]


def _bytes(piece: Any) -> Buffer:
    return memoryview(piece).cast("B") if len(piece) else memoryview(b"")


def _adder(into: Any, arrived: Any) -> Callable[[int], None]:
    """Adds what has come since the last time, in pieces worth the while and at the end."""
    total, width, done = arrived.nbytes, arrived.itemsize, 0

    def add(received: int) -> None:
        nonlocal done
        if received - done * width < _PIECE and received < total:
            return
        whole = received // width
        into[done:whole] += arrived[done:whole]
        done = whole

    return add
