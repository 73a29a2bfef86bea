# SPDX-License-Identifier: Apache-2.0
"""Informers, controllers, leader election and events against servers that mean it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Any

import msgspec
import pytest
from tests.integration.kube.conftest import Server

from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.controller import Controller, owned_by, run
from springtide.kube.events import EventRecorder
from springtide.kube.informer import Informer, Informers
from springtide.kube.leader import LeaderElector, Terms
from springtide.kube.request import Scope
from springtide.kube.resources import CONFIGMAPS, EVENTS, LEASES, Key, Obj
from springtide.kube.watch import Bookmark, Change, Decoder, watch

pytestmark = pytest.mark.asyncio(loop_scope="module")

MINE = {"springtide.dev/test": "yes"}


def mine(namespace: str, **more: Any) -> Scope:
    return Scope(namespace=namespace, labels="springtide.dev/test=yes", **more)


def a_configmap(key: Key, **data: str) -> Obj:
    obj = CONFIGMAPS.describe(key) | {"data": data}
    obj["metadata"]["labels"] = dict(MINE)
    return obj


@asynccontextmanager
async def in_background(*coroutines: Any) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(coroutine) for coroutine in coroutines]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def until(informer: Informer[Any], holds: Callable[[], bool]) -> None:
    """Wait for the informer to have seen something, without polling."""
    changed = asyncio.Event()
    informer.on_change(lambda key: changed.set())
    async with asyncio.timeout(10):
        while not holds():
            changed.clear()
            await changed.wait()


class Projection(msgspec.Struct):
    data: dict[str, str] = {}


@pytest.fixture(params=["initial events", "list and watch"])
def prefers_initial_events(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "initial events")


async def test_an_informer_follows_what_happens(client: Client, namespace: str, prefers_initial_events: bool) -> None:
    a, b = Key(namespace, "a"), Key(namespace, "b")
    await client.create(CONFIGMAPS, a_configmap(a, x="1"))
    informer = Informer(client, CONFIGMAPS, mine(namespace), into=Projection)
    informer._initial_events = prefers_initial_events
    informer.add_index("x", lambda obj: [obj.data.get("x", "")])
    async with in_background(informer.run()):
        await asyncio.wait_for(informer.wait_synced(), 10)
        assert informer.where("x", "1") == [Projection({"x": "1"})]
        await client.create(CONFIGMAPS, a_configmap(b, x="2"))
        await until(informer, lambda: b in informer)
        await client.patch(CONFIGMAPS, b, {"data": {"x": "1"}})
        await until(informer, lambda: informer.keys_where("x", "1") == {a, b})
        await client.delete(CONFIGMAPS, a)
        await until(informer, lambda: a not in informer)
        # Out of the selector's sight is gone as well.
        await client.patch(CONFIGMAPS, b, {"metadata": {"labels": None}})
        await until(informer, lambda: len(informer) == 0)


async def test_an_informer_of_metadata_only_keeps_nothing_else(client: Client, namespace: str) -> None:
    await client.create(CONFIGMAPS, a_configmap(Key(namespace, "a"), x="1"))
    informer = Informer(client, CONFIGMAPS, mine(namespace, metadata_only=True))
    async with in_background(informer.run()):
        await asyncio.wait_for(informer.wait_synced(), 10)
        await client.create(CONFIGMAPS, a_configmap(Key(namespace, "b"), x="1"))
        await until(informer, lambda: len(informer) == 2)
        assert all("data" not in obj for obj in informer.objects())


async def test_a_streamed_start_ends_with_its_bookmark(api_server: Server, client: Client, namespace: str) -> None:
    await client.create(CONFIGMAPS, a_configmap(Key(namespace, "a")))
    decoder: Decoder[Obj] = Decoder(dict, CONFIGMAPS)
    async with aclosing(watch(client, CONFIGMAPS, mine(namespace), decoder, initial_events=True)) as events:
        try:
            change, bookmark = await anext(events), await anext(events)
        except errors.ServerError:
            # An etcd of before 3.5 cannot tell how far a watch has come; then informers list instead.
            assert api_server.name == "oracle"
            return
    assert isinstance(change, Change)
    assert (change.type, change.key) == ("ADDED", Key(namespace, "a"))
    assert isinstance(bookmark, Bookmark)
    assert bookmark.initial_events_end
    assert int(bookmark.version) >= int(change.version)


async def test_a_watch_goes_on_from_the_version_of_a_list(client: Client, namespace: str) -> None:
    listing = await client.list(CONFIGMAPS, mine(namespace))
    await client.create(CONFIGMAPS, a_configmap(Key(namespace, "a")))
    await client.delete(CONFIGMAPS, Key(namespace, "a"))
    decoder: Decoder[Obj] = Decoder(dict, CONFIGMAPS)
    kinds = []
    async with aclosing(watch(client, CONFIGMAPS, mine(namespace), decoder, version=listing.version)) as events:
        async for event in events:
            if isinstance(event, Change):
                kinds.append(event.type)
            if len(kinds) == 2:
                break
    assert kinds == ["ADDED", "DELETED"]


async def test_controllers_bring_about_what_they_are_for(client: Client, namespace: str) -> None:
    """Each config map marked as a parent gets one child; a deleted child comes back."""
    informers = Informers(client)
    maps = informers.of(CONFIGMAPS, mine(namespace))
    parents_of = owned_by(CONFIGMAPS)

    async def reconcile(key: Key) -> None:
        parent = maps.get(key)
        if parent is None or parents_of(parent):
            return
        child = a_configmap(Key(key.namespace, f"{key.name}-child"), of=key.name)
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "controller": True, "name": key.name}
        child["metadata"]["ownerReferences"] = [owner | {"uid": parent["metadata"]["uid"]}]
        await client.apply(CONFIGMAPS, child, field_manager="test")

    controller = Controller("children", reconcile, workers=4)
    controller.watches(maps)
    controller.watches(maps, keys=parents_of)
    names = {f"p{number}" for number in range(10)}
    async with in_background(run(informers, [controller])):
        for name in names:
            await client.create(CONFIGMAPS, a_configmap(Key(namespace, name)))
        await until(maps, lambda: set(maps) == {Key(namespace, n) for name in names for n in (name, f"{name}-child")})
        victim = Key(namespace, "p3-child")
        uid = (await client.get(CONFIGMAPS, victim))["metadata"]["uid"]
        await client.delete(CONFIGMAPS, victim)
        await until(maps, lambda: (maps.get(victim) or {"metadata": {"uid": uid}})["metadata"]["uid"] != uid)


async def test_one_candidate_leads_and_the_next_takes_over(client: Client, namespace: str) -> None:
    key, terms = Key(namespace, "leader"), Terms(duration=3, renew_deadline=2, retry=0.1)
    elected, stop, order = asyncio.Event(), asyncio.Event(), []

    async def first() -> None:
        order.append("first")
        elected.set()
        await stop.wait()

    async def second() -> None:
        order.append("second")

    leading = asyncio.create_task(LeaderElector(client, key, "one", terms).run(first))
    async with asyncio.timeout(10):
        await elected.wait()
        waiting = asyncio.create_task(LeaderElector(client, key, "two", terms).run(second))
        holder = (await client.get(LEASES, key))["spec"]["holderIdentity"]
        stop.set()
        await asyncio.gather(leading, waiting)
    assert holder == "one"
    assert order == ["first", "second"]
    spec = (await client.get(LEASES, key))["spec"]
    assert (spec.get("holderIdentity") or "", spec["leaseTransitions"]) == ("", 1)


async def test_events_are_written_and_counted(client: Client, namespace: str) -> None:
    about = await client.create(CONFIGMAPS, a_configmap(Key(namespace, "a")))
    recorder = EventRecorder(client, "tester")
    async with in_background(recorder.run()):
        for _ in range(3):
            recorder.normal(about, "Seen", "somebody looked")
        recorder.warning(about, "Lost", "nobody looked")
        await asyncio.wait_for(recorder.flush(), 10)
    scope = Scope(namespace=namespace, fields=f"involvedObject.uid={about['metadata']['uid']}")
    events = {event["reason"]: event for event in (await client.list(EVENTS, scope)).items}
    assert {reason: (event["type"], event["count"]) for reason, event in events.items()} == {
        "Seen": ("Normal", 3),
        "Lost": ("Warning", 1),
    }
