# SPDX-License-Identifier: Apache-2.0
"""State served to readers and watchers: all current records and the recent history.

It holds only durable records, in order of revision: `logged` applies a batch after the log has committed it, and
`restore` replays a log. It never waits, never rejects a change and never reads a body.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Collection, Iterable, Sequence

from springtide.local.store.backend import Change, DamagedError, Event, Key, Record
from springtide.local.store.history import History, Limits, superseded


class Memory:
    """Current records by key, their order by resource, and the history."""

    def __init__(self, limits: Limits | None = None, compacted: int = 0, revision: int = 0) -> None:
        self.history = History(limits or Limits(), compacted, revision)
        self._records: dict[Key, Record] = {}
        self._order: dict[str, list[Key]] = {}
        self.damaged: list[Key] = []

    def get(self, key: Key) -> Record | None:
        record = self._records.get(key)
        if record is None and key in self.damaged:
            raise DamagedError(damage(key))
        return record

    def list(self, resource: str, namespace: str = "") -> Sequence[Record]:
        records = self._records
        return [records[key] for key in _within(self._order.get(resource, []), resource, namespace)]

    def list_at(self, resource: str, revision: int, namespace: str = "") -> Sequence[Record]:
        self.history.check(revision)
        since = self.history.journal(resource).after(revision)
        if not since:
            return self.list(resource, namespace)
        past = {record.key: record for record in self.list(resource, namespace)}
        for event in reversed(since):
            key = event.record.key
            if namespace and key.namespace != namespace:
                continue
            if event.previous is None:
                del past[key]
            else:
                past[key] = event.previous
        return [past[key] for key in sorted(past)]

    def apply(self, events: Sequence[Event]) -> Sequence[int]:
        """Make events current. Returns the revisions of records that neither the state nor the history needs."""
        records = self._records
        for event in events:
            key = event.record.key
            if event.change is Change.DELETED:
                del records[key]
                order = self._order[key.resource]
                del order[bisect_left(order, key)]
                continue
            records[key] = event.record
            if event.change is Change.ADDED:
                insort(self._order.setdefault(key.resource, []), key)
        self.history.append(events)
        return self.history.trim()

    def restore(self, changes: Iterable[tuple[Change, Record]], damaged: Collection[int] = ()) -> Sequence[int]:
        """Load a log's changes, oldest first, into an empty memory. Returns revisions as `apply` does.

        Changes up to the compacted revision are loaded as state only; later ones also as history. `damaged` are
        revisions of records, none of them after the compacted one, whose bodies must not be served.
        """
        records, events, unneeded = self._records, list[Event](), list[int]()
        compacted, highest = self.history.compacted, self.history.revision
        for change, kept in changes:
            previous = records.get(kept.key)
            # One shared key per object: its earlier records use no memory for names.
            record = kept if previous is None else Record(previous.key, kept.revision, kept.body)
            event = Event(change, record, previous)
            if record.revision <= compacted:
                unneeded.extend(superseded(event))
            elif (change is Change.ADDED) != (previous is None):
                raise ValueError(f"revision {record.revision} does not follow from those before it")
            else:
                events.append(event)
            if change is Change.DELETED:
                records.pop(record.key, None)
            else:
                records[record.key] = record
        self.history.append(events)
        self.history.revision = max(self.history.revision, highest)  # the record of that revision may be gone
        if damaged:
            self.damaged = sorted(key for key, record in records.items() if record.revision in damaged)
            for key in self.damaged:
                del records[key]
        for key in records:
            self._order.setdefault(key.resource, []).append(key)
        for order in self._order.values():
            order.sort()
        return unneeded + self.history.trim()


def damage(key: Key) -> str:
    """Error message for a damaged object: names the object and the remedies."""
    place = f' in namespace "{key.namespace}"' if key.namespace else ""
    return (
        f'the stored object {key.resource} "{key.name}"{place} is damaged on disk; all others are served. Put back '
        "a copy of the database, or give this object up: tide down, then tide up --accept-data-loss"
    )


def _within(order: Sequence[Key], resource: str, namespace: str) -> Sequence[Key]:
    if not namespace:
        return order
    start = bisect_left(order, Key(resource, namespace, ""))
    return order[start : bisect_left(order, Key(resource, namespace + "\0", ""), start)]
