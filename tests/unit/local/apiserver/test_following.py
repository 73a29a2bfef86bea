# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio

import pytest
from tests.unit.local.apiserver.builders import a_resource, drop, put

from springtide.event_loop import slices
from springtide.local.apiserver.following import follow
from springtide.local.store.backend import Record, Store
from springtide.local.store.history import Limits
from springtide.local.store.opening import open_store

ROLES = a_resource("clusterroles", "rbac.authorization.k8s.io")


class Seen:
    def __init__(self) -> None:
        self.calls: list[str] = []

    def put(self, record: Record) -> None:
        self.calls.append(f"+{record.key.name}")

    def remove(self, record: Record) -> None:
        self.calls.append(f"-{record.key.name}")


async def following(store: Store, seen: Seen) -> asyncio.Task[None]:
    task = asyncio.create_task(follow(store, ROLES.storage, seen.put, seen.remove))
    await asyncio.sleep(0)
    return task


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_what_is_stored_already_is_seen_before_the_first_wait() -> None:
    store, seen = await open_store(None), Seen()
    await put(store, ROLES, "a")
    task = await following(store, seen)
    assert seen.calls == ["+a"]
    task.cancel()


async def test_changes_are_seen_in_order() -> None:
    store, seen = await open_store(None), Seen()
    task = await following(store, seen)
    for name in ("a", "b", "a"):
        await put(store, ROLES, name)
    await drop(store, ROLES, "b")
    await settle()
    assert seen.calls == ["+a", "+b", "+a", "-b"]
    task.cancel()


async def test_one_that_fell_behind_looks_again_and_misses_neither_changes_nor_deletions() -> None:
    store, seen = await open_store(None, Limits(events=2)), Seen()
    for name in ("kept", "changed", "gone"):
        await put(store, ROLES, name)
    task = await following(store, seen)
    seen.calls.clear()
    writes = [put(store, ROLES, f"new{n}") for n in range(5)]
    await asyncio.gather(put(store, ROLES, "changed"), drop(store, ROLES, "gone"), *writes)
    await settle()
    assert sorted(seen.calls) == ["+changed", *(f"+new{n}" for n in range(5)), "-gone"]
    task.cancel()


async def test_many_changes_at_once_leave_the_loop_turns_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "SLICE", 0.0)
    store, seen = await open_store(None), Seen()
    task = await following(store, seen)
    writes = asyncio.gather(*(put(store, ROLES, f"new{n}") for n in range(20)))
    at_once = before = 0
    while len(seen.calls) < 20:
        await asyncio.sleep(0)
        at_once, before = max(at_once, len(seen.calls) - before), len(seen.calls)
    await writes
    assert at_once == 1
    task.cancel()


async def test_it_ends_when_cancelled() -> None:
    task = await following(await open_store(None), Seen())
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
