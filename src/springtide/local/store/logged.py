# SPDX-License-Identifier: Apache-2.0
"""The store: checks writes, assigns revisions, commits groups to the log, then makes them visible.

Writes staged while one group is being committed form the next group, so a slow disk leads to larger groups and not to a
queue. Everything except the log runs on the event loop; there are no locks. A revision is assigned when a write is
staged and is never reused, so a group that the log rejects leaves a gap in the revisions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from springtide.local.store.backend import Change, Event, Key, Record, StaleError, StoreError, Subscription
from springtide.local.store.memory import Memory

FORGET = 64
"""Records dropped from the log with each group, in addition to one per event: the clean-up always catches up, and
writers never wait for a large one."""


class Group(NamedTuple):
    """Content of one commit to the log, all or nothing."""

    events: Sequence[Event]
    forget: Sequence[int] = ()
    """Revisions of records that are no longer needed, in the order in which they became so."""
    compacted: int = 0
    """History before this revision is not needed either."""
    revision: int = 0
    """Highest revision assigned so far."""


class Log(Protocol):
    """Makes groups durable, one at a time and in order."""

    def commit(self, group: Group, done: Callable[[BaseException | None], None]) -> None:
        """Commit the group; `done` is called later on the event loop, with the error or None."""

    async def close(self, last: Group) -> None: ...


class NoLog:
    """Stores nothing: for tests and for clusters that need not outlive the process."""

    def commit(self, group: Group, done: Callable[[BaseException | None], None]) -> None:
        asyncio.get_running_loop().call_soon(done, None)

    async def close(self, last: Group) -> None:
        pass


class LoggedStore:
    """A `Store` made of a memory, which serves reads, and a log, which makes writes durable."""

    def __init__(self, memory: Memory, log: Log, unneeded: Sequence[int] = ()) -> None:
        self._loop = asyncio.get_running_loop()
        self._memory = memory
        self._log = log
        self._last = memory.history.revision  # highest revision assigned
        self._unneeded = list(unneeded)
        self._staged: list[Event] = []
        self._promises: list[asyncio.Future[Record]] = []  # one for each staged event
        self._pending: set[Key] = set()  # staged or being committed
        self._followers: dict[Key, list[asyncio.Future[None]]] = {}  # writers waiting for a pending key
        self._committing = False
        self._closed = False
        self._idle = asyncio.Event()
        self._idle.set()
        # Reads use only the memory.
        self.get = memory.get
        self.list = memory.list
        self.list_at = memory.list_at

    @property
    def revision(self) -> int:
        return self._memory.history.revision

    @property
    def compacted(self) -> int:
        return self._memory.history.compacted

    @property
    def damaged(self) -> Sequence[Key]:
        return self._memory.damaged

    def watch(self, resource: str, since: int) -> Subscription:
        return self._memory.history.watch(resource, since)

    async def write(self, key: Key, seen: Record | None, encode: Callable[[int], bytes]) -> Record:
        change = Change.ADDED if seen is None else Change.MODIFIED
        if key in self._pending:
            await self._settled(key)
        return await self._stage(change, key, seen, encode)

    async def delete(self, key: Key, seen: Record, encode: Callable[[int], bytes]) -> Record:
        if key in self._pending:
            await self._settled(key)
        return await self._stage(Change.DELETED, key, seen, encode)

    async def close(self) -> None:
        """Reject new writes, finish those in progress, end all watches."""
        if self._closed:
            return
        self._closed = True
        await self._idle.wait()
        self._memory.history.close()
        await self._log.close(Group((), self._unneeded, self.compacted, self._last))

    def _stage(
        self, change: Change, key: Key, seen: Record | None, encode: Callable[[int], bytes]
    ) -> asyncio.Future[Record]:
        if self._closed:
            raise StoreError("the store is closed")
        current = self._memory.get(key)
        if current is not seen and _revision(current) != _revision(seen):
            raise StaleError(f"{'/'.join(key)} is at revision {_revision(current)}, not {_revision(seen)}")
        self._last = revision = self._last + 1
        # All records of an object share one key, so history stores no further names.
        record = Record(key if current is None else current.key, revision, encode(revision))
        promise: asyncio.Future[Record] = self._loop.create_future()
        self._pending.add(record.key)
        self._staged.append(Event(change, record, current))
        self._promises.append(promise)
        if not self._committing:
            # Deferred: other writers that are ready in this iteration of the event loop join the group.
            self._committing = True
            self._idle.clear()
            self._loop.call_soon(self._commit)
        return promise

    async def _settled(self, key: Key) -> None:
        """Wait until no write of this key is in progress."""
        while key in self._pending:
            follower: asyncio.Future[None] = self._loop.create_future()
            self._followers.setdefault(key, []).append(follower)
            await follower

    def _commit(self) -> None:
        events, self._staged = self._staged, []
        promises, self._promises = self._promises, []
        portion = FORGET + len(events)
        forget, self._unneeded = self._unneeded[:portion], self._unneeded[portion:]
        group = Group(events, forget, self.compacted, self._last)
        self._log.commit(group, lambda error: self._committed(group, promises, error))

    def _committed(self, group: Group, promises: Sequence[asyncio.Future[Record]], error: BaseException | None) -> None:
        if error is None:
            self._unneeded.extend(self._memory.apply(group.events))
        else:
            # Back to the front: a deletion must never leave the log before the records it hides.
            self._unneeded[:0] = group.forget
        for event, promise in zip(group.events, promises, strict=True):
            self._pending.remove(event.record.key)
            if promise.done():  # the writer was cancelled
                continue
            if error is None:
                promise.set_result(event.record)
            else:
                promise.set_exception(error)
        if self._followers:
            self._wake_followers(group.events)
        # A rejected clean-up waits for the next write: an immediate retry would spin on a full disk.
        if self._staged or (error is None and self._unneeded):
            self._commit()
        else:
            self._committing = False
            self._idle.set()

    def _wake_followers(self, events: Sequence[Event]) -> None:
        for event in events:
            for follower in self._followers.pop(event.record.key, ()):
                if not follower.done():
                    follower.set_result(None)


def _revision(record: Record | None) -> int:
    return 0 if record is None else record.revision
