# SPDX-License-Identifier: Apache-2.0
"""This process's place among the ranks: group, generation, hosts. One context per process.

Without a launcher the group has one rank. Under `tiderun` the process belongs to a generation once it trains; before
that it gets the numbers that its launcher expects, to choose a GPU or a learning rate by. Under `mpirun` the context
joins the only generation when it is first used.
"""

from __future__ import annotations

import functools
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from springtide.elastic.groups import BrokenError, Group, Solo
from springtide.elastic.protocol.rank_messages import Unreachable
from springtide.elastic.ranks.session import Entry, Place, Session
from springtide.elastic.ranks.transports import mpi
from springtide.elastic.ranks.transports.ring import Ring

if TYPE_CHECKING:
    from springtide.elastic.shared.members import Member

Resized = Callable[[int, int], None]
"""Called with the number of ranks that the state was made with, and the current number."""


class Attachment(Protocol):
    """The group of another library, which lasts for one generation."""

    def settle(self) -> None:
        """Wait until all ranks have done all pending operations. BrokenError if results may be wrong."""

    def abort(self) -> None:
        """Makes calls under way raise. May be called from any thread."""

    def close(self) -> None: ...


class Context:
    def __init__(self, place: Place | None) -> None:
        self.session = _session(place) if place is not None else None
        self.group: Group = Solo()
        self.generation = 0
        self.members: tuple[Member, ...] = ()
        self.local_rank = 0
        self.local_size = 1
        self.host = place.host if place else "localhost"
        self.hosts: tuple[str, ...] = (self.host,)
        self.reported: int | None = None
        """The step that was last reported."""
        self.on_resize: list[Resized] = []
        self.build: Callable[[Session, Entry], Group] = ring
        self.attachments: list[Attachment] = []
        self.attach: Callable[[Context], object] | None = None
        """Creates an attachment in every generation."""

    @property
    def rank(self) -> int:
        return self.group.rank

    @property
    def size(self) -> int:
        return self.group.size

    def enter(self, entry: Entry) -> None:
        """Leave the old group for a new one. BrokenError if a later generation is announced before the group is
        complete."""
        assert self.session is not None
        self.detach()
        self.group.close()
        self.session.connections.forget(entry.generation)
        self.group = Solo() if len(entry.members) == 1 else self.build(self.session, entry)
        self.session.on_break(functools.partial(self._abort, self.group))
        if self.session.superseded():
            raise BrokenError("a later generation came before the group was complete")
        mine = entry.place(self.session.place.worker)
        assert mine is not None
        self.generation, self.members = entry.generation, entry.members
        self._note_hosts(mine, entry.members)
        if self.attach is not None:
            self.attach(self)

    def join(self, group: Group, world: mpi.World) -> None:
        """Enter the only generation of a group that never changes."""
        names = [name.decode() for name in group.allgather(socket.gethostname().encode())]
        self.group, self.generation = group, 1
        self.local_rank, self.local_size = world.local_rank, world.local_size
        self.host, self.hosts = names[group.rank], tuple(dict.fromkeys(names))

    def settle(self) -> None:
        """Called before state is saved or sent. Springtide's own groups have no pending operations."""
        for each in self.attachments:
            each.settle()

    def detach(self) -> None:
        while self.attachments:
            self.attachments.pop().close()

    def lost_touch(self) -> bool:
        """Whether the group is broken, which another library's exceptions do not tell. May wait briefly for the
        launcher's message."""
        return bool(self.attachments) and self.session is not None and self.session.soon_superseded()

    def _abort(self, group: Group) -> None:
        group.abort()
        for each in tuple(self.attachments):
            each.abort()

    def _note_hosts(self, mine: Member, members: tuple[Member, ...]) -> None:
        self.local_rank = mine.local_rank
        self.local_size = sum(member.host == mine.host for member in members)
        self.hosts = tuple(dict.fromkeys(member.host for member in members))


def _session(place: Place) -> Session:
    session = Session(place)
    session.connections.on_unreachable = lambda generation, id_: session.send(Unreachable(generation, id_))
    return session


def ring(session: Session, entry: Entry) -> Group:
    mine = entry.place(session.place.worker)
    ways = session.connections.neighbours(entry.generation, entry.members, session.superseded)
    if ways is None or mine is None:
        raise BrokenError("a later generation came before the group was complete")
    return Ring(*ways, mine.rank, len(entry.members))


@dataclass(frozen=True, slots=True)
class Expected:
    """The numbers that a launcher expects for a process that does not train yet."""

    rank: int = 0
    size: int = 1
    local_rank: int = 0
    """Its slot, which is also the index of its GPU."""
    local_size: int = 1


_OURS_ALONE: Final = ("TIDE_COORDINATOR", "TIDE_SECRET_FD")
"""Variables for this process only: a child process, for instance a data loader, is a group of one."""
_current: Context | None = None
_told: int | None = None


def current() -> Context:
    """The context, created by the first call, which connects to the launcher."""
    global _current  # noqa: PLW0603 - one per process, as there is one launcher
    if _current is None:
        place = Place.read(os.environ)
        _current = Context(place)
        for name in _OURS_ALONE:
            os.environ.pop(name, None)
        if place is None and (world := mpi.found(os.environ)) is not None:
            _current.join(mpi.joined(), world)
            os.environ[mpi.JOINED] = "1"
    return _current


def entered() -> Context | None:
    """The context, once it belongs to a generation. Does not connect to the launcher."""
    return _current if _current is not None and _current.generation else None


def group() -> Group:
    """The group for collectives."""
    now = current()
    if now.session is not None and not now.generation:
        raise RuntimeError("collective operations need ranks that train: call them in a function under elastic.run")
    return now.group


def expected() -> Expected:
    """The expected numbers. The rank is a guess; ranks are known when training begins."""
    if not (_current.session if _current is not None else os.environ.get("TIDE_COORDINATOR")):
        world = mpi.found(os.environ)
        return Expected() if world is None else Expected(world.rank, world.size, world.local_rank, world.local_size)
    size = int(os.environ.get("TIDE_SIZE", "1"))
    slot, local = int(os.environ.get("TIDE_SLOT", "0")), int(os.environ.get("TIDE_LOCAL_SIZE", "1"))
    return Expected(min(int(os.environ.get("TIDE_WORKER", "0")), size - 1), size, slot, local)


def expected_size() -> int:
    """Remembered, because the program may have derived values from it."""
    global _told  # noqa: PLW0603 - one per process, as there is one launcher
    _told = expected().size
    return _told


def told_size() -> int | None:
    """The size that the program got before it trained; None if it did not ask."""
    return _told


def on_resize(told: Resized) -> Resized:
    """Registers a function that is called with the old and the new size after every resize, for instance to rescale a
    learning rate."""
    current().on_resize.append(told)
    return told
