# SPDX-License-Identifier: Apache-2.0
"""What the API server may rely on when it reads and writes, whichever store stands behind it."""

from __future__ import annotations

import asyncio

import pytest
from tests.contract.store.builders import a_key, drop, names, put, saying
from tests.contract.store.conftest import Opener

from springtide.local.store.backend import (
    CompactedError,
    FutureRevisionError,
    Record,
    StaleError,
    Store,
    StoreError,
)
from springtide.local.store.history import Limits


async def test_an_empty_store_is_at_revision_zero_and_lists_nothing(store: Store) -> None:
    assert (store.revision, store.compacted) == (0, 0)
    assert store.get(a_key()) is None
    assert store.list("configmaps") == store.list_at("configmaps", 0) == []


async def test_a_created_record_is_returned_and_can_be_read(store: Store) -> None:
    record = await store.write(a_key(), None, saying("hello"))

    assert record == Record(a_key(), 1, b"hello@1")
    assert store.get(a_key()) == record
    assert store.revision == 1


async def test_a_replaced_record_has_a_higher_revision_and_the_old_one_is_unchanged(store: Store) -> None:
    first = await put(store, "a", "one")
    second = await store.write(a_key(), first, saying("two"))

    assert (first.revision, first.body) == (1, b"one@1")
    assert store.get(a_key()) == second == Record(a_key(), 2, b"two@2")


async def test_a_deleted_record_is_gone_and_its_last_state_is_returned(store: Store) -> None:
    first = await put(store, "a")
    last = await store.delete(a_key(), first, saying("bye"))

    assert last == Record(a_key(), 2, b"bye@2")
    assert store.get(a_key()) is None
    assert store.list("configmaps") == []


async def test_an_equal_copy_of_the_record_counts_as_seen(store: Store) -> None:
    await put(store, "a", "one")

    assert (await store.write(a_key(), Record(a_key(), 1, b"one@1"), saying("two"))).revision == 2


async def test_creating_what_exists_is_stale(store: Store) -> None:
    await put(store, "a")

    with pytest.raises(StaleError):
        await store.write(a_key(), None, saying("again"))
    assert store.revision == 1


@pytest.mark.parametrize("gone", [True, False], ids=["deleted", "replaced"])
async def test_changing_what_was_changed_meanwhile_is_stale(store: Store, gone: bool) -> None:
    seen = await put(store, "a")
    await (drop(store, "a") if gone else put(store, "a"))
    now = store.get(a_key())

    with pytest.raises(StaleError):
        await store.write(a_key(), seen, saying("late"))
    with pytest.raises(StaleError):
        await store.delete(a_key(), seen, saying("late"))
    assert store.get(a_key()) == now
    assert store.revision == 2


async def test_a_record_deleted_and_created_again_is_not_the_one_that_was_seen(store: Store) -> None:
    seen = await put(store, "a")
    await drop(store, "a")
    await put(store, "a")

    with pytest.raises(StaleError):
        await store.write(a_key(), seen, saying("late"))


async def test_the_body_is_encoded_exactly_once_with_the_revision_of_the_record(store: Store) -> None:
    asked: list[int] = []

    def encode(revision: int) -> bytes:
        asked.append(revision)
        return b"{}"

    record = await store.write(a_key(), None, encode)
    assert asked == [record.revision]


async def test_a_stale_write_is_not_encoded(store: Store) -> None:
    await put(store, "a")
    with pytest.raises(StaleError):
        await store.write(a_key(), None, lambda revision: pytest.fail("encoded"))


async def test_a_body_that_cannot_be_encoded_changes_nothing(store: Store) -> None:
    def encode(revision: int) -> bytes:
        raise ValueError("no such body")

    with pytest.raises(ValueError, match="no such body"):
        await store.write(a_key(), None, encode)

    assert store.list("configmaps") == []
    assert (await put(store, "a")).key == a_key()


async def test_a_list_is_sorted_by_namespace_then_name_and_knows_its_resource(store: Store) -> None:
    for namespace, name in [("b", "x"), ("a", "z"), ("", "c"), ("a", "y"), ("a-b", "w")]:
        await put(store, a_key(name, namespace))
    await put(store, a_key("other", "a", "secrets"))

    assert names(store.list("configmaps")) == ["c", "y", "z", "w", "x"]
    assert names(store.list("configmaps", "a")) == ["y", "z"]
    assert names(store.list("secrets")) == ["other"]
    assert store.list("configmaps", "nowhere") == store.list("nothing") == []


async def test_a_list_handed_out_does_not_change_afterwards(store: Store) -> None:
    await put(store, "a", "one")
    before = store.list("configmaps")
    await put(store, "a", "two")
    await put(store, "b")

    assert [record.body for record in before] == [b"one@1"]


async def test_an_earlier_list_is_what_was_listed_then(store: Store) -> None:
    listed = {0: store.list("configmaps")}
    for step in range(30):
        key = a_key("abc"[step % 3], "mn"[step % 2])
        if step % 5 == 4 and store.get(key):
            await drop(store, key)
        else:
            await put(store, key, str(step))
        listed[store.revision] = store.list("configmaps")

    for revision, expected in listed.items():
        assert store.list_at("configmaps", revision) == expected
        only_m = [record for record in expected if record.key.namespace == "m"]
        assert store.list_at("configmaps", revision, "m") == only_m


async def test_an_earlier_list_can_be_had_only_within_the_kept_history(opened: Opener) -> None:
    store = await opened(Limits(events=8))
    for _ in range(20):
        await put(store, "a")

    assert 11 <= store.compacted < 20
    assert [record.revision for record in store.list_at("configmaps", store.compacted)] == [store.compacted]
    with pytest.raises(CompactedError):
        store.list_at("configmaps", store.compacted - 1)
    with pytest.raises(FutureRevisionError):
        store.list_at("configmaps", 21)


async def test_nothing_is_seen_before_it_is_durable(store: Store) -> None:
    writing = asyncio.create_task(store.write(a_key(), None, saying("soon")))
    await asyncio.sleep(0)

    assert store.get(a_key()) is None
    assert store.list("configmaps") == []
    assert store.revision == 0
    assert store.get(a_key()) is None
    assert await writing == store.get(a_key())


async def test_writers_of_different_objects_all_succeed_with_revisions_of_their_own(store: Store) -> None:
    records = await asyncio.gather(*(put(store, f"n{i}") for i in range(100)))

    assert sorted(record.revision for record in records) == list(range(1, 101))
    assert store.revision == 100
    assert len(store.list("configmaps")) == 100


async def test_of_writers_that_saw_the_same_record_exactly_one_wins(store: Store) -> None:
    seen = await put(store, "a")
    writes = (store.write(a_key(), seen, saying(f"w{i}")) for i in range(20))
    outcomes = await asyncio.gather(*writes, return_exceptions=True)

    winners = [outcome for outcome in outcomes if isinstance(outcome, Record)]
    assert winners == [store.get(a_key())]
    assert all(isinstance(outcome, StaleError) for outcome in outcomes if outcome not in winners)


async def test_a_write_behind_a_pending_delete_is_judged_after_it(store: Store) -> None:
    seen = await put(store, "a")
    outcomes = await asyncio.gather(
        store.delete(a_key(), seen, saying("bye")),
        store.write(a_key(), seen, saying("late")),
        store.write(a_key(), None, saying("new")),
        return_exceptions=True,
    )

    assert isinstance(outcomes[1], StaleError)
    assert outcomes[2] == store.get(a_key()) == Record(a_key(), 3, b"new@3")


async def test_a_writer_that_gives_up_leaves_its_write_and_nobody_hanging(store: Store) -> None:
    writing = asyncio.create_task(store.write(a_key(), None, saying("one")))
    await asyncio.sleep(0)
    follower = asyncio.create_task(store.write(a_key(), None, saying("two")))
    await asyncio.sleep(0)
    writing.cancel()

    with pytest.raises(StaleError):
        await follower
    with pytest.raises(asyncio.CancelledError):
        await writing
    assert store.get(a_key()) == Record(a_key(), 1, b"one@1")


async def test_closing_finishes_the_writes_under_way_and_refuses_later_ones(store: Store) -> None:
    writing = asyncio.create_task(store.write(a_key(), None, saying("one")))
    await asyncio.sleep(0)
    waiting = asyncio.create_task(store.write(a_key(), None, saying("two")))
    await asyncio.sleep(0)
    await store.close()

    assert (await writing).revision == 1
    with pytest.raises(StoreError, match="closed"):
        await waiting
    with pytest.raises(StoreError, match="closed"):
        await put(store, "b")
    await store.close()
