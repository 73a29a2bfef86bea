# SPDX-License-Identifier: Apache-2.0
"""What a watcher may rely on: everything once, in order, or a clear word that it is too late."""

from __future__ import annotations

import asyncio

import pytest
from tests.contract.store.builders import a_key, brief, drop, put, take
from tests.contract.store.conftest import Opener

from springtide.local.store.backend import CompactedError, Event, FutureRevisionError, Record, Store
from springtide.local.store.history import BATCH, Limits


async def test_a_watch_tells_what_happened_since_with_the_state_before(store: Store) -> None:
    first = await put(store, "a", "one")
    second = await put(store, "a", "two")
    last = await drop(store, "a", "bye")
    added, modified, deleted = await take(store.watch("configmaps", 0), 3)

    assert [brief(event) for event in (added, modified, deleted)] == [
        ("ADDED", "a", 1),
        ("MODIFIED", "a", 2),
        ("DELETED", "a", 3),
    ]
    assert (added.previous, modified.previous, deleted.previous) == (None, first, second)
    assert deleted.record == last == Record(a_key(), 3, b"bye@3")


@pytest.mark.parametrize("since", range(6))
async def test_a_watch_starts_right_after_the_revision_it_is_given(store: Store, since: int) -> None:
    for name in "abcde":
        await put(store, name)

    watch = store.watch("configmaps", since)
    assert watch.revision == (5 if since == 5 else since)
    assert [event.record.revision for event in await take(watch, 5 - since)] == list(range(since + 1, 6))


async def test_a_watch_waits_for_what_is_yet_to_come(store: Store) -> None:
    watch = store.watch("configmaps", 0)
    reading = asyncio.create_task(take(watch, 1))
    await asyncio.sleep(0)
    await put(store, "a")

    assert [brief(event) for event in await reading] == [("ADDED", "a", 1)]


async def test_a_watch_sees_one_resource_only_but_promises_for_all_revisions_passed(store: Store) -> None:
    watch = store.watch("configmaps", 0)
    await put(store, a_key("s", resource="secrets"))
    assert watch.revision == 1
    await put(store, "a")
    assert watch.revision == 1
    await put(store, a_key("t", resource="secrets"))
    assert watch.revision == 1

    assert [brief(event) for event in await take(watch, 1)] == [("ADDED", "a", 2)]
    assert watch.revision == 3


async def test_what_a_watch_promised_never_goes_back(store: Store) -> None:
    await put(store, "a")
    watch = store.watch("configmaps", 1)
    for _ in range(3):
        await put(store, a_key("s", resource="secrets"))
    assert watch.revision == 4
    await put(store, "b")
    assert watch.revision == 4


@pytest.mark.parametrize("count", [1, 100])
async def test_every_watcher_sees_every_event_in_order(store: Store, count: int) -> None:
    reading = [asyncio.create_task(take(store.watch("configmaps", 0), 50)) for _ in range(count)]
    await asyncio.gather(*(put(store, f"n{i}") for i in range(50)))

    for events in await asyncio.gather(*reading):
        assert [event.record.revision for event in events] == list(range(1, 51))


async def test_watchers_share_the_events_rather_than_copy_them(store: Store) -> None:
    await put(store, "a")
    (one,), (other,) = await take(store.watch("configmaps", 0), 1), await take(store.watch("configmaps", 0), 1)

    assert one is other


async def test_a_large_backlog_comes_in_batches(store: Store) -> None:
    await asyncio.gather(*(put(store, f"n{i}") for i in range(BATCH + 1)))
    watch = aiter(store.watch("configmaps", 0))

    assert [len(await anext(watch)), len(await anext(watch))] == [BATCH, 1]


async def test_a_watch_from_before_the_kept_history_is_refused_at_once(opened: Opener) -> None:
    store = await opened(Limits(events=8))
    for _ in range(20):
        await put(store, "a")

    with pytest.raises(CompactedError):
        store.watch("configmaps", store.compacted - 1)
    events = await take(store.watch("configmaps", store.compacted), 20 - store.compacted)
    assert [event.record.revision for event in events] == list(range(store.compacted + 1, 21))


async def test_a_watch_from_the_future_is_refused_at_once(store: Store) -> None:
    with pytest.raises(FutureRevisionError):
        store.watch("configmaps", 1)


async def test_history_is_bounded_in_bytes_too(opened: Opener) -> None:
    store = await opened(Limits(bytes=1000))
    for _ in range(50):
        await put(store, "a", "x" * 100)

    assert 50 - 10 <= store.compacted < 50


async def test_bodies_that_are_current_cost_no_history(opened: Opener) -> None:
    store = await opened(Limits(bytes=1000))
    for number in range(50):
        await put(store, f"n{number}", "x" * 100)

    assert store.compacted == 0


async def test_a_reader_that_falls_behind_is_told(opened: Opener) -> None:
    store = await opened(Limits(events=8))
    slow = store.watch("configmaps", 0)
    for _ in range(20):
        await put(store, "a")

    assert slow.revision == 0
    with pytest.raises(CompactedError):
        await take(slow, 1)


async def test_a_reader_of_a_quiet_resource_does_not_fall_behind(opened: Opener) -> None:
    store = await opened(Limits(events=8))
    quiet = store.watch("secrets", 0)
    for _ in range(20):
        await put(store, "a")
    await put(store, a_key("s", resource="secrets"))

    assert [brief(event) for event in await take(quiet, 1)] == [("ADDED", "s", 21)]


async def test_a_cancelled_read_loses_nothing(store: Store) -> None:
    watch = store.watch("configmaps", 0)
    reading = asyncio.create_task(take(watch, 1))
    await asyncio.sleep(0)
    reading.cancel()
    await put(store, "a")

    assert [brief(event) for event in await take(watch, 1)] == [("ADDED", "a", 1)]


async def collect(store: Store) -> list[Event]:
    return [event async for batch in store.watch("configmaps", 0) for event in batch]


async def test_closing_a_watch_ends_its_reader(store: Store) -> None:
    watch = store.watch("configmaps", 0)
    reading = asyncio.create_task(take(watch, 1))
    await asyncio.sleep(0)
    watch.close()

    assert await reading == []
    watch.close()


async def test_closing_the_store_ends_its_readers(store: Store) -> None:
    reading = asyncio.create_task(collect(store))
    await asyncio.sleep(0)
    await store.close()

    assert await reading == []
