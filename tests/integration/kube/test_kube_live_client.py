# SPDX-License-Identifier: Apache-2.0
"""Every verb and every family of errors, against servers that mean it."""

from __future__ import annotations

import asyncio
import ssl

import pytest
from tests.integration.kube.conftest import Server

from springtide.kube import config, errors, request
from springtide.kube.client import Client
from springtide.kube.request import DeleteOptions, Patch, Scope
from springtide.kube.resources import CONFIGMAPS, NAMESPACES, SERVICEACCOUNTS, Key, Obj, Resource

pytestmark = pytest.mark.asyncio(loop_scope="module")

MINE = "springtide.dev/test=yes"


def a_configmap(namespace: str, name: str = "c", **data: str) -> Obj:
    obj = CONFIGMAPS.describe(Key(namespace, name)) | {"data": data}
    obj["metadata"]["labels"] = {"springtide.dev/test": "yes"}
    return obj


async def test_what_was_created_can_be_read(client: Client, namespace: str) -> None:
    created = await client.create(CONFIGMAPS, a_configmap(namespace, a="1"))
    read = await client.get(CONFIGMAPS, Key(namespace, "c"))
    assert read == created
    assert read["data"] == {"a": "1"}


async def test_a_list_is_complete_whatever_the_page_size(client: Client, namespace: str) -> None:
    for number in range(5):
        await client.create(CONFIGMAPS, a_configmap(namespace, f"c{number}"))
    pages = Client(client._transport, page=2)
    listing = await pages.list(CONFIGMAPS, Scope(namespace=namespace, labels=MINE))
    assert [item["metadata"]["name"] for item in listing.items] == ["c0", "c1", "c2", "c3", "c4"]
    assert {(item["apiVersion"], item["kind"]) for item in listing.items} == {("v1", "ConfigMap")}
    assert int(listing.version) > 0


async def test_a_list_may_be_metadata_only(client: Client, namespace: str) -> None:
    await client.create(CONFIGMAPS, a_configmap(namespace, a="1"))
    listing = await client.list(CONFIGMAPS, Scope(namespace=namespace, labels=MINE, metadata_only=True))
    (item,) = listing.items
    assert item["metadata"]["name"] == "c"
    assert "data" not in item


async def test_an_outdated_object_cannot_be_put_back(client: Client, namespace: str) -> None:
    old = await client.create(CONFIGMAPS, a_configmap(namespace, a="1"))
    new = await client.replace(CONFIGMAPS, old | {"data": {"a": "2"}})
    assert new["data"] == {"a": "2"}
    with pytest.raises(errors.Conflict) as caught:
        await client.replace(CONFIGMAPS, old)
    assert (caught.value.code, caught.value.details["name"]) == (409, "c")


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        (Patch.MERGE, {"data": {"a": None, "b": "2"}}),
        (Patch.STRATEGIC, {"data": {"a": None, "b": "2"}}),
        (Patch.JSON, [{"op": "remove", "path": "/data/a"}, {"op": "add", "path": "/data/b", "value": "2"}]),
    ],
)
async def test_each_kind_of_patch_changes_the_object(client: Client, namespace: str, kind: Patch, patch: Obj) -> None:
    await client.create(CONFIGMAPS, a_configmap(namespace, a="1"))
    patched = await client.patch(CONFIGMAPS, Key(namespace, "c"), patch, kind)
    assert patched["data"] == {"b": "2"}


async def test_a_patch_with_an_old_version_is_a_conflict(client: Client, namespace: str) -> None:
    old = await client.create(CONFIGMAPS, a_configmap(namespace))
    await client.patch(CONFIGMAPS, Key.of(old), {"data": {"a": "1"}})
    stale = {"metadata": {"resourceVersion": old["metadata"]["resourceVersion"]}, "data": {"a": "2"}}
    with pytest.raises(errors.Conflict):
        await client.patch(CONFIGMAPS, Key.of(old), stale)


async def test_applied_fields_belong_to_their_manager(client: Client, namespace: str) -> None:
    await client.apply(CONFIGMAPS, a_configmap(namespace, a="1"), field_manager="one")
    with pytest.raises(errors.Conflict) as caught:
        await client.apply(CONFIGMAPS, a_configmap(namespace, a="2"), field_manager="two", force=False)
    assert caught.value.has_cause("FieldManagerConflict")
    forced = await client.apply(CONFIGMAPS, a_configmap(namespace, a="2"), field_manager="two")
    assert forced["data"] == {"a": "2"}


async def test_an_object_is_deleted_only_if_it_is_the_one_meant(client: Client, namespace: str) -> None:
    created = await client.create(CONFIGMAPS, a_configmap(namespace))
    with pytest.raises(errors.Conflict):
        await client.delete(CONFIGMAPS, Key.of(created), DeleteOptions(uid="another"))
    await client.delete(CONFIGMAPS, Key.of(created), DeleteOptions(uid=created["metadata"]["uid"]))
    assert await client.find(CONFIGMAPS, Key.of(created)) is None


async def test_a_collection_is_deleted_by_label(client: Client, namespace: str) -> None:
    for name in ("a", "b"):
        await client.create(CONFIGMAPS, a_configmap(namespace, name))
    await client.create(CONFIGMAPS, CONFIGMAPS.describe(Key(namespace, "other")))
    await client.delete_collection(CONFIGMAPS, Scope(namespace=namespace, labels=MINE))
    left = {item["metadata"]["name"] for item in (await client.list(CONFIGMAPS, Scope(namespace=namespace))).items}
    assert left & {"a", "b", "other"} == {"other"}


async def test_a_large_collection_is_deleted_as_a_whole_and_in_its_order(client: Client, namespace: str) -> None:
    names = [f"many-{number:02}" for number in range(40)]
    for name in names:
        await client.create(CONFIGMAPS, a_configmap(namespace, name))
    answer = await client.delete_collection(CONFIGMAPS, Scope(namespace=namespace, labels=MINE))
    assert [item["metadata"]["name"] for item in answer["items"]] == names
    assert not (await client.list(CONFIGMAPS, Scope(namespace=namespace, labels=MINE))).items


async def test_a_dry_run_leaves_nothing(client: Client, namespace: str) -> None:
    await client.create(CONFIGMAPS, a_configmap(namespace), query={"dryRun": "All"})
    assert await client.find(CONFIGMAPS, Key(namespace, "c")) is None


async def test_a_subresource_is_posted_on_its_object(client: Client, namespace: str) -> None:
    account = Key(namespace, "robot")
    await client.create(SERVICEACCOUNTS, SERVICEACCOUNTS.describe(account))
    wanted = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 600}}
    answer = await client.create(SERVICEACCOUNTS, wanted, on=account, subresource="token")
    assert answer["status"]["token"].count(".") == 2


async def test_a_status_is_patched_on_its_own(client: Client, namespace: str) -> None:
    key = Key("", namespace)
    condition = {"type": "Seen", "status": "True", "reason": "Test", "message": "seen"}
    patched = await client.patch(NAMESPACES, key, {"status": {"conditions": [condition]}}, subresource="status")
    assert [one["type"] for one in patched["status"]["conditions"]] == ["Seen"]


async def test_the_right_exception_for_what_went_wrong(client: Client, namespace: str) -> None:
    await client.create(CONFIGMAPS, a_configmap(namespace))
    with pytest.raises(errors.AlreadyExists):
        await client.create(CONFIGMAPS, a_configmap(namespace))
    with pytest.raises(errors.NotFound):
        await client.get(CONFIGMAPS, Key(namespace, "missing"))
    with pytest.raises(errors.NotFound):
        await client.get(Resource("no.such.group", "v1", "things", "Thing"), Key(namespace, "t"))
    with pytest.raises(errors.Invalid) as caught:
        await client.create(CONFIGMAPS, a_configmap(namespace, "Not_A_Name"))
    assert [cause["field"] for cause in caught.value.causes] == ["metadata.name"]
    with pytest.raises(errors.BadRequest):
        await client.list(CONFIGMAPS, Scope(namespace=namespace, labels="a=(("))
    wrong = request.Request("PATCH", request.path_of(CONFIGMAPS, namespace, "c"), {}, {"Content-Type": "text/csv"})
    with pytest.raises(errors.UnsupportedMediaType):
        await client.raw(wrong)


async def test_a_wrong_token_is_unauthorized(api_server: Server) -> None:
    real = await config.from_kubeconfig(api_server.kubeconfig)
    context = config.trusting()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    stranger = config.Connection(real.server, context, config.bearer("wrong"))
    async with Client.over_http(stranger) as client:
        with pytest.raises(errors.Unauthorized):
            await client.get(NAMESPACES, Key("", "default"))


async def test_many_requests_at_once(client: Client, namespace: str) -> None:
    async with asyncio.TaskGroup() as group:
        for number in range(50):
            group.create_task(client.create(CONFIGMAPS, a_configmap(namespace, f"c{number}")))
    assert len((await client.list(CONFIGMAPS, Scope(namespace=namespace, labels=MINE))).items) == 50
