# SPDX-License-Identifier: Apache-2.0
"""Owners and dependents on a running cluster: each way of deleting an owner ends as it should."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.integration.controller_manager.world import NAMESPACE, World

from springtide.kube.errors import NotFound
from springtide.kube.request import DeleteOptions, Patch
from springtide.kube.resources import CONFIGMAPS, CUSTOMRESOURCEDEFINITIONS, Key, Obj, Resource
from springtide.local.cluster import Options, running

DEPENDENTS = 8


async def _family(world: World) -> None:
    owner = await world.create(CONFIGMAPS, {"metadata": {"name": "owner"}})
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    reference["blockOwnerDeletion"] = True
    for number in range(DEPENDENTS):
        metadata = {"name": f"child-{number}", "labels": {"family": "yes"}, "ownerReferences": [reference]}
        await world.create(CONFIGMAPS, {"metadata": metadata})


@pytest.mark.parametrize("policy", ["Background", "Foreground", "Orphan"])
async def test_a_deleted_owner_goes_and_its_dependents_follow_the_policy(policy: str, tmp_path: Path) -> None:
    async with running(Options(tmp_path, port=0)) as cluster:
        world = World(cluster.client("test"))
        await _family(world)
        await world.client.delete(CONFIGMAPS, Key(NAMESPACE, "owner"), DeleteOptions(policy))

        async def children() -> list[Obj]:
            return await world.all_of(CONFIGMAPS, "family=yes")

        if policy == "Orphan":
            free = await world.until(children, lambda found: not any(_owners(child) for child in found))
            assert len(free) == DEPENDENTS
        else:
            await world.until(children, lambda found: not found)
        await world.until(lambda: world.client.find(CONFIGMAPS, Key(NAMESPACE, "owner")), lambda owner: owner is None)


def _owners(obj: Obj) -> object:
    return obj["metadata"].get("ownerReferences")


async def test_an_orphan_stays_when_the_server_restarts_before_its_owner_is_let_go(tmp_path: Path) -> None:
    async with running(Options(tmp_path, port=0, controllers=False)) as cluster:
        world = World(cluster.client("test"))
        await _family(world)
        await world.client.delete(CONFIGMAPS, Key(NAMESPACE, "owner"), DeleteOptions("Orphan"))
    async with running(Options(tmp_path, port=0)) as cluster:
        world = World(cluster.client("test"))
        await world.until(lambda: world.client.find(CONFIGMAPS, Key(NAMESPACE, "owner")), lambda owner: owner is None)
        found = await world.all_of(CONFIGMAPS, "family=yes")
        assert len([child for child in found if not _owners(child)]) == DEPENDENTS


async def test_a_custom_resource_is_collected_in_whatever_version_it_is_served(tmp_path: Path) -> None:
    async with running(Options(tmp_path, port=0)) as cluster:
        client, key = cluster.client("test"), Key("", "leaves.tree.io")
        spec = {"group": "tree.io", "scope": "Namespaced", "names": {"plural": "leaves", "kind": "Leaf"}}
        content = {"spec": spec | {"versions": [_version("v1alpha1", served=True)]}}
        await client.create(CUSTOMRESOURCEDEFINITIONS, CUSTOMRESOURCEDEFINITIONS.describe(key) | content)
        await _collected(World(client), "v1alpha1")
        moved = {"spec": {"versions": [_version("v1alpha1", served=False), _version("v1", served=True)]}}
        await client.patch(CUSTOMRESOURCEDEFINITIONS, key, moved, Patch.MERGE)
        await _collected(World(client), "v1")


def _version(name: str, *, served: bool) -> Obj:
    schema = {"openAPIV3Schema": {"type": "object"}}
    return {"name": name, "served": served, "storage": served, "schema": schema}


async def _collected(world: World, version: str) -> None:
    leaves = Resource("tree.io", version, "leaves", "Leaf")
    owner = await world.create(CONFIGMAPS, {"metadata": {"name": version}})
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": version, "uid": owner["metadata"]["uid"]}
    leaf = {"metadata": {"name": version, "ownerReferences": [reference]}}
    await world.until(lambda: _made(world, leaves, leaf), bool)
    await world.delete(CONFIGMAPS, version)
    await world.until(lambda: world.client.find(leaves, Key(NAMESPACE, version)), lambda found: found is None)


async def _made(world: World, resource: Resource, obj: Obj) -> bool:
    try:
        await world.create(resource, obj)
    except NotFound:
        return False  # not served yet
    return True
