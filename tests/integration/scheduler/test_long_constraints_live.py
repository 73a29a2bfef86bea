# SPDX-License-Identifier: Apache-2.0
"""Pods with tens of thousands of constraints do not keep the server, which shares the event loop, from others."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests import loop_lag
from tests.integration.scheduler.world import NAMESPACE, World, a_world

from springtide.kube.resources import (
    PERSISTENTVOLUMECLAIMS,
    PERSISTENTVOLUMES,
    PODDISRUPTIONBUDGETS,
    PODS,
    PRIORITYCLASSES,
    STORAGECLASSES,
    Key,
    Obj,
)

MANY = 7_000
CROWD = 30
LATER = 2
ZONE = "topology.kubernetes.io/zone"
MOST = 0.5
"""Seconds of processor time. Twice what is promised: other tests leave garbage that is collected meanwhile. The same
pods took the scheduler several seconds when each term was evaluated against each pod at each attempt."""


def about_pods(number: int, topology: str = ZONE, **more: object) -> Obj:
    return {"topologyKey": topology, "labelSelector": {"matchLabels": {f"k{number}": "v"}}, **more}


def unlike(number: int) -> Obj:
    """Matches every pod."""
    expression = {"key": f"k{number}", "operator": "DoesNotExist"}
    return {"topologyKey": ZONE, "labelSelector": {"matchExpressions": [expression]}}


REQUIRED, PREFERRED = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)
NUMBERS = range(MANY)
NODE_TERMS = [{"matchExpressions": [{"key": f"k{number}", "operator": "Exists"}]} for number in NUMBERS]
SHAPES: dict[str, Obj] = {
    "anti-affinity": {"affinity": {"podAntiAffinity": {REQUIRED: [about_pods(each) for each in NUMBERS]}}},
    "repeated anti-affinity": {"affinity": {"podAntiAffinity": {REQUIRED: [about_pods(1)] * MANY}}},
    "topologies": {"affinity": {"podAntiAffinity": {REQUIRED: [about_pods(each, f"t{each}") for each in NUMBERS]}}},
    "namespaces": {
        "affinity": {"podAntiAffinity": {REQUIRED: [about_pods(each, namespaceSelector={}) for each in NUMBERS]}}
    },
    "affinity": {"affinity": {"podAffinity": {REQUIRED: [unlike(each) for each in NUMBERS]}}},
    "preferences": {
        "affinity": {
            "podAntiAffinity": {PREFERRED: [{"weight": 1, "podAffinityTerm": unlike(each)} for each in NUMBERS]}
        }
    },
    "node affinity": {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": NODE_TERMS}}}},
    "preferred nodes": {
        "affinity": {"nodeAffinity": {PREFERRED: [{"weight": 1, "preference": each} for each in NODE_TERMS]}}
    },
    "tolerations": {"tolerations": [{"key": f"k{number}", "operator": "Exists"} for number in NUMBERS]},
    "spreading": {
        "topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": f"t{number}", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
            for number in NUMBERS[:5000]
        ]
    },
}


async def a_crowd(world: World) -> None:
    for name in ("a", "b", "c"):
        await world.node(name, {ZONE: name})
    for number in range(CROWD):
        await world.pod(f"p{number}", labels={"number": f"{number}"})
    for number in range(CROWD):
        await world.bound(f"p{number}")


@pytest.mark.timeout(300)
async def test_a_pod_with_many_terms_delays_nobody(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        await a_crowd(world)
        slow = {}
        for shape, spec in SHAPES.items():
            name = shape.replace(" ", "-")
            async with loop_lag.measured() as lag:
                await world.pod(name, labels={"number": "hostile"}, **spec)
                await world.until_object(PODS, name, decided)
                for number in range(LATER):
                    await world.pod(f"{name}-{number}", labels={"number": f"{number}"})
                for number in range(LATER):
                    await world.until_object(PODS, f"{name}-{number}", decided)
            if lag.longest > MOST:
                slow[shape] = lag.longest
            for each in (name, *(f"{name}-{number}" for number in range(LATER))):
                await world.client.delete(PODS, Key(NAMESPACE, each))
        assert slow == {}


def decided(pod: Obj) -> bool:
    """Whether the scheduler has bound the pod, or said why it waits."""
    conditions = pod.get("status", {}).get("conditions") or ()
    return "nodeName" in pod["spec"] or any(each["type"] == "PodScheduled" for each in conditions)


@pytest.mark.timeout(300)
async def test_a_pod_with_many_terms_that_preempts_delays_nobody(tmp_path: Path) -> None:
    """The filters run for each victim, and each budget is looked at for each node."""
    labels = {f"k{number}": "v" for number in range(MANY)}
    async with a_world(tmp_path, strict=True) as world:
        await world.create(PRIORITYCLASSES, "high", value=1000)
        for name in ("a", "b"):
            await world.node(name, {ZONE: name})
        for number in range(40):
            await world.pod(f"p{number}", {"cpu": "200m"}, labels={"number": f"{number}"})
        for number in range(40):
            await world.bound(f"p{number}")
        await world.create(PODDISRUPTIONBUDGETS, "all", spec={"minAvailable": 1, "selector": {"matchLabels": labels}})
        async with loop_lag.measured() as lag:
            await world.pod("hostile", {"cpu": "4"}, priorityClassName="high", **SHAPES["anti-affinity"])
            await world.until_object(PODS, "hostile", decided)
        assert lag.longest < MOST


@pytest.mark.timeout(300)
async def test_a_claim_with_a_long_selector_delays_nobody(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        await world.create(
            STORAGECLASSES, "late", provisioner="kubernetes.io/no-provisioner", volumeBindingMode="WaitForFirstConsumer"
        )
        await world.node("a")
        size, modes = {"storage": "1Gi"}, ["ReadWriteOnce"]
        for number in range(20):
            spec = {"capacity": size, "accessModes": modes, "hostPath": {"path": "/tmp"}, "storageClassName": "late"}
            await world.create(PERSISTENTVOLUMES, f"v{number}", spec=spec)
            await world.client.patch(
                PERSISTENTVOLUMES, Key("", f"v{number}"), {"status": {"phase": "Available"}}, subresource="status"
            )
        selector = {"matchLabels": {f"k{number}": "v" for number in range(5 * MANY)}}
        claim = {"accessModes": modes, "resources": {"requests": size}, "storageClassName": "late"}
        await world.create(PERSISTENTVOLUMECLAIMS, "long", spec={**claim, "selector": selector})
        async with loop_lag.measured() as lag:
            volume = {"name": "v", "persistentVolumeClaim": {"claimName": "long"}}
            await world.pod("p", volumes=[volume])
            assert "didn't find available persistent volumes" in await world.waits("p")
        assert lag.longest < MOST
