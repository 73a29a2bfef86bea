# SPDX-License-Identifier: Apache-2.0
"""Bytes that come from one neighbour and go to the other, both at the same time, and what is done with them meanwhile.

What comes in goes to inlets, one after the other. What goes out is a list of buffers, each of which may wait for an
inlet: as much of it is sent as that has dealt with. So a rank passes on what has come while the rest is on its way, and
nobody waits for anybody else's whole message.

One thread does it all: with a second one, Python's lock would change hands for every few hundred kilobytes.
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
"""Bytes that are sent before it is looked whether something has come: what has is still in a cache then."""
_LENGTH: Final = struct.Struct("!Q")


class Inlet(Protocol):
    """Where bytes come in."""

    size: int
    done: int
    """Bytes that have been dealt with."""

    def room(self) -> Buffer:
        """For what comes next; not empty before all is done."""

    def filled(self, count: int) -> None:
        """So many bytes have come."""


class Store:
    """Bytes that stay as they are."""

    def __init__(self, into: Buffer) -> None:
        self._into = into
        self.size, self.done = len(into), 0

    def room(self) -> Buffer:
        return self._into[self.done :]

    def filled(self, count: int) -> None:
        self.done += count


class Message:
    """Bytes after the number of them."""

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
    """Numbers that are dealt with a piece at a time, while they are in the processor's cache."""

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
    """What the data come from; None if they are all there."""
    sent: int = 0

    @property
    def ready(self) -> Buffer:
        end = len(self.data) if self.after is None else self.after.done
        return self.data[self.sent : min(end, self.sent + _AT_ONCE)]


class Flow:
    """Between two neighbours that do not block."""

    def __init__(self, left: socket.socket, right: socket.socket) -> None:
        self._left, self._right = left, right

    def run(self, outlets: Sequence[Outlet], inlets: Sequence[Inlet]) -> None:
        """Until all has gone and all has come. BrokenError when a neighbour is gone."""
        try:
            self._run(
                [each for each in reversed(outlets) if each.data], [each for each in reversed(inlets) if each.size]
            )
        except OSError as error:
            raise BrokenError(f"lost touch with a neighbour: {error}") from error

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
            raise ConnectionResetError("the neighbour hung up")
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
