# SPDX-License-Identifier: Apache-2.0
"""Objects that grow by the defaults of their schemas: how large they get, and that they can always end."""

from __future__ import annotations

import pytest
from tests.integration.apiserver.http1 import until

from springtide.kube.errors import NotFound, TooLarge
from springtide.kube.request import Patch
from springtide.kube.resources import CUSTOMRESOURCEDEFINITIONS, Key, Obj, Resource
from springtide.local.apiserver.writing.writes import BODY_LIMIT
from springtide.local.cluster import Cluster
from springtide.local.store import backend as stored

pytestmark = pytest.mark.asyncio(loop_scope="module")

TEXT = {"type": "string"}
LONG = {"type": "string", "default": "y" * 104_000}


def version(name: str, text: Obj, *, storage: bool) -> Obj:
    entry = {"type": "object", "properties": {"d": text}}
    status = {"type": "object", "properties": {"phase": TEXT}}
    properties = {"l": {"type": "array", "items": entry}, "s": TEXT, "status": status}
    schema = {"openAPIV3Schema": {"type": "object", "properties": properties}}
    return {"name": name, "served": True, "storage": storage, "schema": schema, "subresources": {"status": {}}}


async def defined(cluster: Cluster, plural: str, *versions: Obj) -> Key:
    key = Key("", f"{plural}.grow.io")
    names = {"plural": plural, "kind": plural.capitalize()}
    spec = {"group": "grow.io", "scope": "Namespaced", "names": names, "versions": list(versions)}
    await cluster.client("tester").create(
        CUSTOMRESOURCEDEFINITIONS, CUSTOMRESOURCEDEFINITIONS.describe(key) | {"spec": spec}
    )
    served = versions[-1]["name"]
    await until(lambda: cluster.server.registry.find("grow.io", served, plural) is not None)
    return key


async def test_defaults_make_no_object_above_the_limit(cluster: Cluster) -> None:
    await defined(cluster, "eggs", version("v1", LONG, storage=True))
    eggs, client = Resource("grow.io", "v1", "eggs", "Eggs", namespaced=True), cluster.client("tester")
    egg = eggs.describe(Key("default", "egg")) | {"s": "z" * 200_000, "l": [{}] * 15}
    with pytest.raises(TooLarge, match=str(BODY_LIMIT)):
        await client.create(eggs, egg)
    small = await client.create(eggs, egg | {"l": []})
    with pytest.raises(TooLarge, match=str(BODY_LIMIT)):
        await client.replace(eggs, small | {"l": [{}] * 15})
    with pytest.raises(TooLarge, match=str(BODY_LIMIT)):
        await client.patch(eggs, Key("default", "egg"), {"l": [{}] * 15}, Patch.MERGE)


async def test_defaults_of_the_stored_version_make_no_object_above_the_limit(cluster: Cluster) -> None:
    await defined(cluster, "oaks", version("v1", LONG, storage=True), version("v2", TEXT, storage=False))
    oaks = Resource("grow.io", "v2", "oaks", "Oaks", namespaced=True)
    oak = oaks.describe(Key("default", "oak")) | {"s": "z" * 40_000}
    for count in (15, 16):  # what fits in the room for defaults and not in an object, and what does not fit at all
        with pytest.raises(TooLarge):
            await cluster.client("tester").create(oaks, oak | {"s": "z" * 60_000, "l": [{}] * count})
    await cluster.client("tester").create(oaks, oak | {"l": [{}] * 5})
    record = cluster.server.store.get(stored.Key("oaks.grow.io", "default", "oak"))
    assert record is not None
    assert len(record.body) > 500_000


@pytest.mark.parametrize("served", ["v1", "v2"])
async def test_what_exists_outlives_a_default_that_would_make_it_too_large(cluster: Cluster, served: str) -> None:
    plural = f"elms{served}"
    key = await defined(
        cluster,
        plural,
        version("v1", TEXT, storage=True),
        version("v2", TEXT | {"title": "t"}, storage=False),
    )
    elms = Resource("grow.io", served, plural, plural.capitalize(), namespaced=True)
    client, elm = cluster.client("tester"), Key("default", "elm")
    held = elms.describe(elm) | {"l": [{}] * 20}
    held["metadata"]["finalizers"] = ["grow.io/hold", "grow.io/other"]
    await client.create(elms, held)
    change = [{"op": "replace", "path": "/spec/versions/0", "value": version("v1", LONG, storage=True)}]
    before = cluster.server.registry.find("grow.io", served, plural)
    await client.patch(CUSTOMRESOURCEDEFINITIONS, key, change, Patch.JSON)
    await until(lambda: cluster.server.registry.find("grow.io", served, plural) is not before)
    with pytest.raises(TooLarge, match="the defaults of its schema"):
        await client.patch(elms, elm, {"s": "z"}, Patch.MERGE)
    told = await client.patch(elms, elm, {"status": {"phase": "Old"}}, Patch.MERGE, subresource="status")
    assert told["status"] == {"phase": "Old"}
    assert told["l"] == [{}] * 20
    await client.delete(elms, elm)
    await client.patch(elms, elm, {"metadata": {"finalizers": ["grow.io/other"]}}, Patch.MERGE)
    await client.patch(elms, elm, {"metadata": {"finalizers": None}}, Patch.MERGE)
    with pytest.raises(NotFound):
        await client.get(elms, elm)
