# SPDX-License-Identifier: Apache-2.0
"""Random lives of a store, step by step beside a model too simple to be wrong.

The model keeps every event for ever and rebuilds everything from them. The store has a very short memory, a disk that
is full at times, and is closed and opened again in between.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.contract.store.builders import FlakyLog, saying

from springtide.local.store.backend import (
    Change,
    CompactedError,
    Event,
    FullError,
    Key,
    Record,
    StaleError,
    Subscription,
)
from springtide.local.store.history import Limits
from springtide.local.store.logged import LoggedStore, NoLog
from springtide.local.store.memory import Memory
from springtide.local.store.sqlite import open_log

T = TypeVar("T")

LIMITS = Limits(events=16, bytes=300)
RESOURCES = ["configmaps", "secrets"]

keys = st.builds(Key, st.sampled_from(RESOURCES), st.sampled_from(["", "m", "n"]), st.sampled_from("abc"))
texts = st.text("xyz", max_size=40)


class Model:
    """All that ever happened."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def at(self, revision: int) -> dict[Key, Record]:
        records: dict[Key, Record] = {}
        for event in self.events:
            if event.record.revision > revision:
                break
            if event.change is Change.DELETED:
                del records[event.record.key]
            else:
                records[event.record.key] = event.record
        return records

    @property
    def now(self) -> dict[Key, Record]:
        return self.at(1 << 62)

    def listed(self, resource: str, namespace: str, revision: int) -> list[Record]:
        return sorted(
            (r for k, r in self.at(revision).items() if k.resource == resource and namespace in ("", k.namespace)),
            key=lambda record: record.key,
        )

    def since(self, resource: str, revision: int) -> list[Event]:
        return [e for e in self.events if e.record.key.resource == resource and e.record.revision > revision]

    def happened(self, change: Change, record: Record) -> None:
        self.events.append(Event(change, record, self.now.get(record.key)))


class Follower:
    """A client that watches, and after a restart resumes from what it was last promised."""

    def __init__(self, store: LoggedStore, resource: str, since: int) -> None:
        self.resource, self.since = resource, since
        self.events: list[Event] = []
        self.resume(store, since)

    def resume(self, store: LoggedStore, since: int) -> None:
        self.watch: Subscription = store.watch(self.resource, since)

    async def read(self, expected: int) -> None:
        if len(self.events) < expected:
            async for batch in self.watch:
                self.events.extend(batch)
                if len(self.events) >= expected:
                    return


class MemoryMachine(RuleBasedStateMachine):
    """A store that lives in memory only."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.model = Model()
        self.followers: list[Follower] = []
        self.highest = 0  # revision ever given to an encoder
        self.run(self.open())

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    async def open(self) -> None:
        self.log = FlakyLog(NoLog())
        self.store = LoggedStore(Memory(LIMITS), self.log)

    def teardown(self) -> None:
        self.log.full = False
        self.run(self.store.close())
        self.runner.close()

    def encoder(self, text: str) -> Callable[[int], bytes]:
        def encode(revision: int) -> bytes:
            assert revision > self.highest
            self.highest = revision
            return saying(text)(revision)

        return encode

    async def attempt(self, writes: Sequence[tuple[Key, Record | None, str]]) -> list[Record | BaseException]:
        """Write all at the same time, no text meaning delete, and tell the model what came of it."""

        async def one(key: Key, seen: Record | None, text: str) -> tuple[Change, Record]:
            if text or seen is None:
                record = await self.store.write(key, seen, self.encoder(text))
                return (Change.ADDED if seen is None else Change.MODIFIED), record
            return Change.DELETED, await self.store.delete(key, seen, self.encoder(text))

        outcomes = await asyncio.gather(*(one(*write) for write in writes), return_exceptions=True)
        done = [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]
        for change, record in sorted(done, key=lambda outcome: outcome[1].revision):
            self.model.happened(change, record)
        return [outcome if isinstance(outcome, BaseException) else outcome[1] for outcome in outcomes]

    @rule(key=keys, text=texts)
    def change_one(self, key: Key, text: str) -> None:
        (outcome,) = self.run(self.attempt([(key, self.store.get(key), text)]))
        assert isinstance(outcome, FullError if self.log.full else Record)

    @rule(writes=st.dictionaries(keys, texts, min_size=2))
    def change_many_at_once(self, writes: dict[Key, str]) -> None:
        outcomes = self.run(self.attempt([(key, self.store.get(key), text) for key, text in writes.items()]))
        assert all(isinstance(outcome, FullError if self.log.full else Record) for outcome in outcomes)

    @rule(key=keys, rivals=st.lists(texts, min_size=2, max_size=4))
    def change_one_as_rivals(self, key: Key, rivals: list[str]) -> None:
        seen = self.store.get(key)
        outcomes = self.run(self.attempt([(key, seen, text) for text in rivals]))
        if self.log.full:
            assert all(isinstance(outcome, FullError) for outcome in outcomes)
        else:
            assert [type(outcome) for outcome in outcomes] == [Record] + [StaleError] * (len(rivals) - 1)

    @rule(data=st.data())
    def change_one_as_seen_earlier(self, data: st.DataObject) -> None:
        past = [event.record for event in self.model.events if self.store.get(event.record.key) != event.record]
        if past:
            seen = data.draw(st.sampled_from(past))
            outcomes = self.run(self.attempt([(seen.key, seen, "late"), (seen.key, seen, "")]))
            assert all(isinstance(outcome, StaleError) for outcome in outcomes)

    @rule(full=st.booleans())
    def the_disk_changes(self, full: bool) -> None:
        self.log.full = full

    @rule(resource=st.sampled_from(RESOURCES), namespace=st.sampled_from(["", "m"]), data=st.data())
    def list_the_past(self, resource: str, namespace: str, data: st.DataObject) -> None:
        revision = data.draw(st.integers(max(0, self.store.compacted - 2), self.store.revision))
        if revision < self.store.compacted:
            with pytest.raises(CompactedError):
                self.store.list_at(resource, revision, namespace)
        else:
            listed = self.store.list_at(resource, revision, namespace)
            assert listed == self.model.listed(resource, namespace, revision)

    @rule(resource=st.sampled_from(RESOURCES), data=st.data())
    def start_to_follow(self, resource: str, data: st.DataObject) -> None:
        since = data.draw(st.integers(self.store.compacted, self.store.revision))
        self.followers.append(Follower(self.store, resource, since))

    @precondition(lambda self: self.followers)
    @rule(data=st.data())
    def follow(self, data: st.DataObject) -> None:
        follower = data.draw(st.sampled_from(self.followers))
        expected = self.model.since(follower.resource, follower.since)
        promised = follower.watch.revision
        try:
            self.run(follower.read(len(expected)))
        except CompactedError:
            self.followers.remove(follower)
            assert expected[len(follower.events)].record.revision <= self.store.compacted
        else:
            assert follower.events == expected
            assert promised <= follower.watch.revision == self.store.revision

    @invariant()
    def the_present_is_as_the_model_says(self) -> None:
        now = self.model.now
        for resource in RESOURCES:
            for namespace in ("", "n"):
                assert self.store.list(resource, namespace) == self.model.listed(resource, namespace, 1 << 62)
        assert all(self.store.get(key) == record for key, record in now.items())

    @invariant()
    def the_revisions_are_in_order(self) -> None:
        newest = self.model.events[-1].record.revision if self.model.events else 0
        assert 0 <= self.store.compacted <= self.store.revision
        assert newest <= self.store.revision <= self.highest

    @invariant()
    def the_kept_history_is_short(self) -> None:
        kept = [event for event in self.model.events if event.record.revision > self.store.compacted]
        assert len(kept) <= LIMITS.events


class SqliteMachine(MemoryMachine):
    """A store in a file, which is closed and opened again at times."""

    def __init__(self) -> None:
        self.directory = tempfile.TemporaryDirectory()
        super().__init__()

    async def open(self) -> None:
        log, memory, unneeded = open_log(Path(self.directory.name) / "store.db", LIMITS)
        self.log = FlakyLog(log)
        self.store = LoggedStore(memory, self.log, unneeded)

    def teardown(self) -> None:
        super().teardown()
        self.directory.cleanup()

    @rule()
    def restart(self) -> None:
        promised = [(follower, follower.watch.revision) for follower in self.followers]
        self.run(self.store.close())
        self.run(self.open())
        for follower, revision in promised:
            try:
                follower.resume(self.store, revision)
            except CompactedError:
                self.followers.remove(follower)
                assert revision < self.store.compacted


MemoryMachine.TestCase.settings = SqliteMachine.TestCase.settings = settings(
    max_examples=30, stateful_step_count=40, deadline=None, derandomize=True, database=None
)
TestMemoryStoreBesideTheModel = MemoryMachine.TestCase
TestSqliteStoreBesideTheModel = SqliteMachine.TestCase
