# SPDX-License-Identifier: Apache-2.0
"""A rank's connection to the launcher: receives its messages, and applies them when the program reaches a boundary.

A thread receives and answers, because the program is busy. The program checks at its boundaries, at negligible cost
while nothing has changed.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from springtide.elastic.groups import BrokenError
from springtide.elastic.protocol import wire
from springtide.elastic.protocol.agent_messages import Beat, Bye
from springtide.elastic.protocol.rank_messages import (
    FROM_RANK,
    TO_RANK,
    At,
    Cancel,
    Finished,
    FromRank,
    Join,
    Prepare,
    Regroup,
    Switch,
    ToRank,
    Trouble,
    WriteCheckpoint,
)
from springtide.elastic.ranks.transports.connections import Connections
from springtide.elastic.shared.members import Member

_PATIENCE: Final = 10.0
_BEAT: Final = 0.5
_MOMENT: Final = 3.0
"""Seconds within which the launcher reports a death."""


class LauncherLostError(Exception):
    """The launcher is gone, so the run is over."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A generation to enter."""

    generation: int
    members: tuple[Member, ...]
    source: int
    graceful: bool
    """All members are at the same boundary, and only new ones lack the state."""
    fresh: bool = False
    hold: bool = False
    boundary: int = 0
    """The boundary at which a graceful generation is entered."""

    @classmethod
    def by_switch(cls, switch: Switch, members: tuple[Member, ...]) -> Entry:
        return cls(switch.generation, members, switch.source, graceful=True, hold=switch.hold, boundary=switch.boundary)

    @classmethod
    def by_regroup(cls, order: Regroup) -> Entry:
        return cls(order.generation, order.members, order.source, graceful=False, fresh=order.fresh, hold=order.hold)

    def place(self, id_: int) -> Member | None:
        return next((member for member in self.members if member.id == id_), None)


@dataclass(slots=True)
class _Prepared:
    generation: int
    members: tuple[Member, ...]
    entry: Entry | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """The connection's parameters, from the environment."""

    coordinators: tuple[tuple[str, int], ...]
    worker: int
    host: str
    slot: int
    secret: bytes
    beat: float = _BEAT
    interfaces: tuple[str, ...] = ()
    """Interfaces for connections from other ranks; empty for all."""

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> Place | None:
        """None without a launcher."""
        given = environment.get("TIDE_COORDINATOR")
        if not given:
            return None
        found = (each.rpartition(":") for each in given.split(","))
        return cls(
            tuple((address, int(port)) for address, _, port in found),
            int(environment["TIDE_WORKER"]),
            environment.get("TIDE_HOST", ""),
            int(environment.get("TIDE_SLOT", "0")),
            _secret(int(environment["TIDE_SECRET_FD"])),
            interfaces=tuple(filter(None, environment.get("TIDE_INTERFACES", "").split(","))),
        )


def _secret(descriptor: int) -> bytes:
    with open(descriptor, "rb") as pipe:
        return pipe.read(wire.SECRET)


class Session:
    def __init__(self, place: Place) -> None:
        self.place = place
        self.boundary = 0
        self._link = _linked(place)
        self._writing = threading.Lock()
        self._changed = threading.Condition()
        self._prepared: _Prepared | None = None
        self._regroup: Entry | None = None
        self._lost = False
        self._finished = False
        self.keep = False
        """The launcher requested a checkpoint at the next commit."""
        self.commit = -1
        """The boundary of the newest commit, for the launcher."""
        self._breaking = threading.RLock()
        self._entering = 0
        self._interrupt: tuple[int, Callable[[], None]] = (0, lambda: None)
        self.connections = Connections(place.worker, place.host, place.secret, place.interfaces)
        for target in (self._listen, self._beat):
            threading.Thread(target=target, name=f"tide-{target.__name__.strip('_')}", daemon=True).start()

    # For the program

    def on_break(self, interrupt: Callable[[], None]) -> None:
        """Sets the function that makes calls of the group entered now raise when a rank dies. The receiving thread
        calls it, unless the group has been replaced by then."""
        with self._breaking:
            self._interrupt = self._entering, interrupt

    def begin(self) -> Entry:
        """Wait for the first generation of this rank. Other ranks may wait for this one from now on, so slow
        preparation must precede the call."""
        addresses = self.connections.addresses(self._link.getsockname()[0])
        self._send(Join(tuple(addresses), os.getpid()))
        return self._wait(lambda: self._regroup or (self._prepared.entry if self._prepared else None))

    def stand(self, commit: int) -> Entry | None:
        """At the next boundary: the generation to enter here, if any. While a switch is prepared, the rank does not
        pass before it knows where to switch. BrokenError if a rank died meanwhile."""
        with self._changed:
            self.boundary += 1
            self.commit = commit
            while True:
                self._check()
                if self._prepared is None:
                    return None
                entry = self._prepared.entry
                if entry is not None:
                    return self._taken() if entry.boundary == self.boundary else None
                self._changed.wait()

    def hold(self) -> Entry:
        """Wait at this boundary until there is a generation to enter from here."""
        with self._changed:
            while True:
                self._check()
                if self._prepared is not None and self._prepared.entry is not None:
                    return self._taken()
                self._changed.wait()

    def recover(self, generation: int, commit: int, why: str) -> Entry:
        """A rank died: report it, and wait for the generation of the survivors."""
        if self._finished:
            raise LauncherLostError("a rank is gone, and only the first run of a program continues after that")
        self._send(Trouble(generation, commit, why))
        return self._wait(lambda: self._regroup)

    def superseded(self) -> bool:
        """Whether a later generation than the one being entered has been announced, or the launcher is gone."""
        return self._regroup is not None or self._lost

    def soon_superseded(self) -> bool:
        """The same, now or shortly."""
        with self._changed:
            return self._changed.wait_for(self.superseded, _MOMENT)

    def send(self, message: FromRank) -> None:
        self._finished = self._finished or isinstance(message, Finished)
        self._send(message)

    # From the launcher

    def _wait(self, found: Callable[[], Entry | None]) -> Entry:
        with self._changed:
            while True:
                if self._lost:
                    raise LauncherLostError("the launcher is gone")
                if found() is not None:
                    return self._taken()
                self._changed.wait()

    def _taken(self) -> Entry:
        entry = self._regroup or (self._prepared.entry if self._prepared else None)
        assert entry is not None
        self._entering = entry.generation
        self._regroup = self._prepared = None
        return entry

    def _check(self) -> None:
        if self._lost:
            raise LauncherLostError("the launcher is gone")
        if self._regroup is not None:
            raise BrokenError("a rank of the group is gone")

    def _listen(self) -> None:
        try:
            while True:
                message = TO_RANK.decode(wire.receive(self._link))
                if isinstance(message, Bye):
                    break
                self._hear(message)
        except (OSError, EOFError, wire.RefusedError):
            pass  # a launcher whose messages cannot be decoded counts as gone
        finally:  # also if another library's group could not be aborted: no thread receives any more
            with self._changed:
                self._lost = True
                self._changed.notify_all()
            self._break()

    def _hear(self, message: ToRank | None) -> None:
        with self._changed:
            match message:
                case Prepare(generation, members):
                    self._prepared = _Prepared(generation, members)
                    # The last boundary that was passed. Waiting for the next one could deadlock: a rank that has
                    # received this message earlier may wait for this one at the boundary just passed.
                    self._send(At(generation, self.boundary, self.commit))
                    self.connections.prepare(generation, members)
                case Cancel(generation) if self._prepared is not None and self._prepared.generation == generation:
                    self._prepared = None
                    self.connections.cancel(generation)
                case Switch(generation) if self._prepared is not None and self._prepared.generation == generation:
                    self._prepared.entry = Entry.by_switch(message, self._prepared.members)
                case WriteCheckpoint():
                    self.keep = True
                case Regroup():
                    self._regroup = Entry.by_regroup(message)
                    self._prepared = None
                    self.connections.prepare(message.generation, message.members)
            self._changed.notify_all()
        if isinstance(message, Regroup):
            self._break(before=message.generation)

    def _break(self, before: int | None = None) -> None:
        """Abort the current group if it is older than this generation."""
        self.connections.wake()
        with self._breaking:
            generation, interrupt = self._interrupt
            if before is None or generation < before:
                interrupt()

    def _beat(self) -> None:
        pause = threading.Event()
        while not self._lost:
            self._send(Beat())
            pause.wait(self.place.beat)

    def _send(self, message: FromRank) -> None:
        """Errors are ignored: the receiving thread detects a launcher that is gone."""
        with self._writing, contextlib.suppress(OSError):
            self._link.sendall(FROM_RANK.encode(message))


def _linked(place: Place) -> socket.socket:
    errors = []
    for address in place.coordinators:
        try:
            connection = socket.create_connection(address, timeout=_PATIENCE)
            wire.call(connection, wire.Caller.RANK, place.worker, place.secret)
        except (OSError, EOFError, wire.RefusedError) as error:
            errors.append(f"{address[0]}:{address[1]}: {error}")
            continue
        connection.settimeout(None)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection
    raise LauncherLostError(f"the launcher cannot be reached: {'; '.join(errors)}")
