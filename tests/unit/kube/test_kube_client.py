# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio

import msgspec
import pytest
from tests.unit.kube.fake_api import FakeApi, answer, status

from springtide.kube import errors
from springtide.kube.client import REPEATS, Client
from springtide.kube.request import DeleteOptions, Patch, Request, Response, Scope
from springtide.kube.resources import CONFIGMAPS, PODS, Key

KEY = Key("default", "c")

pytestmark = pytest.mark.looptime


async def test_an_object_is_posted_to_the_namespace_in_its_metadata(api: FakeApi, client: Client) -> None:
    created = await client.create(CONFIGMAPS, CONFIGMAPS.describe(KEY) | {"data": {"a": "b"}})
    assert created["metadata"]["resourceVersion"] == "101"
    assert api.requests[0].target == "/api/v1/namespaces/default/configmaps"


async def test_a_subresource_is_posted_on_its_object(api: FakeApi, client: Client) -> None:
    api.answers.append(answer({"kind": "Status"}, 201))
    await client.create(PODS, {"kind": "Binding"}, on=Key("default", "p"), subresource="binding")
    assert api.requests[0].path == "/api/v1/namespaces/default/pods/p/binding"


async def test_find_gives_none_where_get_raises(client: Client) -> None:
    assert await client.find(CONFIGMAPS, KEY) is None
    with pytest.raises(errors.NotFound):
        await client.get(CONFIGMAPS, KEY)


async def test_a_list_is_fetched_in_pages_and_every_item_names_its_kind(api: FakeApi) -> None:
    for number in range(5):
        api.put(CONFIGMAPS, Key("default", f"c{number}"))
    listing = await Client(api, page=2).list(CONFIGMAPS, Scope(namespace="default"))
    assert [item["metadata"]["name"] for item in listing.items] == ["c0", "c1", "c2", "c3", "c4"]
    assert {(item["apiVersion"], item["kind"]) for item in listing.items} == {("v1", "ConfigMap")}
    assert listing.version == str(api.version)
    assert [request.query.get("continue") for request in api.requests] == [None, "2", "4"]


async def test_replacing_an_outdated_object_is_a_conflict(api: FakeApi, client: Client) -> None:
    old = api.put(CONFIGMAPS, KEY)
    api.put(CONFIGMAPS, KEY, data={"a": "b"})
    with pytest.raises(errors.Conflict):
        await client.replace(CONFIGMAPS, old)


async def test_a_patch_is_a_merge_patch_unless_said_otherwise(api: FakeApi, client: Client) -> None:
    api.put(CONFIGMAPS, KEY)
    await client.patch(CONFIGMAPS, KEY, {"data": {"a": "b"}})
    api.answers.append(answer({}))
    await client.patch(CONFIGMAPS, KEY, [{"op": "remove", "path": "/data"}], Patch.JSON)
    assert [request.headers["Content-Type"] for request in api.requests] == [Patch.MERGE, Patch.JSON]


@pytest.mark.parametrize("force", [True, False])
async def test_apply_names_its_manager_and_the_kind(api: FakeApi, client: Client, force: bool) -> None:
    api.answers.append(answer({}))
    obj = {"metadata": {"name": "c", "namespace": "default"}, "data": {"a": "b"}}
    await client.apply(CONFIGMAPS, obj, field_manager="me", force=force)
    (request,) = api.requests
    assert request.headers["Content-Type"] == Patch.APPLY
    assert request.query == {"fieldManager": "me", "force": str(force).lower()}
    assert msgspec.json.decode(request.body)["kind"] == "ConfigMap"


async def test_deletion_carries_its_options(api: FakeApi, client: Client) -> None:
    api.put(CONFIGMAPS, KEY)
    await client.delete(CONFIGMAPS, KEY, DeleteOptions(uid="u"))
    assert msgspec.json.decode(api.requests[0].body)["preconditions"] == {"uid": "u"}


async def test_a_collection_is_deleted_by_selector(api: FakeApi, client: Client) -> None:
    api.answers.append(answer({}))
    await client.delete_collection(CONFIGMAPS, Scope(namespace="default", labels="a=b"))
    assert api.requests[0].target == "/api/v1/namespaces/default/configmaps?labelSelector=a%3Db"


@pytest.mark.parametrize("code", [429, 503])
async def test_a_request_is_repeated_after_the_time_the_server_asks_for(
    api: FakeApi, client: Client, code: int
) -> None:
    api.put(CONFIGMAPS, KEY)
    api.answers.append(answer({}, code, {"Retry-After": "3"}))
    start = asyncio.get_running_loop().time()
    assert (await client.get(CONFIGMAPS, KEY))["metadata"]["name"] == "c"
    assert asyncio.get_running_loop().time() - start == pytest.approx(3)


async def test_a_server_that_keeps_asking_to_wait_is_given_up(api: FakeApi, client: Client) -> None:
    api.answers += [answer({}, 503, {"Retry-After": "1"})] * 100
    with pytest.raises(errors.Unavailable):
        await client.get(CONFIGMAPS, KEY)
    assert len(api.requests) == REPEATS + 1


@pytest.mark.parametrize(
    ("code", "reason", "expected"),
    [(429, "TooManyRequests", errors.TooManyRequests), (500, "InternalError", errors.ServerError)],
)
async def test_without_retry_after_nothing_is_repeated(
    api: FakeApi, client: Client, code: int, reason: str, expected: type[errors.ApiError]
) -> None:
    api.answers.append(status(code, reason))
    with pytest.raises(expected):
        await client.get(CONFIGMAPS, KEY)
    assert len(api.requests) == 1


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>please log in</html>",
        b"[]",
        b"3",
        b'{"items": [',
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"metadata": 3}',
        b'{"metadata": {"name": null}}',
        b'{"metadata": {"name": "c", "labels": ["a"]}}',
        b'{"metadata": {"name": "c", "annotations": "a"}}',
    ],
)
async def test_an_answer_that_is_no_object_is_malformed(api: FakeApi, client: Client, body: bytes) -> None:
    api.answers.append(Response(200, {}, body))
    with pytest.raises(errors.Malformed, match="of a Kubernetes API"):
        await client.get(CONFIGMAPS, KEY)


@pytest.mark.parametrize(
    "body",
    [b'{"items": []}', b'{"metadata": null}', b'{"metadata": {}, "items": [1]}', b'{"metadata": {}, "items": [{}]}'],
)
async def test_a_list_of_anything_else_is_malformed(api: FakeApi, client: Client, body: bytes) -> None:
    api.answers.append(Response(200, {}, body))
    with pytest.raises(errors.Malformed):
        await client.list(CONFIGMAPS)


async def test_a_list_without_an_end_is_malformed(api: FakeApi, client: Client) -> None:
    api.answers += [answer({"metadata": {"continue": "more"}, "items": []})] * 2
    with pytest.raises(errors.Malformed, match="never ends"):
        await client.list(CONFIGMAPS)


@pytest.mark.parametrize("body", [b"", b"[]", b"<html>"])
async def test_a_document_is_json_of_an_object(api: FakeApi, client: Client, body: bytes) -> None:
    api.answers.append(Response(200, {}, body))
    with pytest.raises(errors.Malformed):
        await client.document(Request("GET", "/version"))
