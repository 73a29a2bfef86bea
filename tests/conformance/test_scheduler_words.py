# SPDX-License-Identifier: Apache-2.0
"""The same nodes and pods for kube-scheduler and for the embedded scheduler: the same choice, or the same words.

The real control plane is one of its own: nodes and a scheduler would disturb the suites that compare bare servers.
"""

from __future__ import annotations

import asyncio
import importlib.util
import re
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.conformance.programs import tool
from tests.integration.patience import until

from springtide.kube.client import Client
from springtide.kube.request import DeleteOptions, Scope
from springtide.kube.resources import (
    CUSTOMRESOURCEDEFINITIONS,
    NAMESPACES,
    NODES,
    PERSISTENTVOLUMECLAIMS,
    PERSISTENTVOLUMES,
    PODDISRUPTIONBUDGETS,
    PODS,
    PRIORITYCLASSES,
    SERVICEACCOUNTS,
    STORAGECLASSES,
    Key,
    Obj,
    Resource,
)
from springtide.local import cluster
from springtide.local.scheduler.gangs.groups import QUEUES
from springtide.local.scheduler.gangs.installing import install
from springtide.local.scheduler.scheduler import Options, run

PATIENCE = 30.0
TRIES = 3
"""kube-scheduler evicts in the background, and now and then decides a second time before it sees what it did."""
STRAY = re.compile(
    r"\. (not found|preemption: 0/\d nodes are available: \d Preemption is not helpful for scheduling\.)$"
)
"""Where no node whatever would do, kube-scheduler 1.36.3 ends in a stray "not found" of its plugin for dynamic
resources; the embedded one ends in what preemption says, as it was before that plugin came."""
ADVICE = re.compile(r"(?: No node of this cluster offers |\. Add a node to this cluster: )[^\n]*$")
"""What the embedded scheduler adds to kube-scheduler's words where no node has any of a resource."""
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


@dataclass(frozen=True)
class Situation:
    pod: Obj
    nodes: tuple[Obj, ...] = ()
    there: tuple[Obj, ...] = ()
    others: tuple[tuple[Resource, Obj], ...] = ()


def node(name: str, labels: dict[str, str] | None = None, **more: Any) -> Obj:
    allocatable = {"cpu": "4", "memory": "8Gi", "pods": "10", "ephemeral-storage": "100Gi"} | more.pop("has", {})
    spec = {name: value for name, value in more.items() if name in ("taints", "unschedulable")}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
    return {
        "metadata": {"name": name, "labels": {HOST: name, **(labels or {})}},
        "spec": spec,
        "status": {"capacity": allocatable, "allocatable": allocatable, "conditions": [ready]},
    }


def pod(name: str = "p", on: str = "", wants: dict[str, str] | None = None, **more: Any) -> Obj:
    labels = more.pop("labels", {})
    ports = more.pop("ports", [])
    resources = {"requests": wants or {}, "limits": {key: each for key, each in (wants or {}).items() if "/" in key}}
    container = {"name": "c", "image": "none", "resources": resources, "ports": ports}
    spec = {"containers": [container], "terminationGracePeriodSeconds": 30, **more}
    return {"metadata": {"name": name, "labels": labels}, "spec": spec | ({"nodeName": on} if on else {})}


def affinity(kind: str, term: Obj | list[Obj], *, weight: int = 0) -> Obj:
    if kind == "nodeAffinity":
        terms = term if isinstance(term, list) else [term]
        required: Any = {"nodeSelectorTerms": terms}
        preferred = [{"weight": weight, "preference": term}]
    else:
        required, preferred = [term], [{"weight": weight, "podAffinityTerm": term}]
    how = (
        "preferredDuringSchedulingIgnoredDuringExecution"
        if weight
        else "requiredDuringSchedulingIgnoredDuringExecution"
    )
    return {kind: {how: preferred if weight else required}}


def near(label: str, topology: str = HOST) -> Obj:
    return {"topologyKey": topology, "labelSelector": {"matchLabels": {"app": label}}}


def spread(label: str, topology: str = ZONE, when: str = "DoNotSchedule", **more: Any) -> list[Obj]:
    selector = {"matchLabels": {"app": label}}
    return [{"maxSkew": 1, "topologyKey": topology, "whenUnsatisfiable": when, "labelSelector": selector, **more}]


def claim(name: str = "data", storage_class: str = "", **more: Any) -> tuple[Resource, Obj]:
    resources = {"requests": {"storage": "1Gi"}}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": resources, "storageClassName": storage_class, **more}
    return PERSISTENTVOLUMECLAIMS, {"metadata": {"name": name}, "spec": spec}


def priority(name: str, value: int, **more: Any) -> tuple[Resource, Obj]:
    return PRIORITYCLASSES, {"metadata": {"name": name}, "value": value, **more}


def storage_class(name: str, provisioner: str, mode: str) -> tuple[Resource, Obj]:
    return STORAGECLASSES, {"metadata": {"name": name}, "provisioner": provisioner, "volumeBindingMode": mode}


def local_volume(name: str, where: str, storage_class: str) -> tuple[Resource, Obj]:
    term = {"matchExpressions": [{"key": HOST, "operator": "In", "values": [where]}]}
    spec = {
        "capacity": {"storage": "2Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": storage_class,
        "local": {"path": "/none"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
    }
    return PERSISTENTVOLUMES, {"metadata": {"name": name}, "spec": spec}


DATA = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
DEDICATED = [{"key": "dedicated", "value": "x", "effect": "NoSchedule"}]
RATHER_NOT = [{"key": "slow", "effect": "PreferNoSchedule"}]
ZONES = (node("a", {ZONE: "one"}), node("b", {ZONE: "two"}), node("c", {ZONE: "two"}))
LOW, HIGH = priority("low", 1), priority("high", 1000)

SITUATIONS: dict[str, Situation] = {
    "no nodes": Situation(pod()),
    "too little cpu": Situation(
        pod(wants={"cpu": "3"}), (node("a"), node("b")), (pod("q", "a", {"cpu": "2"}), pod("r", "b", {"cpu": "2"}))
    ),
    "more cpu than any node has": Situation(pod(wants={"cpu": "5", "memory": "1Gi"}), (node("a"), node("b"))),
    "too little of several things": Situation(
        pod(wants={"cpu": "5", "memory": "10Gi", "ephemeral-storage": "200Gi"}), (node("a"),)
    ),
    "no such resource": Situation(
        pod(wants={"nvidia.com/gpu": "1"}), (node("a"), node("b", has={"nvidia.com/gpu": "0"}))
    ),
    "gpus in use": Situation(
        pod(wants={"nvidia.com/gpu": "3"}),
        (node("a", has={"nvidia.com/gpu": "4"}), node("b")),
        (pod("q", "a", {"nvidia.com/gpu": "2"}),),
    ),
    "too many pods": Situation(pod(), (node("a", has={"pods": "1"}),), (pod("q", "a"),)),
    "different reasons": Situation(
        pod(wants={"cpu": "3"}),
        (node("a", taints=DEDICATED), node("b", taints=DEDICATED), node("c"), node("d", unschedulable=True)),
        (pod("q", "c", {"cpu": "2"}),),
    ),
    "tolerated": Situation(
        pod(tolerations=[{"key": "dedicated", "operator": "Exists"}]),
        (node("a", taints=DEDICATED), node("b", unschedulable=True)),
    ),
    "node selector": Situation(pod(nodeSelector={"disk": "ssd"}), (node("a"), node("b", {"disk": "hdd"}))),
    "node affinity": Situation(
        pod(affinity=affinity("nodeAffinity", {"matchExpressions": [{"key": "n", "operator": "Gt", "values": ["3"]}]})),
        (node("a", {"n": "3"}), node("b", {"n": "4"}), node("c")),
    ),
    "named node": Situation(
        pod(
            wants={"cpu": "3"},
            affinity=affinity(
                "nodeAffinity", {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}
            ),
        ),
        (node("a"), node("b"), node("c")),
        (pod("q", "a", {"cpu": "2"}),),
    ),
    "named node that is not there": Situation(
        pod(
            affinity=affinity(
                "nodeAffinity", {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["z"]}]}
            )
        ),
        (node("a"), node("b")),
    ),
    "host port taken": Situation(
        pod(ports=[{"containerPort": 80, "hostPort": 80}]),
        (node("a"),),
        (pod("q", "a", ports=[{"containerPort": 80, "hostPort": 80}]),),
    ),
    "nobody to be near": Situation(
        pod(affinity=affinity("podAffinity", near("web"))), (node("a"), node("b")), (pod("q", "a"),)
    ),
    "near": Situation(
        pod(affinity=affinity("podAffinity", near("web", ZONE))), ZONES, (pod("q", "a", labels={"app": "web"}),)
    ),
    "first of its kind": Situation(
        pod(labels={"app": "web"}, affinity=affinity("podAffinity", near("web"))), (node("a"),)
    ),
    "too near": Situation(
        pod(affinity=affinity("podAntiAffinity", near("web"))),
        (node("a"), node("b", taints=DEDICATED)),
        (pod("q", "a", labels={"app": "web"}),),
    ),
    "unwelcome": Situation(
        pod(labels={"app": "web"}), (node("a"),), (pod("q", "a", affinity=affinity("podAntiAffinity", near("web"))),)
    ),
    "uneven": Situation(
        pod(labels={"app": "web"}, topologySpreadConstraints=spread("web")),
        (node("a", {ZONE: "one"}), node("b", {ZONE: "two"}, taints=DEDICATED), node("c")),
        (pod("q", "a", labels={"app": "web"}),),
    ),
    "spread": Situation(
        pod(labels={"app": "web"}, topologySpreadConstraints=spread("web")),
        (node("a", {ZONE: "one"}), node("b", {ZONE: "two"})),
        (pod("q", "a", labels={"app": "web"}),),
    ),
    "too few domains": Situation(
        pod(labels={"app": "web"}, topologySpreadConstraints=spread("web", minDomains=3)),
        (node("a", {ZONE: "one"}), node("b", {ZONE: "two"})),
        (pod("q", "a", labels={"app": "web"}), pod("r", "b", labels={"app": "web"})),
    ),
    "no claim": Situation(pod(volumes=DATA), (node("a"), node("b"))),
    "claim that others must bind": Situation(pod(volumes=DATA), (node("a"),), others=(claim(storage_class="none"),)),
    "no volume to bind on any node": Situation(
        pod(volumes=DATA),
        (node("a"), node("b")),
        others=(
            claim(storage_class="late"),
            storage_class("late", "kubernetes.io/no-provisioner", "WaitForFirstConsumer"),
        ),
    ),
    "a volume that waits on one node": Situation(
        pod(volumes=DATA),
        (node("a"), node("b")),
        others=(
            storage_class("late", "kubernetes.io/no-provisioner", "WaitForFirstConsumer"),
            local_volume("on-b", "b", "late"),
            claim(storage_class="late"),
        ),
    ),
    "volume elsewhere": Situation(
        pod(volumes=DATA, nodeSelector={HOST: "a"}),
        (node("a"), node("b")),
        others=(local_volume("on-b", "b", "early"), claim(storage_class="early", volumeName="on-b")),
    ),
    "may not preempt": Situation(
        pod(wants={"cpu": "3"}, priorityClassName="high"),
        (node("a"),),
        (pod("q", "a", {"cpu": "2"}),),
        (priority("high", 1000, preemptionPolicy="Never"),),
    ),
    "nobody less important": Situation(
        pod(wants={"cpu": "3"}, priorityClassName="low"),
        (node("a"), node("b", taints=DEDICATED)),
        (pod("q", "a", {"cpu": "2"}, priorityClassName="low"),),
        (LOW,),
    ),
    "victims would not be enough": Situation(
        pod(wants={"cpu": "3"}, priorityClassName="high"),
        (node("a"), node("b", unschedulable=True)),
        (pod("q", "a", {"cpu": "2"}, priorityClassName="high"), pod("r", "a", {"cpu": "1"}, priorityClassName="low")),
        (LOW, HIGH),
    ),
    "fewest and least important victims": Situation(
        pod(wants={"cpu": "3"}, priorityClassName="high"),
        (node("a"), node("b"), node("c")),
        (
            pod("a1", "a", {"cpu": "2"}, priorityClassName="low"),
            pod("a2", "a", {"cpu": "2"}, priorityClassName="low"),
            pod("b1", "b", {"cpu": "2"}, priorityClassName="low"),
            pod("c1", "c", {"cpu": "2"}, priorityClassName="middle"),
        ),
        (LOW, HIGH, priority("middle", 10)),
    ),
    "victims under a budget": Situation(
        pod(wants={"cpu": "3"}, priorityClassName="high"),
        (node("a"), node("b")),
        (
            pod("a1", "a", {"cpu": "2"}, priorityClassName="low", labels={"app": "kept"}),
            pod("b1", "b", {"cpu": "2"}, priorityClassName="middle"),
        ),
        (
            LOW,
            HIGH,
            priority("middle", 10),
            (
                PODDISRUPTIONBUDGETS,
                {
                    "metadata": {"name": "kept"},
                    "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "kept"}}},
                },
            ),
        ),
    ),
    "the emptier": Situation(
        pod(wants={"cpu": "1"}), (node("a"), node("b")), (pod("q", "a", {"cpu": "1", "memory": "2Gi"}),)
    ),
    "the better balanced": Situation(
        pod(wants={"cpu": "1"}),
        (node("a"), node("b")),
        (pod("q", "a", {"cpu": "1", "memory": "4Gi"}), pod("r", "b", {"cpu": "2", "memory": "2Gi"})),
    ),
    "rather not": Situation(pod(), (node("a", taints=RATHER_NOT), node("b")), (pod("q", "b", {"cpu": "1"}),)),
    "preferred nodes": Situation(
        pod(
            affinity=affinity("nodeAffinity", {"matchExpressions": [{"key": "fast", "operator": "Exists"}]}, weight=10)
        ),
        (node("a", {"fast": ""}), node("b")),
        (pod("q", "a", {"cpu": "1"}),),
    ),
    "preferred company": Situation(
        pod(affinity=affinity("podAffinity", near("web", ZONE), weight=10)),
        ZONES[:2],
        (pod("q", "a", {"cpu": "1"}, labels={"app": "web"}),),
    ),
    "preferably apart": Situation(
        pod(affinity=affinity("podAntiAffinity", near("web", ZONE), weight=10)),
        ZONES[:2],
        (pod("q", "a", labels={"app": "web"}), pod("r", "b", {"cpu": "1"})),
    ),
    "preferably spread": Situation(
        pod(labels={"app": "web"}, topologySpreadConstraints=spread("web", when="ScheduleAnyway")),
        ZONES[:2],
        (pod("q", "a", labels={"app": "web"}), pod("r", "b", {"cpu": "1"})),
    ),
}


@pytest.fixture(scope="module")
def real_kubeconfig() -> Iterator[str]:
    with _control_plane().running(Path(tool("kube-scheduler")).parent) as environment:
        yield environment["SPRINGTIDE_ORACLE_KUBECONFIG"]


def _control_plane() -> ModuleType:
    path = Path(__file__).parents[2] / "hack/oracle/control_plane.py"
    spec = importlib.util.spec_from_file_location("control_plane", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@asynccontextmanager
async def embedded(directory: Path) -> AsyncIterator[Client]:
    async with cluster.running(cluster.Options(directory, port=0)) as running:
        client = running.client("admin")
        task = asyncio.create_task(run(running.client("system:kube-scheduler"), Options(strict_resources=True)))
        try:
            yield client
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", SITUATIONS)
async def test_both_schedulers_decide_alike(name: str, real_kubeconfig: str, tmp_path: Path) -> None:
    situation = SITUATIONS[name]
    async with embedded(tmp_path) as client, await Client.connect(real_kubeconfig) as real:
        ours, theirs = await asyncio.gather(outcome(client, situation), outcome(real, situation))
        for _ in range(TRIES - 1):
            if theirs == ours:
                break
            theirs = await outcome(real, situation)
    assert ours == theirs


async def test_both_servers_take_the_definitions(real_kubeconfig: str, tmp_path: Path) -> None:
    async with await Client.connect(real_kubeconfig) as real:
        await install(real)
        theirs = await _definitions(real)
        assert (await real.get(QUEUES, Key("", "default")))["spec"] == {"weight": 1, "reclaimable": True}
    async with embedded(tmp_path) as client:
        await install(client)
        ours = await _definitions(client)
    assert ours == theirs


async def _definitions(client: Client) -> Obj:
    found = (await client.list(CUSTOMRESOURCEDEFINITIONS)).items
    return {each["metadata"]["name"]: (each["spec"], each["status"]["acceptedNames"]) for each in found}


async def outcome(client: Client, situation: Situation) -> Obj:
    """Where the pod went, or what is said about it, and who has to go for it.

    Nobody waits until the namespace is gone, which takes the real server five seconds: no other situation uses it.
    """
    namespace = f"words-{uuid.uuid4().hex[:8]}"
    await client.create(NAMESPACES, NAMESPACES.describe(Key("", namespace)))
    made: list[tuple[Resource, Key]] = []
    try:
        await until(lambda: client.find(SERVICEACCOUNTS, Key(namespace, "default")), bool, PATIENCE)
        for resource, obj in (*((NODES, each) for each in situation.nodes), *situation.others):
            made.append((resource, await _create(client, resource, obj, namespace)))
        for each in situation.nodes:
            await _make_ready(client, each)
        for each in situation.there:
            made.append((PODS, await _create(client, PODS, each, namespace)))
        made.append((PODS, await _create(client, PODS, situation.pod, namespace)))
        key = Key(namespace, "p")
        await until(lambda: client.get(PODS, key), _decided, PATIENCE)
        return await _settled(client, key)
    finally:
        for resource, key in reversed(made):
            await _remove(client, resource, key)
        await client.delete(NAMESPACES, Key("", namespace))


async def _create(client: Client, resource: Resource, obj: Obj, namespace: str) -> Key:
    metadata = {**obj["metadata"], **({"namespace": namespace} if resource.namespaced else {})}
    header = {"apiVersion": resource.api_version, "kind": resource.kind}
    return Key.of(await client.create(resource, {**header, **obj, "metadata": metadata}))


async def _make_ready(client: Client, wanted: Obj) -> None:
    """Nodes begin with a taint that controllers take away; without them, or before them, it is taken away here."""
    key = Key("", wanted["metadata"]["name"])
    taints = wanted["spec"].get("taints")

    async def ask() -> list[str]:
        found = await client.get(NODES, key)
        keys = [taint["key"] for taint in found["spec"].get("taints") or ()]
        if "node.kubernetes.io/not-ready" in keys:
            await client.patch(NODES, key, {"spec": {"taints": taints}})
        return keys

    await until(ask, lambda keys: "node.kubernetes.io/not-ready" not in keys, PATIENCE)


def _decided(found: Obj) -> bool:
    return bool(found["spec"].get("nodeName")) or bool(_message(found))


def _message(found: Obj) -> str:
    return str(_condition(found).get("message", ""))


def _condition(found: Obj, kind: str = "PodScheduled") -> Obj:
    for condition in found.get("status", {}).get("conditions") or ():
        if condition["type"] == kind:
            told = {name: value for name, value in condition.items() if name != "lastTransitionTime"}
            return told | ({"message": STRAY.sub(".", ADVICE.sub("", told["message"]))} if "message" in told else {})
    return {}


async def _settled(client: Client, key: Key) -> Obj:
    """The outcome when it has stayed the same for a while: words change when victims begin to leave.

    A pod that is on a node and drove nobody away stays there.
    """
    last: Obj = {}
    quiet = 0
    while quiet < 10:
        now = await _look(client, key)
        if now["node"] and now["words"].get("status") == "True" and not now["victims"]:
            return now
        quiet = quiet + 1 if now == last else 0
        last = now
        await asyncio.sleep(0.15)
    return last


async def _look(client: Client, key: Key) -> Obj:
    pods = (await client.list(PODS, Scope(key.namespace))).items
    mine = next(each for each in pods if each["metadata"]["name"] == key.name)
    return {
        "node": mine["spec"].get("nodeName", ""),
        "words": _condition(mine),
        "promised": mine["status"].get("nominatedNodeName", ""),
        "victims": sorted(each["metadata"]["name"] for each in pods if "deletionTimestamp" in each["metadata"]),
        "marked": {each["metadata"]["name"]: _condition(each, "DisruptionTarget") for each in pods},
    }


async def _remove(client: Client, resource: Resource, key: Key) -> None:
    await client.delete(resource, key, DeleteOptions(grace=0))
    if resource is not PODS:
        # Claims and volumes wait for their protection controllers; nodes and the rest go at once.
        await until(lambda: client.find(resource, key), lambda found: found is None, PATIENCE)
