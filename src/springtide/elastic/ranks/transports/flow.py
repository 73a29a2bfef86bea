# SPDX-License-Identifier: Apache-2.0
"""Receives bytes from one neighbour while it sends bytes to the other, and processes them meanwhile.

Received bytes go to inlets, one after the other. Sent bytes come from a list of buffers, each of which may depend on an
inlet: only what that inlet has processed is sent. So a rank passes data on while the rest is in transit, and no rank
waits for a whole message.

All is done in one thread: with a second one, Python's GIL would change hands for every few hundred kilobytes.
"""

from __future__ import annotations

import select
import socket
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from springtide.elastic.groups import BrokenError, Buffer

_AT_ONCE: Final = 1 << 19
"""Bytes sent before checking for received ones, which are still in a cache then."""
_LENGTH: Final = struct.Struct("!Q")


class Inlet(Protocol):
    """A destination of received bytes."""

    size: int
    done: int
    """Bytes that have been processed."""

    def room(self) -> Buffer:
        """The buffer for the next bytes; not empty before all is done."""

    def filled(self, count: int) -> None:
        """Called with the number of received bytes."""


class Store:
    """Stores bytes unchanged."""

    def __init__(self, into: Buffer) -> None:
        self._into = into
        self.size, self.done = len(into), 0

    def room(self) -> Buffer:
        return self._into[self.done :]

    def filled(self, count: int) -> None:
        self.done += count


class Message:
    """Bytes preceded by their number."""

    def __init__(self) -> None:
        self._length, self.body = bytearray(_LENGTH.size), bytearray()
        self.size, self.done = _LENGTH.size, 0

    def room(self) -> Buffer:
        if self.done < _LENGTH.size:
            return memoryview(self._length)[self.done :]
        return memoryview(self.body)[self.done - _LENGTH.size :]

    def filled(self, count: int) -> None:
        self.done += count
        if self.done == self.size == _LENGTH.size:
            self.body = bytearray(*_LENGTH.unpack(self._length))
            self.size += len(self.body)

    @staticmethod
    def written(body: bytes) -> bytes:
        return _LENGTH.pack(len(body)) + body


class Blend:
    """Numbers that are processed piece by piece, while they are in the processor's cache."""

    def __init__(self, size: int, spare: Buffer, blend: Callable[[int, int], None]) -> None:
        self._spare, self._blend = spare, blend
        self.size, self.done = size, 0
        self._filled = 0

    def room(self) -> Buffer:
        return self._spare[self._filled : min(len(self._spare), self.size - self.done)]

    def filled(self, count: int) -> None:
        self._filled += count
        if self._filled == len(self._spare) or self.done + self._filled == self.size:
            self._blend(self.done, self.done + self._filled)
            self.done += self._filled
            self._filled = 0


@dataclass(slots=True)
class Outlet:
    data: Buffer
    after: Inlet | None = None
    """The inlet that provides the data; None if all are there."""
    sent: int = 0

    @property
    def ready(self) -> Buffer:
        end = len(self.data) if self.after is None else self.after.done
        return self.data[self.sent : min(end, self.sent + _AT_ONCE)]


class Flow:
    """Moves bytes between two neighbours, over non-blocking sockets."""

    def __init__(self, left: socket.socket, right: socket.socket) -> None:
        self._left, self._right = left, right

    def run(self, outlets: Sequence[Outlet], inlets: Sequence[Inlet]) -> None:
        """Returns when all has been sent and received. BrokenError if a neighbour is gone."""
        try:
            self._run(
                [each for each in reversed(outlets) if each.data], [each for each in reversed(inlets) if each.size]
            )
        except OSError as error:
            raise BrokenError(f"lost the connection to a neighbour: {error}") from error

    def _run(self, outlets: list[Outlet], inlets: list[Inlet]) -> None:
        while outlets or inlets:
            sent = self._send(outlets)
            received = self._receive(inlets)
            if not sent and not received:
                self._wait(sending=bool(outlets and outlets[-1].ready), receiving=bool(inlets))

    def _send(self, outlets: list[Outlet]) -> bool:
        if not outlets or not (ready := outlets[-1].ready):
            return False
        try:
            count = self._right.send(ready)
        except BlockingIOError:
            return False
        outlet = outlets[-1]
        outlet.sent += count
        if outlet.sent == len(outlet.data):
            outlets.pop()
        return True

    def _receive(self, inlets: list[Inlet]) -> bool:
        if not inlets:
            return False
        inlet = inlets[-1]
        try:
            count = self._left.recv_into(inlet.room())
        except BlockingIOError:
            return False
        if not count:
            raise ConnectionResetError("the neighbour closed the connection")
        inlet.filled(count)
        if inlet.done == inlet.size:
            inlets.pop()
        return True

    def _wait(self, *, sending: bool, receiving: bool) -> None:
        poll = select.poll()
        if sending:
            poll.register(self._right, select.POLLOUT)
        if receiving:
            poll.register(self._left, select.POLLIN)
        poll.poll()
