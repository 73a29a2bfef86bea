# SPDX-License-Identifier: Apache-2.0
"""Objects that own each other, made over HTTP by somebody with `edit` in one namespace: they harm nobody else.

Cycles end as with kube-controller-manager: references that block are made non-blocking and all members are deleted. An
object that owns itself, which the real one leaves Terminating, is deleted as well.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests import loop_lag
from tests.integration.patience import until

from springtide.kube.client import Client
from springtide.kube.config import Connection
from springtide.kube.errors import Forbidden
from springtide.kube.request import DeleteOptions, Scope
from springtide.kube.resources import (
    CLUSTERROLES,
    CONFIGMAPS,
    NAMESPACES,
    ROLEBINDINGS,
    SECRETS,
    SERVICEACCOUNTS,
    Key,
    Obj,
    Resource,
)
from springtide.local.access import pki
from springtide.local.cluster import Cluster, Options, running

SPACE = "team"
PATIENCE = 30.0
FOREGROUND = DeleteOptions("Foreground")


@asynccontextmanager
async def an_editor(cluster: Cluster, name: str = "ed") -> AsyncIterator[Client]:
    """Somebody who may edit one namespace and nothing else, over HTTP."""
    admin = cluster.client("admin")
    if await admin.find(NAMESPACES, Key("", SPACE)) is None:
        await admin.create(NAMESPACES, NAMESPACES.describe(Key("", SPACE)))
        group = "rbac.authorization.k8s.io"
        binding = {
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "edit"},
            "subjects": [{"apiGroup": group, "kind": "User", "name": name}],
        }
        await admin.create(ROLEBINDINGS, ROLEBINDINGS.describe(Key(SPACE, name)) | binding)
        await until(lambda: admin.find(SERVICEACCOUNTS, Key(SPACE, "default")), bool, PATIENCE)
    authority = pki.Authority(cluster.directory.pki, datetime.now(UTC))
    context = pki.client_context(authority.certificate, authority.pair(name, pki.Subject(name)))
    async with Client.over_http(Connection(cluster.url, ssl=context)) as client:
        await until(lambda: _allowed(client), bool, PATIENCE)
        yield client


async def _allowed(client: Client) -> bool:
    try:
        await client.list(CONFIGMAPS, Scope(SPACE))
    except Forbidden:
        return False
    return True


def reference(resource: Resource, owner: Obj, *, block: bool = True) -> Obj:
    meta = owner["metadata"]
    found = {"apiVersion": resource.api_version, "kind": resource.kind, "name": meta["name"], "uid": meta["uid"]}
    return found | {"blockOwnerDeletion": block}


Member = tuple[Resource, str]


async def cycle(client: Client, members: Iterable[Member]) -> list[Member]:
    """Each member is owned by the one before it, and the first by the last."""
    members = list(members)
    made = [await client.create(kind, kind.describe(Key(SPACE, name))) for kind, name in members]
    for number, (kind, name) in enumerate(members):
        owner = reference(members[number - 1][0], made[number - 1])
        await client.patch(kind, Key(SPACE, name), {"metadata": {"ownerReferences": [owner]}})
    return members


async def left(client: Client, members: Iterable[Member]) -> list[str]:
    return [name for kind, name in members if await client.find(kind, Key(SPACE, name)) is not None]


def maps(*names: str) -> list[Member]:
    return [(CONFIGMAPS, name) for name in names]


@pytest.mark.parametrize(
    "members",
    [
        maps("self"),
        maps("a", "b"),
        maps("a", "b", "c"),
        [(CONFIGMAPS, "a"), (SECRETS, "b"), (SERVICEACCOUNTS, "c")],
        maps(*(f"m{number}" for number in range(30))),
    ],
    ids=["self", "two", "three", "kinds", "thirty"],
)
async def test_a_cycle_deleted_in_the_foreground_is_deleted_and_others_are_answered(
    members: list[Member], tmp_path: Path
) -> None:
    async with running(Options(tmp_path, port=0)) as cluster, an_editor(cluster) as client, loop_lag.measured() as lag:
        await cycle(client, members)
        lag.longest = 0.0  # what the start took is over
        kind, name = members[0]
        await client.delete(kind, Key(SPACE, name), FOREGROUND)
        await until(lambda: left(client, members), lambda found: not found, PATIENCE)
        assert lag.longest < loop_lag.MOST


async def test_a_cycle_whose_members_are_all_deleted_at_once_is_deleted(tmp_path: Path) -> None:
    members = maps("a", "b", "c")
    async with running(Options(tmp_path, port=0)) as cluster, an_editor(cluster) as client:
        await cycle(client, members)
        await asyncio.gather(*(client.delete(kind, Key(SPACE, name), FOREGROUND) for kind, name in members))
        await until(lambda: left(client, members), lambda found: not found, PATIENCE)


async def test_cycles_found_at_a_start_are_deleted(tmp_path: Path) -> None:
    members = [*maps("a", "b"), *maps("self")]
    async with running(Options(tmp_path, port=0)) as cluster, an_editor(cluster) as client:
        pass  # the account's namespace and rights
    async with running(Options(tmp_path, port=0, controllers=False)) as cluster, an_editor(cluster) as client:
        await cycle(client, members[:2])
        await cycle(client, members[2:])
        for kind, name in members:
            await client.delete(kind, Key(SPACE, name), FOREGROUND)
        assert len(await left(client, members)) == 3
    async with running(Options(tmp_path, port=0)) as cluster, an_editor(cluster) as client, loop_lag.measured() as lag:
        await until(lambda: left(client, members), lambda found: not found, PATIENCE)
        assert lag.longest < loop_lag.MOST


async def test_a_cycle_held_by_somebodys_finalizer_stays_and_costs_nothing(tmp_path: Path) -> None:
    members = maps("a", "b")
    async with running(Options(tmp_path, port=0)) as cluster, an_editor(cluster) as client, loop_lag.measured() as lag:
        await cycle(client, members)
        await client.patch(CONFIGMAPS, Key(SPACE, "b"), {"metadata": {"finalizers": ["example.com/mine"]}})
        lag.longest = 0.0
        await client.delete(CONFIGMAPS, Key(SPACE, "a"), FOREGROUND)
        await until(lambda: left(client, members), lambda found: found == ["b"], PATIENCE)
        await client.patch(CONFIGMAPS, Key(SPACE, "b"), {"metadata": {"finalizers": None}})
        await until(lambda: left(client, members), lambda found: not found, PATIENCE)
        assert lag.longest < loop_lag.MOST


async def test_a_namespace_with_cycles_is_deleted(tmp_path: Path) -> None:
    async with running(Options(tmp_path, port=0)) as cluster, an_editor(cluster) as client:
        await cycle(client, maps("a", "b"))
        await cycle(client, maps("self"))
        await cycle(client, [(CONFIGMAPS, "c"), (SECRETS, "d")])
        await client.delete(CONFIGMAPS, Key(SPACE, "a"), FOREGROUND)
        admin = cluster.client("admin")
        await admin.delete(NAMESPACES, Key("", SPACE), FOREGROUND)
        await until(lambda: admin.find(NAMESPACES, Key("", SPACE)), lambda found: found is None, PATIENCE)


async def test_nobody_holds_back_the_objects_of_another_namespace(tmp_path: Path) -> None:
    async with running(Options(tmp_path, port=0)) as cluster, an_editor(cluster) as client:
        admin = cluster.client("admin")
        theirs = await admin.create(CONFIGMAPS, CONFIGMAPS.describe(Key("default", "theirs")))
        mine = CONFIGMAPS.describe(Key(SPACE, "mine"))
        mine["metadata"] |= {"ownerReferences": [reference(CONFIGMAPS, theirs)], "finalizers": ["example.com/mine"]}
        await client.create(CONFIGMAPS, mine)
        await admin.delete(CONFIGMAPS, Key("default", "theirs"), FOREGROUND)
        await until(lambda: admin.find(CONFIGMAPS, Key("default", "theirs")), lambda found: found is None, PATIENCE)


async def test_owners_without_a_namespace_and_their_dependents(tmp_path: Path) -> None:
    """Of any namespace; but a dependent without a namespace cannot have an owner with one, and stays."""
    async with running(Options(tmp_path, port=0)) as cluster, an_editor(cluster) as client:
        admin = cluster.client("admin")
        role = await admin.create(CLUSTERROLES, CLUSTERROLES.describe(Key("", "owner")) | {"rules": []})
        child = CONFIGMAPS.describe(Key(SPACE, "child"))
        child["metadata"] |= {"ownerReferences": [reference(CLUSTERROLES, role, block=False)]}
        made = await client.create(CONFIGMAPS, child)
        odd = CLUSTERROLES.describe(Key("", "odd")) | {"rules": []}
        odd["metadata"] |= {"ownerReferences": [reference(CONFIGMAPS, made)]}
        await admin.create(CLUSTERROLES, odd)
        await admin.delete(CLUSTERROLES, Key("", "owner"), FOREGROUND)
        await until(lambda: left(client, maps("child")), lambda found: not found, PATIENCE)
        later = await cycle(client, maps("later"))
        await client.delete(CONFIGMAPS, Key(SPACE, "later"), FOREGROUND)
        await until(lambda: left(client, later), lambda found: not found, PATIENCE)
        assert await admin.find(CLUSTERROLES, Key("", "odd")) is not None


@pytest.mark.parametrize(("shape", "count"), [("chain", 300), ("cycle", 300), ("fan", 1000)])
async def test_hundreds_of_objects_that_own_each_other_are_deleted_without_stopping_others(
    shape: str, count: int, tmp_path: Path
) -> None:
    async with running(Options(tmp_path, port=0)) as cluster, an_editor(cluster), loop_lag.measured() as lag:
        admin = cluster.client("admin")  # in the same process: so many objects are made sooner
        first = await admin.create(CONFIGMAPS, CONFIGMAPS.describe(Key(SPACE, "m0")))

        async def owned(number: int, owner: Obj) -> Obj:
            obj = CONFIGMAPS.describe(Key(SPACE, f"m{number}"))
            obj["metadata"] |= {"ownerReferences": [reference(CONFIGMAPS, owner)], "labels": {"shape": shape}}
            return await admin.create(CONFIGMAPS, obj)

        if shape == "fan":
            await asyncio.gather(*(owned(number, first) for number in range(1, count)))
        else:
            last = first
            for number in range(1, count):
                last = await owned(number, last)
        if shape == "cycle":
            await admin.patch(
                CONFIGMAPS, Key(SPACE, "m0"), {"metadata": {"ownerReferences": [reference(CONFIGMAPS, last)]}}
            )
        lag.longest = 0.0
        await admin.delete(CONFIGMAPS, Key(SPACE, "m0"), FOREGROUND)

        async def remaining() -> int:
            await asyncio.sleep(0.1)
            return len((await admin.list(CONFIGMAPS, Scope(SPACE, f"shape={shape}"))).items)

        await until(remaining, lambda found: not found, PATIENCE)
        await until(lambda: admin.find(CONFIGMAPS, Key(SPACE, "m0")), lambda found: found is None, PATIENCE)
        assert lag.longest < loop_lag.MOST
