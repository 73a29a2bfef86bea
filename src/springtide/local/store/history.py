# SPDX-License-Identifier: Apache-2.0
"""Window of past events, from which watches resume and lists at earlier revisions are rebuilt.

An event is stored once, however many watchers there are: each resource has one journal, and a watcher is a position in
it. The window is bounded in events and in bytes for the whole store, because a reader's resume point is a revision of
the whole store. Only `memory` appends. Nothing here accesses a disk or waits for a slow reader.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from springtide.local.store.backend import Change, CompactedError, Event, FutureRevisionError

BATCH = 512
"""Maximum number of events per batch, so that one watcher that catches up does not delay the others."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of the kept history."""

    events: int = 20_000
    bytes: int = 32 << 20
    """Size of the bodies that only history refers to; current bodies are not counted."""


class Journal:
    """The kept events of one resource, and the watchers waiting for its next one."""

    __slots__ = ("events", "forgotten", "waiting")

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.forgotten = 0  # events dropped from the front; makes positions absolute
        self.waiting: set[asyncio.Future[None]] = set()

    @property
    def end(self) -> int:
        return self.forgotten + len(self.events)

    def position(self, since: int) -> int:
        return self.forgotten + bisect_right(self.events, since, key=_revision)

    def read(self, position: int) -> Sequence[Event]:
        start = position - self.forgotten
        if start < 0:
            raise CompactedError("the watch fell behind the kept history")
        return self.events[start : start + BATCH]

    def after(self, revision: int) -> Sequence[Event]:
        return self.events[self.position(revision) - self.forgotten :]

    def wake(self) -> None:
        waiting, self.waiting = self.waiting, set()
        for future in waiting:
            if not future.done():
                future.set_result(None)


class History:
    """The journals of all resources and the revisions between which they are complete."""

    def __init__(self, limits: Limits, compacted: int = 0, revision: int = 0) -> None:
        self.limits = limits
        self.compacted = compacted
        self.revision = revision
        self.closed = False
        self._journals: dict[str, Journal] = {}
        self._window: deque[Event] = deque()  # events of all journals in order of revision; trimmed from the left
        self._bytes = 0

    def journal(self, resource: str) -> Journal:
        journal = self._journals.get(resource)
        if journal is None:
            journal = self._journals[resource] = Journal()
        return journal

    def append(self, events: Iterable[Event]) -> None:
        """Add events in order of revision and wake their watchers, which run after the caller returns."""
        touched: set[Journal] = set()
        for event in events:
            journal = self.journal(event.record.key.resource)
            journal.events.append(event)
            touched.add(journal)
            self._window.append(event)
            self._bytes += _weight(event)
            self.revision = event.record.revision
        for journal in touched:
            if journal.waiting:
                journal.wake()

    def trim(self) -> list[int]:
        """Drop events beyond the limits; returns the revisions of records that are no longer referenced.

        Each time an eighth is dropped, so that trimming is rare and costs little per event.
        """
        unneeded: list[int] = []
        window, limits = self._window, self.limits
        if len(window) <= limits.events and self._bytes <= limits.bytes:
            return unneeded
        events, size = limits.events - limits.events // 8, limits.bytes - limits.bytes // 8
        dropped: dict[str, int] = {}
        while len(window) > events or self._bytes > size:
            event = window.popleft()
            self._bytes -= _weight(event)
            self.compacted = event.record.revision
            unneeded.extend(superseded(event))
            resource = event.record.key.resource
            dropped[resource] = dropped.get(resource, 0) + 1
        for resource, count in dropped.items():
            journal = self._journals[resource]
            del journal.events[:count]
            journal.forgotten += count
        return unneeded

    def check(self, revision: int) -> None:
        """Raise an error for a start revision that the kept history does not cover."""
        if revision < self.compacted:
            raise CompactedError(f"revision {revision} is gone; the oldest kept is {self.compacted}")
        if revision > self.revision:
            raise FutureRevisionError(f"revision {revision} has not happened yet; the newest is {self.revision}")

    def watch(self, resource: str, since: int) -> Watch:
        self.check(since)
        return Watch(self, self.journal(resource), since)

    def close(self) -> None:
        """End all watches."""
        self.closed = True
        for journal in self._journals.values():
            journal.wake()


class Watch:
    """A `Subscription`: a position in a journal."""

    __slots__ = ("_closed", "_history", "_journal", "_position", "_revision", "_waiter")

    def __init__(self, history: History, journal: Journal, since: int) -> None:
        self._history = history
        self._journal = journal
        self._position = journal.position(since)
        self._revision = since
        self._closed = False
        self._waiter: asyncio.Future[None] | None = None

    @property
    def revision(self) -> int:
        # With nothing left to read, the watch has also passed the revisions of other resources. Storing the value keeps
        # the revision from decreasing when the next event arrives before it is read.
        if self._position == self._journal.end:
            self._revision = self._history.revision
        return self._revision

    def __aiter__(self) -> Watch:
        return self

    async def __anext__(self) -> Sequence[Event]:
        # A batch is taken and returned without an await in between: cancelling a read never loses a batch.
        while not (self._closed or self._history.closed):
            if batch := self._journal.read(self._position):
                self._position += len(batch)
                self._revision = batch[-1].record.revision
                return batch
            await self._more()
        raise StopAsyncIteration

    async def _more(self) -> None:
        self._waiter = waiter = asyncio.get_running_loop().create_future()
        self._journal.waiting.add(waiter)
        try:
            await waiter
        finally:
            self._journal.waiting.discard(waiter)
            self._waiter = None

    def close(self) -> None:
        self._closed = True
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


def superseded(event: Event) -> list[int]:
    """Revisions of the records that only this event referred to."""
    unneeded = [] if event.previous is None else [event.previous.revision]
    if event.change is Change.DELETED:
        unneeded.append(event.record.revision)
    return unneeded


def _weight(event: Event) -> int:
    past = 0 if event.previous is None else len(event.previous.body)
    return past + len(event.record.body) if event.change is Change.DELETED else past


def _revision(event: Event) -> int:
    return event.record.revision
