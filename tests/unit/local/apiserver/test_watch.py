# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any, cast

import pytest
from tests.unit.local.apiserver.builders import a_call, a_record, a_resource, drop, put, registry

from springtide.local.access.attributes import Authorizer
from springtide.local.apiserver.context import Admission, Context
from springtide.local.apiserver.replies import Form, Stream
from springtide.local.apiserver.verbs import watch as verb
from springtide.local.apiserver.verbs.watch import BOOKMARK_EVERY, _meaning, watch
from springtide.local.status import StatusError
from springtide.local.store.backend import Change, Event, Record, Store
from springtide.local.store.history import Limits
from springtide.local.store.opening import open_store

MAPS = a_resource("configmaps")


@pytest.mark.parametrize(
    ("change", "before", "now", "meaning"),
    [
        (Change.ADDED, None, True, Change.ADDED),
        (Change.ADDED, None, False, None),
        (Change.MODIFIED, True, True, Change.MODIFIED),
        (Change.MODIFIED, False, True, Change.ADDED),
        (Change.MODIFIED, True, False, Change.DELETED),
        (Change.MODIFIED, False, False, None),
        (Change.DELETED, True, False, Change.DELETED),
        (Change.DELETED, True, True, Change.DELETED),
        (Change.DELETED, False, True, None),
    ],
)
def test_a_change_means_what_it_does_to_the_wanted(
    change: Change, before: bool | None, now: bool, meaning: Change | None
) -> None:
    old, new = a_record(MAPS, "old"), a_record(MAPS, "new")
    event = Event(change, new, None if before is None else old)
    assert _meaning(event, lambda record: bool(before if record is old else now)) == meaning


def a_context(store: Store) -> Context:
    return Context(store, registry(), cast(Authorizer, None), cast(Admission, None))


async def watched(store: Store, query: str, namespace: str = "", form: Form | None = None) -> AsyncIterator[Any]:
    call = a_call(MAPS, query, namespace)
    answer = await watch(a_context(store), call if form is None else replace(call, form=form))
    assert isinstance(answer, Stream)
    async for piece in answer.chunks:
        for line in bytes(piece).splitlines():
            yield json.loads(line)


def brief(event: Any) -> tuple[str, str]:
    meta = event["object"]["metadata"]
    return event["type"], meta.get("name", meta["resourceVersion"])


async def rest(events: AsyncIterator[Any]) -> list[tuple[str, str]]:
    return [brief(event) async for event in events]


@pytest.mark.looptime
async def test_a_watch_ends_when_its_time_is_up_with_a_bookmark_for_those_who_want_one() -> None:
    store = await open_store(None)
    await put(store, MAPS, "a", "ns")
    begun = asyncio.get_running_loop().time()
    assert await rest(watched(store, "timeoutSeconds=30&allowWatchBookmarks=1")) == [("ADDED", "a"), ("BOOKMARK", "1")]
    assert asyncio.get_running_loop().time() - begun == pytest.approx(30)
    assert await rest(watched(store, "timeoutSeconds=30&resourceVersion=1")) == []


@pytest.mark.looptime
async def test_bookmarks_come_while_nothing_happens_and_changes_still_come_after_them() -> None:
    store = await open_store(None)
    await put(store, MAPS, "a", "ns")
    events = watched(store, "allowWatchBookmarks=1&resourceVersion=1")
    assert [brief(await anext(events)) for _ in range(3)] == [("BOOKMARK", "1")] * 3
    assert asyncio.get_running_loop().time() >= 3 * BOOKMARK_EVERY
    await put(store, MAPS, "b", "ns")
    assert brief(await anext(events)) == ("ADDED", "b")


@pytest.mark.looptime
async def test_a_watch_without_bookmarks_survives_silence() -> None:
    store = await open_store(None)
    events = watched(store, "timeoutSeconds=600")
    later = asyncio.create_task(_put_after(store, 5.5 * BOOKMARK_EVERY))
    assert brief(await anext(events)) == ("ADDED", "late")
    await later


async def _put_after(store: Store, seconds: float) -> Record:
    await asyncio.sleep(seconds)
    return await put(store, MAPS, "late", "ns")


@pytest.mark.looptime
async def test_only_what_is_wanted_comes() -> None:
    store = await open_store(None)
    await put(store, MAPS, "a", "ns", metadata={"labels": {"app": "x"}})
    await put(store, MAPS, "other", "elsewhere", metadata={"labels": {"app": "x"}})
    events = watched(store, "labelSelector=app%3Dx&timeoutSeconds=9", "ns")
    assert brief(await anext(events)) == ("ADDED", "a")
    await put(store, MAPS, "a", "ns")
    await put(store, MAPS, "a", "ns", metadata={"labels": {"app": "x"}})
    await drop(store, MAPS, "a", "ns")
    assert await rest(events) == [("DELETED", "a"), ("ADDED", "a"), ("DELETED", "a")]


@pytest.mark.looptime
async def test_initial_events_end_with_a_marked_bookmark() -> None:
    store = await open_store(None)
    await put(store, MAPS, "a", "ns")
    query = "sendInitialEvents=1&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=1&timeoutSeconds=1"
    first, end, _ = [event async for event in watched(store, query)]
    assert brief(first) == ("ADDED", "a")
    assert end["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


@pytest.mark.looptime
async def test_only_the_first_table_has_columns() -> None:
    store = await open_store(None)
    await put(store, MAPS, "a", "ns")
    await put(store, MAPS, "b", "ns")
    form = Form(kind="Table", version="v1", group="meta.k8s.io")
    tables = [event["object"] async for event in watched(store, "timeoutSeconds=1", form=form)]
    assert [bool(table["columnDefinitions"]) for table in tables] == [True, False]


async def test_a_watch_from_a_forgotten_revision_is_told_so() -> None:
    store = await open_store(None, Limits(events=1))
    for _ in range(5):
        await put(store, MAPS, "a", "ns")
    (event,) = [event async for event in watched(store, "resourceVersion=1")]
    assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")


async def test_a_watch_that_falls_behind_is_told_so() -> None:
    store = await open_store(None, Limits(events=2))
    events = watched(store, "")
    waiting = asyncio.ensure_future(anext(events))
    await asyncio.sleep(0)
    await asyncio.gather(*(put(store, MAPS, f"m{n}", "ns") for n in range(9)))
    assert ((await waiting)["type"], await rest_of_types(events)) == ("ERROR", [])


async def rest_of_types(events: AsyncIterator[Any]) -> list[str]:
    return [event["type"] async for event in events]


async def test_watches_with_long_selectors_are_bounded_together_until_they_end(monkeypatch: pytest.MonkeyPatch) -> None:
    ctx = a_context(await open_store(None))
    query = "timeoutSeconds=30&labelSelector=" + ",".join(f"a!=b{index}" for index in range(1000))
    monkeypatch.setattr(verb, "LONG_SELECTORS", 2 * len(query))
    under_way = [await watch(ctx, a_call(MAPS, query, "")) for _ in range(2)]
    with pytest.raises(StatusError) as refused:
        await watch(ctx, a_call(MAPS, query, ""))
    assert refused.value.code == 429
    assert isinstance(await watch(ctx, a_call(MAPS, "labelSelector=a!=b", "")), Stream)
    under_way.pop()
    gc.collect()
    assert isinstance(await watch(ctx, a_call(MAPS, query, "")), Stream)
