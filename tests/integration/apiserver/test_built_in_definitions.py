# SPDX-License-Identifier: Apache-2.0
"""A definition that comes with the cluster stays, whatever somebody applies over it or deletes with a manifest."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.integration.apiserver.http1 import until

from springtide.kube import definitions, request
from springtide.kube.errors import Forbidden
from springtide.kube.request import Patch, Request
from springtide.kube.resources import CUSTOMRESOURCEDEFINITIONS, Key, Obj
from springtide.local.apiserver.registry.custom_resources import STORAGE
from springtide.local.cluster import Cluster
from springtide.local.kinds.groups.apiextensions import BUILT_IN
from springtide.local.store import backend as stored

pytestmark = pytest.mark.asyncio(loop_scope="module")

KEY = Key("", "tides.kept.io")


def definition(name: str = "tides", short: str = "td") -> Obj:
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    names = {"plural": name, "kind": name.title(), "shortNames": [short]}
    spec = {"group": "kept.io", "scope": "Namespaced", "names": names, "versions": [version]}
    return CUSTOMRESOURCEDEFINITIONS.describe(Key("", f"{name}.kept.io")) | {"spec": spec}


@pytest_asyncio.fixture(loop_scope="module")
async def kept(cluster: Cluster) -> AsyncIterator[Obj]:
    client = cluster.client("system:springtide")
    await definitions.install(client, [definitions.annotated(definition(), BUILT_IN)], "springtide")
    yield await client.get(CUSTOMRESOURCEDEFINITIONS, KEY)
    await client.delete(CUSTOMRESOURCEDEFINITIONS, KEY)
    await until(lambda: cluster.server.store.get(stored.Key(STORAGE, "", KEY.name)) is None)


async def test_every_kind_of_change_is_answered_with_what_is_there(cluster: Cluster, kept: Obj) -> None:
    client = cluster.client("kubernetes-admin")
    names = {"spec": {"names": {"shortNames": ["other"]}}}
    answers = [
        await client.patch(CUSTOMRESOURCEDEFINITIONS, KEY, names, Patch.MERGE),
        await client.patch(CUSTOMRESOURCEDEFINITIONS, KEY, names, Patch.STRATEGIC),
        await client.apply(CUSTOMRESOURCEDEFINITIONS, definition(short="other"), field_manager="kubectl", force=False),
        await client.replace(CUSTOMRESOURCEDEFINITIONS, kept | definition(short="other")),
    ]
    assert answers == [kept] * len(answers)
    assert await client.get(CUSTOMRESOURCEDEFINITIONS, KEY) == kept


async def test_a_deletion_is_refused_by_name_and_among_others(cluster: Cluster, kept: Obj) -> None:
    client = cluster.client("kubernetes-admin")
    with pytest.raises(Forbidden, match="built into this cluster and stays, with all its objects"):
        await client.delete(CUSTOMRESOURCEDEFINITIONS, KEY)
    with pytest.raises(Forbidden, match=r'"tides\.kept\.io" is forbidden'):
        await client.raw(Request("DELETE", request.get(CUSTOMRESOURCEDEFINITIONS, KEY).path.rpartition("/")[0]))
    assert await client.get(CUSTOMRESOURCEDEFINITIONS, KEY) == kept


async def test_whoever_brought_it_brings_it_up_to_date(cluster: Cluster, kept: Obj) -> None:
    client = cluster.client("system:springtide")
    newer = definitions.annotated(definition(short="newer"), BUILT_IN)
    await definitions.install(client, [newer], "springtide")
    found = await client.get(CUSTOMRESOURCEDEFINITIONS, KEY)
    assert found["spec"]["names"]["shortNames"] == ["newer"]


async def test_definitions_of_others_are_theirs_to_change(cluster: Cluster) -> None:
    client, key = cluster.client("kubernetes-admin"), Key("", "waves.kept.io")
    await client.create(CUSTOMRESOURCEDEFINITIONS, definition("waves", "wv"))
    changed = await client.patch(CUSTOMRESOURCEDEFINITIONS, key, {"spec": {"names": {"shortNames": ["w"]}}})
    assert changed["spec"]["names"]["shortNames"] == ["w"]
    await client.delete(CUSTOMRESOURCEDEFINITIONS, key)
