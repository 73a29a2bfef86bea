# SPDX-License-Identifier: Apache-2.0
"""Thousands of pods in one namespace: what controllers do about each change is bounded by what it concerns."""

from __future__ import annotations

import asyncio
import json
import uuid
from pathlib import Path

import pytest
from tests import loop_lag
from tests.integration.patience import until

from springtide.kube.client import Client
from springtide.kube.request import Scope
from springtide.kube.resources import (
    ENDPOINTS,
    ENDPOINTSLICES,
    JOBS,
    PODDISRUPTIONBUDGETS,
    PODS,
    REPLICASETS,
    SERVICEACCOUNTS,
    SERVICES,
    Key,
    Obj,
    Resource,
)
from springtide.local.cluster import Options, running
from springtide.local.store.backend import Key as StoreKey
from springtide.local.store.opening import open_store

CROWD = 5_000
OBJECTS = 50
"""Of each kind; each service and budget selects a fiftieth of the crowd, and one of each selects all of it."""
CHANGES = 60
PATIENCE = 120.0
_POD: Obj = {"containers": [{"name": "c", "image": "i"}]}


def named(resource: Resource, name: str, spec: Obj, **metadata: Obj) -> Obj:
    described = resource.describe(Key("default", name))
    return {**described, "metadata": {**described["metadata"], **metadata}, "spec": spec}


def crowded(pattern: Obj, number: int, revision: int) -> bytes:
    """A pod that runs and is ready, as it is stored."""
    address = f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"
    metadata = pattern["metadata"] | {
        "name": f"p{number}",
        "uid": str(uuid.UUID(int=number)),
        "labels": {"group": f"g{number % OBJECTS}", "tier": "crowd"},
        "resourceVersion": str(revision),
    }
    status = {
        "phase": "Running",
        "podIP": address,
        "podIPs": [{"ip": address}],
        "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
    }
    return json.dumps(pattern | {"metadata": metadata, "status": status}).encode()


async def a_crowd(path: Path) -> None:
    """Written into the store itself: over the API it would take minutes."""
    async with running(Options(path, port=0)) as cluster:
        client = cluster.client("test")
        await until(lambda: client.find(SERVICEACCOUNTS, Key("default", "default")), bool, PATIENCE)
        await client.create(PODS, named(PODS, "pattern", _POD))
        record = cluster.server.store.get(StoreKey(PODS.plural, "default", "pattern"))
        assert record is not None
        pattern = json.loads(record.body)
        database = cluster.directory.database
    store = await open_store(database, is_new=False)
    for start in range(0, CROWD, 500):
        numbers = range(start, start + 500)
        await asyncio.gather(
            *(
                store.write(
                    StoreKey(PODS.plural, "default", f"p{number}"),
                    None,
                    lambda revision, number=number: crowded(pattern, number, revision),  # type: ignore[misc]
                )
                for number in numbers
            )
        )
    await store.close()


async def workloads(client: Client) -> None:
    for number in range(OBJECTS):
        mine = {"mine": f"m{number}"}
        template = {"metadata": {"labels": mine}, "spec": _POD}
        sets = {"replicas": 1, "selector": {"matchLabels": mine}, "template": template}
        await client.create(REPLICASETS, named(REPLICASETS, f"r{number}", sets))
        await client.create(JOBS, named(JOBS, f"j{number}", {"template": {"spec": _POD | {"restartPolicy": "Never"}}}))
        await selecting(client, f"g{number}", {"group": f"g{number}"})
    await selecting(client, "all", {"tier": "crowd"})


async def selecting(client: Client, name: str, labels: Obj) -> None:
    budget = {"minAvailable": 1, "selector": {"matchLabels": labels}}
    await client.create(PODDISRUPTIONBUDGETS, named(PODDISRUPTIONBUDGETS, name, budget))
    # Published: on a node, which nobody would look after here, pods would not stay ready for long.
    service = {"selector": labels, "ports": [{"port": 80}], "publishNotReadyAddresses": True}
    await client.create(SERVICES, named(SERVICES, name, service))


async def pods_come_and_go(client: Client) -> None:
    labels = {"group": "g0", "tier": "crowd"}
    for number in range(CHANGES):
        await client.create(PODS, named(PODS, f"new{number}", _POD, labels=labels))
        if number % 2:
            await client.delete(PODS, Key("default", f"new{number}"))


async def statuses(client: Client, resource: Resource, field: str) -> list[int]:
    """Of all objects, as far as they have one."""
    found = (await client.list(resource, Scope("default"))).items
    return sorted(value for one in found if (value := (one.get("status") or {}).get(field)) is not None)


async def addresses(client: Client) -> list[int]:
    """How many each service shows in its Endpoints, of which only a thousand are shown."""
    found = (await client.list(ENDPOINTS, Scope("default"))).items
    subsets = [one.get("subsets") or [] for one in found if one["metadata"]["name"] != "kubernetes"]
    return sorted(sum(len(subset.get("addresses") or ()) for subset in each) for each in subsets)


async def sliced(client: Client) -> int:
    found = (await client.list(ENDPOINTSLICES, Scope("default"))).items
    return sum(len(one.get("endpoints") or ()) for one in found)


@pytest.mark.timeout(600)
async def test_others_are_answered_while_controllers_look_after_a_crowd(tmp_path: Path) -> None:
    await a_crowd(tmp_path)
    async with loop_lag.measured() as lag, running(Options(tmp_path, port=0)) as cluster:
        client = cluster.client("test")
        await workloads(client)
        await pods_come_and_go(client)
        each = CROWD // OBJECTS
        new = CHANGES // 2
        expected = [*[each] * (OBJECTS - 1), each + new, CROWD + new]
        await until(lambda: statuses(client, PODDISRUPTIONBUDGETS, "expectedPods"), expected.__eq__, PATIENCE)
        await until(lambda: statuses(client, REPLICASETS, "replicas"), ([1] * OBJECTS).__eq__, PATIENCE)
        await until(lambda: statuses(client, JOBS, "active"), ([1] * OBJECTS).__eq__, PATIENCE)
        await until(lambda: addresses(client), [*[each] * OBJECTS, 1000].__eq__, PATIENCE)
        await until(lambda: sliced(client), (2 * CROWD + 1).__eq__, PATIENCE)
        assert lag.longest < loop_lag.MOST
