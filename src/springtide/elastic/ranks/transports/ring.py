# SPDX-License-Identifier: Apache-2.0
"""Collectives over a ring of TCP connections: every rank sends to the right and receives from the left.

Sums take two rounds of the ring, in as many pieces as there are ranks, so that every link carries the same amount and
is always busy: after the first round each rank has the whole sum of one piece, after the second all have all. A rank
starts with a piece of its own, and passes on what it receives, in the first round with its own added:

    rank 2 of 4    out    own 2    1+2    0+1+2    3+0+1+2 = sum of 3    sum of 2    sum of 1
                   in     1        0+1    3+0+1    sum of 2              sum of 1    sum of 0

Every piece is summed once, in the order of the ring, so all ranks get the same bits.
"""

from __future__ import annotations

import contextlib
import itertools
import socket
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

from springtide.elastic.groups import Buffer
from springtide.elastic.ranks.transports.flow import Blend, Flow, Inlet, Message, Outlet, Store

_PIECE: Final = 1 << 20
"""Bytes that are added at a time: large enough for an efficient call, small enough for the processor's cache."""


class Ring:
    def __init__(self, left: socket.socket, right: socket.socket, rank: int, size: int) -> None:
        self.rank, self.size = rank, size
        self._left, self._right = left, right
        for connection in (left, right):
            connection.setblocking(False)
        self._flow = Flow(left, right)
        self._spare = memoryview(bytearray(_PIECE))

    def allreduce(self, flat: Any, given: Any = None, divisor: float | None = None) -> None:
        given = flat if given is None else given
        sums, mine = _divided(flat, self.size), _divided(given, self.size)
        spare = sys.modules["numpy"].frombuffer(self._spare, dtype=flat.dtype)
        inlets: list[Inlet] = []
        for step in range(self.size - 1):
            place = (self.rank - step - 1) % self.size
            last = divisor if step == self.size - 2 else None
            inlets.append(Blend(sums[place].nbytes, self._spare, _adder(sums[place], mine[place], spare, last)))
        for step in range(self.size - 1):
            inlets.append(Store(_bytes(sums[(self.rank - step) % self.size])))
        outlets = [Outlet(_bytes(mine[self.rank]))]
        for step, inlet in enumerate(inlets[:-1]):
            outlets.append(Outlet(_bytes(sums[(self.rank - step - 1) % self.size]), inlet))
        self._flow.run(outlets, inlets)

    def allgather(self, mine: bytes) -> Sequence[bytes]:
        found: list[bytes] = [b""] * self.size
        found[self.rank] = mine
        for step in range(self.size - 1):
            found[(self.rank - step - 1) % self.size] = self._swap(found[(self.rank - step) % self.size])
        return found

    def broadcast(self, data: Buffer, root: int) -> None:
        self.pass_on(data, root, everybody=True)

    def pass_on(self, data: Buffer, source: int, *, everybody: bool) -> None:
        """Each rank passes data on while the rest is in transit."""
        place = (self.rank - source) % self.size
        length = self.size if everybody else self.size - source
        if place >= length:
            return
        inlet = Store(data) if place > 0 else None
        outlets = [Outlet(data, inlet)] if place < length - 1 else []
        self._flow.run(outlets, [inlet] if inlet is not None else [])

    def abort(self) -> None:
        for connection in (self._left, self._right):
            with contextlib.suppress(OSError):  # closed already
                connection.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._left.close()
        self._right.close()

    def _swap(self, mine: bytes) -> bytes:
        """Sends our message to the right, and returns the left neighbour's."""
        theirs = Message()
        self._flow.run([Outlet(memoryview(Message.written(mine)))], [theirs])
        return bytes(theirs.body)


def _divided(flat: Any, count: int) -> list[Any]:
    """As many pieces as there are ranks; the first ones are an element longer if the length is not a multiple."""
    length, longer = divmod(len(flat), count)
    starts = [number * length + min(number, longer) for number in range(count + 1)]
    return [flat[start:end] for start, end in itertools.pairwise(starts)]


def _bytes(piece: Any) -> Buffer:
    return memoryview(piece.view("u1"))


def _adder(into: Any, mine: Any, arrived: Any, divisor: float | None) -> Callable[[int, int], None]:
    """Adds our numbers to the received ones."""
    numpy, width = sys.modules["numpy"], arrived.itemsize

    def add(start: int, end: int) -> None:
        first, last = start // width, end // width
        part = into[first:last]
        numpy.add(mine[first:last], arrived[: last - first], out=part)
        if divisor is not None:
            numpy.divide(part, divisor, out=part)

    return add
