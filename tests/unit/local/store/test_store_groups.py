# SPDX-License-Identifier: Apache-2.0
"""How writes are grouped for the log, and what becomes of a group that the log refuses."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from tests.contract.store.builders import a_key, brief, drop, put, saying, take

from springtide.local.store.backend import FullError, StaleError
from springtide.local.store.history import Limits
from springtide.local.store.logged import FORGET, Group, LoggedStore
from springtide.local.store.memory import Memory


class HeldLog:
    """A log that finishes a group when the test says so."""

    def __init__(self) -> None:
        self.groups: list[Group] = []
        self.under_way: list[Callable[[BaseException | None], None]] = []

    def commit(self, group: Group, done: Callable[[BaseException | None], None]) -> None:
        self.groups.append(group)
        self.under_way.append(done)

    def finish(self, error: BaseException | None = None) -> None:
        (done,) = self.under_way
        self.under_way.clear()
        done(error)

    async def close(self, last: Group) -> None:
        self.groups.append(last)

    @property
    def names(self) -> list[str]:
        return ["".join(event.record.key.name for event in group.events) for group in self.groups]


@pytest.fixture
def log() -> HeldLog:
    return HeldLog()


async def turn() -> None:
    """Let everything that is ready run."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_writers_ready_at_the_same_time_share_a_group_and_later_ones_the_next(log: HeldLog) -> None:
    store = LoggedStore(Memory(), log)
    first = [asyncio.create_task(put(store, name)) for name in "abc"]
    await turn()
    later = [asyncio.create_task(put(store, name)) for name in "de"]
    await turn()
    assert log.names == ["abc"]

    log.finish()
    assert log.names == ["abc", "de"]
    assert [(await task).revision for task in first] == [1, 2, 3]
    assert store.revision == 3

    log.finish()
    assert [(await task).revision for task in later] == [4, 5]


async def test_a_refused_group_changes_nothing_and_its_revisions_are_not_used_again(log: HeldLog) -> None:
    store = LoggedStore(Memory(), log)
    watch = store.watch("configmaps", 0)
    writing = [asyncio.create_task(put(store, name)) for name in "ab"]
    await turn()
    log.finish(FullError("no space"))
    for task in writing:
        with pytest.raises(FullError, match="no space"):
            await task
    assert (store.revision, watch.revision, store.list("configmaps")) == (0, 0, [])

    again = asyncio.create_task(put(store, "a"))
    await turn()
    log.finish()
    assert (await again).revision == 3
    assert [brief(event) for event in await take(watch, 1)] == [("ADDED", "a", 3)]


async def test_writes_staged_behind_a_refused_group_have_their_own_chance(log: HeldLog) -> None:
    store = LoggedStore(Memory(), log)
    refused = asyncio.create_task(put(store, "a"))
    await turn()
    lucky = asyncio.create_task(put(store, "b"))
    await turn()
    log.finish(FullError("no space"))
    log.finish()

    assert (await lucky).revision == 2
    with pytest.raises(FullError):
        await refused


async def test_a_writer_behind_a_refused_write_of_the_same_object_takes_its_place(log: HeldLog) -> None:
    store = LoggedStore(Memory(), log)
    refused = asyncio.create_task(store.write(a_key(), None, saying("one")))
    await turn()
    followers = [asyncio.create_task(store.write(a_key(), None, saying(text))) for text in ("two", "three")]
    await turn()
    log.finish(FullError("no space"))
    await turn()
    log.finish()

    with pytest.raises(FullError):
        await refused
    assert (await followers[0]).body == b"two@2"
    with pytest.raises(StaleError):
        await followers[1]


async def test_an_unexpected_failure_of_the_log_reaches_the_writer(log: HeldLog) -> None:
    store = LoggedStore(Memory(), log)
    writing = asyncio.create_task(put(store, "a"))
    await turn()
    log.finish(RuntimeError("a bug"))

    with pytest.raises(RuntimeError, match="a bug"):
        await writing


async def test_a_clean_up_comes_in_portions_and_goes_on_when_nobody_writes(log: HeldLog) -> None:
    unneeded = list(range(1, 2 * FORGET + 3))
    store = LoggedStore(Memory(compacted=1000, revision=1000), log, unneeded)
    writing = asyncio.create_task(put(store, "a"))
    await turn()
    for _ in range(3):
        log.finish()
    await writing

    assert log.names == ["a", "", ""]
    assert [len(group.forget) for group in log.groups] == [FORGET + 1, FORGET, 1]
    assert [revision for group in log.groups for revision in group.forget] == unneeded
    assert not log.under_way


async def test_a_refused_clean_up_waits_for_the_next_write_and_keeps_its_order(log: HeldLog) -> None:
    unneeded = list(range(1, FORGET + 10))
    store = LoggedStore(Memory(compacted=1000, revision=1000), log, unneeded)
    writing = asyncio.create_task(put(store, "a"))
    await turn()
    log.finish(FullError("no space"))
    with pytest.raises(FullError):
        await writing
    assert not log.under_way

    again = asyncio.create_task(put(store, "a"))
    await turn()
    log.finish()
    log.finish()
    await again
    assert [revision for group in log.groups[1:] for revision in group.forget] == unneeded


async def test_a_deletion_leaves_the_log_only_after_what_it_hides(log: HeldLog) -> None:
    store = LoggedStore(Memory(Limits(events=0)), log)
    for change in (put, put, drop):
        writing = asyncio.create_task(change(store, "a"))
        await turn()
        while log.under_way:
            log.finish()
        await writing

    assert [revision for group in log.groups for revision in group.forget] == [1, 2, 3]
    assert [group.compacted for group in log.groups if group.forget] == [2, 3]


async def test_closing_hands_the_log_the_highest_revision_given_out(log: HeldLog) -> None:
    store = LoggedStore(Memory(), log)
    writing = asyncio.create_task(put(store, "a"))
    await turn()
    log.finish(FullError("no space"))
    with pytest.raises(FullError):
        await writing
    await store.close()

    assert log.groups[-1] == Group((), [], 0, 1)
