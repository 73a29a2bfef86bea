# SPDX-License-Identifier: Apache-2.0
"""A rank's link to its launcher: what it is told, and what it may do about it at a boundary.

A thread of its own listens and answers, because the program is busy; the program asks at its boundaries, which costs it
nothing worth mentioning as long as there is no news.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from springtide.elastic.groups import BrokenError
from springtide.elastic.protocol import wire
from springtide.elastic.rank.transports.connections import Connections
from springtide.elastic.shared.members import Member

_PATIENCE: Final = 10.0
_BEAT: Final = 0.5
_MOMENT: Final = 3.0
"""Seconds in which a death is heard of."""


class LauncherLostError(Exception):
    """The launcher is gone: there is nobody left to train for."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A generation to enter."""

    generation: int
    members: tuple[Member, ...]
    source: int
    graceful: bool
    """Everybody stands at the same boundary, and only newcomers lack the state."""
    fresh: bool = False
    hold: bool = False
    boundary: int = 0
    """At which a graceful one is entered."""

    def place(self, id_: int) -> Member | None:
        return next((member for member in self.members if member.id == id_), None)


@dataclass(slots=True)
class _Prepared:
    generation: int
    members: tuple[Member, ...]
    entry: Entry | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """What a rank finds in its environment."""

    coordinators: tuple[tuple[str, int], ...]
    worker: int
    host: str
    slot: int
    secret: bytes
    beat: float = _BEAT
    interfaces: tuple[str, ...] = ()
    """Over which others are to reach us; none is any."""

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
        """The launcher wants a checkpoint at the next commit."""
        self.commit = -1
        """The boundary of the newest commit, as the launcher is to know it."""
        self._breaking = threading.RLock()
        self._entering = 0
        self._interrupt: tuple[int, Callable[[], None]] = (0, lambda: None)
        self.connections = Connections(place.worker, place.host, place.secret, place.interfaces)
        for target in (self._listen, self._beat):
            threading.Thread(target=target, name=f"tide-{target.__name__.strip('_')}", daemon=True).start()

    # What the program asks

    def on_break(self, interrupt: Callable[[], None]) -> None:
        """What makes the calls of the group that is entered now raise when somebody died; called by the listening
        thread, unless that one comes so late that there is another group."""
        with self._breaking:
            self._interrupt = self._entering, interrupt

    def begin(self) -> Entry:
        """The first generation of this rank; waits for it. Others may wait for us from now on: not before all is
        ready that takes long, whatever the program has asked meanwhile."""
        addresses = self.connections.addresses(self._link.getsockname()[0])
        self._say("join", addresses=addresses, pid=os.getpid())
        return self._wait(lambda: self._regroup or (self._prepared.entry if self._prepared else None))

    def stand(self, commit: int) -> Entry | None:
        """At the next boundary: the generation that is entered here, if one is. Where a switch is prepared it is not
        passed before it is known where that is. BrokenError when somebody died meanwhile."""
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
        """Stay at this boundary until there is a generation to enter from here."""
        with self._changed:
            while True:
                self._check()
                if self._prepared is not None and self._prepared.entry is not None:
                    return self._taken()
                self._changed.wait()

    def recover(self, generation: int, commit: int, why: str) -> Entry:
        """Somebody died: say so, and wait for those that are left."""
        if self._finished:
            raise LauncherLostError("a rank is gone, and only the first run of a program goes on after that")
        self._say("trouble", generation=generation, commit=commit, why=why)
        return self._wait(lambda: self._regroup)

    def superseded(self) -> bool:
        """Whether the generation that is being entered has been overtaken."""
        return self._regroup is not None or self._lost

    def soon_superseded(self) -> bool:
        """The same, or within a moment."""
        with self._changed:
            return self._changed.wait_for(self.superseded, _MOMENT)

    def say(self, type_: str, **words: Any) -> None:
        self._finished = self._finished or type_ == "finished"
        self._say(type_, **words)

    # What the launcher says

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
                frame = wire.receive(self._link)
                if frame.type == "bye":
                    break
                self._hear(frame.type, frame.head)
        except (OSError, EOFError, wire.RefusedError, KeyError, TypeError, ValueError):
            pass  # a launcher that says what nobody can understand is as good as gone
        finally:  # also when another library's group could not be broken: nobody would listen any more
            with self._changed:
                self._lost = True
                self._changed.notify_all()
            self._break()

    def _hear(self, type_: str, words: Mapping[str, Any]) -> None:
        with self._changed:
            match type_:
                case "prepare":
                    self._prepared = _Prepared(words["generation"], _members(words["members"]))
                    # The last boundary that was passed. To wait for the next one might be to wait for somebody who
                    # waits for us: one that heard of this earlier, and stands where we have just been.
                    self._say("at", generation=words["generation"], boundary=self.boundary, commit=self.commit)
                    self.connections.prepare(self._prepared.generation, self._prepared.members)
                case "cancel" if self._prepared is not None and self._prepared.generation == words["generation"]:
                    self._prepared = None
                    self.connections.cancel(words["generation"])
                case "switch" if self._prepared is not None and self._prepared.generation == words["generation"]:
                    self._prepared.entry = Entry(
                        words["generation"],
                        self._prepared.members,
                        words["source"],
                        graceful=True,
                        hold=words["hold"],
                        boundary=words["boundary"],
                    )
                case "keep":
                    self.keep = True
                case "regroup":
                    self._regroup = _regroup(words)
                    self._prepared = None
                    self.connections.prepare(self._regroup.generation, self._regroup.members)
            self._changed.notify_all()
        if type_ == "regroup":
            self._break(before=words["generation"])

    def _break(self, before: int | None = None) -> None:
        """The group that there is, if it is one before this generation."""
        self.connections.wake()
        with self._breaking:
            generation, interrupt = self._interrupt
            if before is None or generation < before:
                interrupt()

    def _beat(self) -> None:
        pause = threading.Event()
        while not self._lost:
            self._say("beat")
            pause.wait(self.place.beat)

    def _say(self, type_: str, **words: Any) -> None:
        """A launcher that is gone is noticed by whoever listens."""
        with self._writing, contextlib.suppress(OSError):
            self._link.sendall(wire.encode(type_, **words))


def _regroup(words: Mapping[str, Any]) -> Entry:
    return Entry(
        words["generation"],
        _members(words["members"]),
        words["source"],
        graceful=False,
        fresh=words["fresh"],
        hold=words["hold"],
    )


def _members(given: Sequence[Sequence[Any]]) -> tuple[Member, ...]:
    return tuple(
        Member(id_, rank, host, local, tuple((str(address), int(port)) for address, port in addresses))
        for id_, rank, host, local, addresses in given
    )


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
