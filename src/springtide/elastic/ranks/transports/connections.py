# SPDX-License-Identifier: Apache-2.0
"""Data connections among ranks: a listener, and for each generation the connections to both neighbours.

Connections are made in the background, while the old group trains, as soon as a generation is prepared, and are ready
when the rank reaches the boundary. Every rank connects to its right neighbour and accepts its left one.

A neighbour whose host accepts no connection is reported to the launcher after a while: the launcher is connected to
both ranks, and decides which one is removed. A neighbour that accepts and does not answer is busy. Keep-alive probes
detect a broken network between two ranks.

With --network-interface ranks listen on those interfaces only. Callers have a few seconds to authenticate, and the
number of unauthenticated ones is limited.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from springtide.elastic.protocol import wire
from springtide.elastic.protocol.rank_messages import AMONG_RANKS, Hello, Here
from springtide.elastic.shared import addresses, listeners
from springtide.elastic.shared.addresses import LOOPBACK
from springtide.elastic.shared.members import Address, Member
from springtide.elastic.shared.unauthenticated import Unauthenticated

_PATIENCE: Final = 5.0
"""Seconds for one attempt to reach one address."""
_MOST: Final = 64
"""The limit of callers that have not authenticated."""
_PAUSE: Final = 0.2
_UNREACHABLE: Final = 10.0
"""Seconds without a connection to a neighbour, after which it is reported."""
_ALIVE: Final = ((socket.TCP_KEEPIDLE, 5), (socket.TCP_KEEPINTVL, 2), (socket.TCP_KEEPCNT, 3))
"""Keep-alive: seconds of silence before the first probe, seconds between two, and probes without an answer."""
_BUFFER: Final = 4 << 20


@dataclass(frozen=True, slots=True)
class Way:
    """A connection to another rank, for one generation."""

    generation: int
    to: int


class Connections:
    def __init__(self, id_: int, host: str, secret: bytes, interfaces: Sequence[str] = ()) -> None:
        self._id, self._host, self._secret, self._interfaces = id_, host, secret, interfaces
        self._listeners = listeners.at(_named(interfaces), _MOST) if interfaces else listeners.everywhere(_MOST)
        self._changed = threading.Condition()
        self._unauthenticated: Unauthenticated[socket.socket] = Unauthenticated()
        self._called: dict[Way, socket.socket] = {}
        self._calling: dict[Way, socket.socket] = {}
        self._oldest = 0
        """Earlier generations are over: their connections are closed."""
        self._cancelled: set[int] = set()
        """Prepared generations that are not entered."""
        self._closed = False
        self.on_unreachable: Callable[[int, int], None] = lambda _generation, _id: None
        """Called with a generation, and a member of it that cannot be reached."""
        for listener in self._listeners:
            threading.Thread(target=self._answer, args=(listener,), name="tide-listener", daemon=True).start()

    def addresses(self, link: str) -> list[Address]:
        """Addresses of the listener, the likeliest first: that of the connection to the launcher, or those of
        --network-interface."""
        port = self._listeners[0].getsockname()[1]
        if self._interfaces:
            return [(listener.getsockname()[0], port) for listener in self._listeners]
        mine = [each for each in addresses.own() if ":" not in each or self._listeners[0].family == socket.AF_INET6]
        return [(address, port) for address in dict.fromkeys((link, *mine, LOOPBACK))]

    def prepare(self, generation: int, members: Sequence[Member]) -> None:
        """Begin to connect for a generation; returns at once."""
        mine = _place(members, self._id)
        if mine is None or len(members) < 2:
            return
        right = members[(mine + 1) % len(members)]
        name = f"tide-generation-{generation}"
        threading.Thread(target=self._call, args=(generation, right), name=name, daemon=True).start()

    def neighbours(
        self, generation: int, members: Sequence[Member], given_up: Callable[[], bool]
    ) -> tuple[socket.socket, socket.socket] | None:
        """The connections to the left and to the right; waits for them until `given_up` says not to."""
        mine = _place(members, self._id)
        assert mine is not None  # a rank enters only generations that it is a member of
        left = Way(generation, members[mine - 1].id)
        right = Way(generation, members[(mine + 1) % len(members)].id)
        with self._changed:
            while not (left in self._called and right in self._calling):
                if given_up():
                    return None
                self._changed.wait(_PAUSE)
            return self._called[left], self._calling[right]

    def inodes(self) -> set[int]:
        """Inode numbers of all sockets here."""
        with self._changed:
            ours = [*self._listeners, *self._called.values(), *self._calling.values()]
            return {os.fstat(each.fileno()).st_ino for each in ours if each.fileno() >= 0}

    def forget(self, before: int) -> None:
        """Generations before this one are over."""
        with self._changed:
            self._oldest = max(self._oldest, before)
            self._cancelled = {each for each in self._cancelled if each >= before}
            self._hang_up()

    def cancel(self, generation: int) -> None:
        """A prepared generation is not entered."""
        with self._changed:
            self._cancelled.add(generation)
            self._hang_up()

    def _hang_up(self) -> None:
        for ways in (self._called, self._calling):
            for way in [each for each in ways if self._over(each.generation)]:
                ways.pop(way).close()
        self._changed.notify_all()

    def _over(self, generation: int) -> bool:
        return self._closed or generation < self._oldest or generation in self._cancelled

    def wake(self) -> None:
        """Make a thread that waits for neighbours call `given_up` again."""
        with self._changed:
            self._changed.notify_all()

    def close(self) -> None:
        self._closed = True
        for listener in self._listeners:
            with contextlib.suppress(OSError):  # closed already
                listener.shutdown(socket.SHUT_RDWR)  # a thread in accept() would keep it open otherwise
            listener.close()

    def _answer(self, listener: socket.socket) -> None:
        while not self._closed:
            try:
                connection, _ = listener.accept()
            except OSError:
                time.sleep(_PAUSE)  # until there are file descriptors again
                continue
            with self._changed:
                turned_away = self._unauthenticated.add(connection, _MOST)
            for each in turned_away:
                with contextlib.suppress(OSError):  # the thread that reads from it closes it
                    each.shutdown(socket.SHUT_RDWR)
            threading.Thread(target=self._accept, args=(connection,), name="tide-caller", daemon=True).start()

    def _accept(self, connection: socket.socket) -> None:
        until = time.monotonic() + _PATIENCE
        try:
            opening = wire.answer(connection, self._secret, until)
            hello = AMONG_RANKS.decode(wire.receive(connection, until))
            if not isinstance(hello, Hello) or hello.to != self._id:
                raise wire.RefusedError("another rank was meant")
            connection.sendall(AMONG_RANKS.encode(Here()))
        except (OSError, EOFError, ValueError, wire.RefusedError):
            connection.close()
            return
        finally:
            with self._changed:
                self._unauthenticated.remove(connection)
        self._keep(self._called, Way(hello.generation, opening.id), connection)

    def _call(self, generation: int, member: Member) -> None:
        way, since, told = Way(generation, member.id), time.monotonic(), False
        while not self._over(generation):
            for address in self.likely(member):
                try:
                    connection = socket.create_connection(address, timeout=_PATIENCE)
                except OSError:
                    continue
                since = time.monotonic()
                if self._welcomed(connection, generation, member.id):
                    self._keep(self._calling, way, connection)
                    return
            if not told and time.monotonic() - since > _UNREACHABLE:
                told = True
                self.on_unreachable(generation, member.id)
            with self._changed:
                self._changed.wait(_PAUSE)

    def likely(self, member: Member) -> Iterable[Address]:
        """The likeliest addresses of another rank. A loopback address of another host would lead back to this one."""
        if member.host == self._host:
            return sorted(member.addresses, key=lambda each: not _loopback(each))
        away = [each for each in member.addresses if not _loopback(each)]
        return away or member.addresses

    def _welcomed(self, connection: socket.socket, generation: int, to: int) -> bool:
        try:
            wire.call(connection, wire.Caller.PEER, self._id, self._secret)
            connection.sendall(AMONG_RANKS.encode(Hello(generation, to)))
            wire.receive(connection)
        except (OSError, EOFError, ValueError, wire.RefusedError):
            connection.close()
            return False
        return True

    def _keep(self, ways: dict[Way, socket.socket], way: Way, connection: socket.socket) -> None:
        for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            connection.setsockopt(socket.SOL_SOCKET, option, _BUFFER)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in _ALIVE:
            connection.setsockopt(socket.IPPROTO_TCP, option, value)
        connection.settimeout(None)
        with self._changed:
            if self._over(way.generation):
                connection.close()
                return
            if (before := ways.get(way)) is not None:
                before.close()
            ways[way] = connection
            self._changed.notify_all()


def _loopback(address: Address) -> bool:
    return addresses.is_loopback(address[0])


def _named(interfaces: Sequence[str]) -> list[str]:
    """The addresses of interfaces, and the loopback address for ranks on the same host."""
    found = addresses.own(interfaces)
    if not found:
        raise OSError(f"--network-interface: {' and '.join(interfaces)} has no address on this host")
    return list(dict.fromkeys((*found, LOOPBACK)))


def _place(members: Sequence[Member], id_: int) -> int | None:
    return next((number for number, member in enumerate(members) if member.id == id_), None)
