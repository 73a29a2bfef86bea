# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from tests.unit.kube.fake_api import FakeApi, settle

from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.informer import Informer, Informers
from springtide.kube.request import Scope
from springtide.kube.resources import CONFIGMAPS, NODES, PODS, Key, Obj

pytestmark = pytest.mark.looptime

A, B, C = Key("default", "a"), Key("default", "b"), Key("other", "c")


@asynccontextmanager
async def running(*informers: Informer[Any]) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(informer.run()) for informer in informers]
    await settle()
    yield
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


@pytest.fixture(params=["initial events", "list and watch"])
def api(request: pytest.FixtureRequest) -> FakeApi:
    """Every test runs against a server that can stream the initial contents and one that cannot."""
    api = FakeApi()
    api.watch_list = request.param == "initial events"
    return api


@pytest.fixture
def informer(client: Client) -> Informer[dict[str, Any]]:
    return Informer(client, PODS)


async def test_it_is_synced_once_it_holds_what_there_is(api: FakeApi, informer: Informer[Any]) -> None:
    api.put(PODS, A)
    assert not informer.synced
    async with running(informer):
        await informer.wait_synced()
        assert set(informer) == {A}


async def test_an_empty_resource_syncs_too(informer: Informer[Any]) -> None:
    async with running(informer):
        assert informer.synced


async def test_it_follows_what_happens(api: FakeApi, informer: Informer[Any]) -> None:
    api.put(PODS, A)
    async with running(informer):
        api.put(PODS, B, spec={"nodeName": "n"})
        api.remove(PODS, A)
        await settle()
        assert set(informer) == {B}
        pod = informer.get(B)
        assert pod is not None
        assert (pod["kind"], pod["spec"]) == ("Pod", {"nodeName": "n"})


async def test_listed_and_watched_objects_look_the_same(api: FakeApi, informer: Informer[Any]) -> None:
    api.put(PODS, A)
    async with running(informer):
        api.put(PODS, B)
        await settle()
        assert {(pod["apiVersion"], pod["kind"]) for pod in informer.objects()} == {("v1", "Pod")}


async def test_handlers_hear_the_keys_of_all_that_is_and_becomes(api: FakeApi, informer: Informer[Any]) -> None:
    heard: list[Key] = []
    informer.on_change(heard.append)
    api.put(PODS, A)
    async with running(informer):
        api.put(PODS, B)
        api.put(PODS, A, spec={})
        api.remove(PODS, B)
        await settle()
    assert heard == [A, B, A, B]


async def test_a_late_handler_hears_of_what_is_there(api: FakeApi, informer: Informer[Any]) -> None:
    api.put(PODS, A)
    heard: list[Key] = []
    async with running(informer):
        informer.on_change(heard.append)
    assert heard == [A]


async def test_mapped_keys_come_from_the_object_before_and_after(api: FakeApi, informer: Informer[Any]) -> None:
    heard: list[str] = []
    informer.on_change(heard.append, keys=lambda pod: [pod["spec"]["nodeName"]])
    api.put(PODS, A, spec={"nodeName": "n1"})
    async with running(informer):
        api.put(PODS, A, spec={"nodeName": "n2"})
        api.put(PODS, A, spec={"nodeName": "n2"}, status={})
        api.remove(PODS, A)
        await settle()
    assert heard == ["n1", "n1", "n2", "n2", "n2"]


async def test_a_watch_that_ends_is_taken_up_where_it_ended(api: FakeApi, informer: Informer[Any]) -> None:
    async with running(informer):
        api.put(PODS, A)
        await settle()
        seen = api.version
        await asyncio.sleep(300)
        api.end_streams()
        api.put(PODS, B)
        await settle()
        assert set(informer) == {A, B}
        assert api.requests[-1].query["resourceVersion"] == str(seen)
        assert "sendInitialEvents" not in api.requests[-1].query


async def test_a_bookmark_moves_the_point_to_take_up_from(api: FakeApi, informer: Informer[Any]) -> None:
    async with running(informer):
        api.version = 5000
        api.bookmark()
        await asyncio.sleep(300)
        api.end_streams()
        await settle()
        assert api.requests[-1].query["resourceVersion"] == "5000"


async def test_lost_history_is_made_up_for_and_only_differences_are_heard(
    api: FakeApi, informer: Informer[Any]
) -> None:
    heard: list[Key] = []
    for key in (A, B, C):
        api.put(PODS, key)
    async with running(informer):
        informer.on_change(heard.append)
        heard.clear()
        api.end_streams(errors.Unreachable("cut off"))
        await settle()
        api.put(PODS, A, spec={"new": True})
        api.remove(PODS, B)
        api.forget_history()
        await asyncio.sleep(60)
        assert set(informer) == {A, C}
        assert sorted(heard) == [A, B]
        api.put(PODS, B)
        await settle()
        assert B in informer


async def test_an_unreachable_server_is_tried_ever_more_slowly_and_the_cache_stays(
    api: FakeApi, informer: Informer[Any], caplog: pytest.LogCaptureFixture
) -> None:
    api.put(PODS, A)
    async with running(informer):
        api.offline = True
        api.end_streams()
        api.requests.clear()
        await asyncio.sleep(600)
        assert 20 <= len(api.requests) <= 40
        assert set(informer) == {A}
        assert "Cannot watch pods: offline" in caplog.text
        api.offline = False
        api.put(PODS, B)
        await asyncio.sleep(60)
        assert set(informer) == {A, B}


async def test_a_server_that_ends_every_watch_at_once_is_not_hammered(api: FakeApi, informer: Informer[Any]) -> None:
    async with running(informer):
        api.requests.clear()
        for _ in range(600):
            api.end_streams()
            await asyncio.sleep(0.1)
        assert len(api.requests) < 20


async def test_one_object_that_does_not_fit_the_type_hides_no_other(
    api: FakeApi, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    class Pod(msgspec.Struct):
        spec: dict[str, int] = {}

    api.put(PODS, A, spec={"x": 1})
    api.put(PODS, B, spec="wrong")
    informer = Informer(client, PODS, into=Pod)
    async with running(informer):
        api.put(PODS, C, spec="wrong")
        api.put(PODS, C, spec={"x": 2})
        await settle()
        assert {key: informer.get(key) for key in informer} == {A: Pod({"x": 1}), C: Pod({"x": 2})}
    assert 'Ignoring pods "default/b"' in caplog.text


async def test_stopping_closes_the_connection(api: FakeApi, informer: Informer[Any]) -> None:
    async with running(informer):
        assert len(api.streams) == 1
    assert (api.streams, api.closed_streams) == ([], 1)


async def test_a_scope_narrows_down_what_is_asked_for(api: FakeApi, client: Client) -> None:
    async with running(Informer(client, PODS, Scope(namespace="default", labels="a=b"))):
        assert {request.path for request in api.requests} == {"/api/v1/namespaces/default/pods"}
        assert {request.query["labelSelector"] for request in api.requests} == {"a=b"}


async def test_a_server_that_cannot_stream_the_contents_is_asked_only_once(
    api: FakeApi, informer: Informer[Any], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with running(informer):
        api.end_streams(errors.Unreachable("cut off"))
        await settle()
        api.forget_history()
        api.version += 10
        api.forget_history()
        await asyncio.sleep(60)
        asked = sum("sendInitialEvents" in request.query for request in api.requests)
    assert asked == (2 if api.watch_list else 1)


async def test_equal_wishes_share_an_informer(client: Client) -> None:
    informers = Informers(client)
    assert informers.of(PODS) is informers.of(PODS, Scope())
    assert informers.of(PODS) is not informers.of(PODS, Scope(namespace="default"))
    assert informers.of(PODS) is not informers.of(CONFIGMAPS)


async def test_informers_run_together_and_newcomers_start_at_once(api: FakeApi, client: Client) -> None:
    informers = Informers(client)
    pods = informers.of(PODS)
    task = asyncio.create_task(informers.run())
    await informers.wait_synced()
    assert pods.synced
    nodes = informers.of(NODES)
    await asyncio.wait_for(nodes.wait_synced(), 1)
    await settle()
    assert len(api.streams) == 2
    informers.drop(pods)
    await settle()
    assert len(api.streams) == 1
    assert informers.of(PODS) is not pods
    task.cancel()
    await asyncio.wait((task,))
    assert api.streams == []


# Own writes, ahead of the watch. What the api was told is in the watch's queue until the loop turns.


def encoded(obj: Obj) -> bytes:
    return msgspec.json.encode(obj)


def a_pod(key: Key, version: str, **fields: Any) -> Obj:
    """As an answer that the watch knows nothing of yet."""
    pod = PODS.describe(key) | fields
    pod["metadata"]["resourceVersion"] = version
    return pod


async def test_what_is_absorbed_is_there_at_once_and_its_echo_is_no_news(api: FakeApi, informer: Informer[Any]) -> None:
    heard: list[Key] = []
    informer.on_change(heard.append)
    async with running(informer):
        informer.absorb(encoded(api.put(PODS, A, spec={"x": 1})))
        pod = informer.get(A)
        assert pod is not None
        assert pod["spec"] == {"x": 1}
        await settle()
        assert heard == [A]
        api.put(PODS, A, spec={"x": 2})
        await settle()
    assert heard == [A, A]


async def test_older_events_do_not_undo_it(api: FakeApi, informer: Informer[Any]) -> None:
    seen: list[int] = []
    api.put(PODS, A, spec={"x": 0})
    async with running(informer):
        informer.on_change(lambda key: seen.append((informer.get(key) or {})["spec"]["x"]))
        api.put(PODS, A, spec={"x": 1})
        informer.absorb(encoded(api.put(PODS, A, spec={"x": 2})))
        api.put(PODS, A, spec={"x": 3})
        await settle()
    assert seen == [0, 2, 3]


async def test_events_of_others_are_still_heard_meanwhile(api: FakeApi, informer: Informer[Any]) -> None:
    async with running(informer):
        api.put(PODS, B)
        informer.absorb(encoded(api.put(PODS, A)))
        await settle()
        assert set(informer) == {A, B}


async def test_the_deletion_of_an_earlier_object_of_that_name_does_not_remove_it(
    api: FakeApi, informer: Informer[Any]
) -> None:
    api.put(PODS, A, spec={"x": 1})
    async with running(informer):
        api.remove(PODS, A)
        informer.absorb(encoded(api.put(PODS, A, spec={"x": 2})))
        await settle()
        pod = informer.get(A)
        assert pod is not None
        assert pod["spec"] == {"x": 2}
        api.remove(PODS, A)
        await settle()
        assert A not in informer


async def test_an_object_absorbed_as_it_was_deleted_goes_with_its_event(api: FakeApi, informer: Informer[Any]) -> None:
    """Servers answer a deletion with the object, in the version of its deletion."""
    api.put(PODS, A)
    async with running(informer):
        api.remove(PODS, A)
        informer.absorb(encoded(a_pod(A, str(api.version))))
        assert A in informer
        await settle()
        assert A not in informer


async def test_what_the_watch_has_been_past_is_not_absorbed(api: FakeApi, informer: Informer[Any]) -> None:
    async with running(informer):
        answer = encoded(api.put(PODS, A, spec={"x": 1}))
        api.put(PODS, A, spec={"x": 2})
        gone = encoded(api.put(PODS, B))
        api.remove(PODS, B)
        await settle()
        informer.absorb(answer)
        informer.absorb(gone)
        pod = informer.get(A)
        assert pod is not None
        assert (pod["spec"], B in informer) == ({"x": 2}, False)


async def test_a_list_from_before_it_keeps_it_and_a_later_one_does_not(api: FakeApi, informer: Informer[Any]) -> None:
    api.put(PODS, A)
    async with running(informer):
        informer.absorb(encoded(a_pod(B, "500")))
        await _lose_history(api)
        assert set(informer) == {A, B}
        api.version = 500
        await _lose_history(api)
        assert set(informer) == {A}


async def test_a_list_from_before_it_does_not_undo_a_change(api: FakeApi, informer: Informer[Any]) -> None:
    api.put(PODS, A, spec={"x": 1})
    async with running(informer):
        informer.absorb(encoded(a_pod(A, "500", spec={"x": 2})))
        await _lose_history(api)
        pod = informer.get(A)
        assert pod is not None
        assert pod["spec"] == {"x": 2}


async def test_versions_that_are_no_numbers_are_left_to_the_watch(api: FakeApi, informer: Informer[Any]) -> None:
    async with running(informer):
        informer.absorb(encoded(a_pod(A, "one")))
        informer.absorb(encoded(a_pod(B, "")))
        assert set(informer) == set()


async def test_before_the_first_contents_nothing_is_absorbed(informer: Informer[Any]) -> None:
    informer.absorb(encoded(a_pod(A, "500")))
    assert (set(informer), informer.synced) == (set(), False)


async def test_indexes_follow_what_is_absorbed(api: FakeApi, informer: Informer[Any]) -> None:
    informer.add_index("node", lambda pod: [pod["spec"]["nodeName"]])
    async with running(informer):
        informer.absorb(encoded(a_pod(A, "500", spec={"nodeName": "n"})))
        assert informer.keys_where("node", "n") == {A}


async def _lose_history(api: FakeApi) -> None:
    api.end_streams(errors.Expired("too old"))
    await settle()
    await asyncio.sleep(60)
