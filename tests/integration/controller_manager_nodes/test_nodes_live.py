# SPDX-License-Identifier: Apache-2.0
"""Nodes that fall silent, are tainted or deleted, and what becomes of their pods. Tests play the kubelets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.integration.controller_manager.world import NAMESPACE, World, a_world

from springtide.kube.client import Client
from springtide.kube.controller import Controller
from springtide.kube.errors import NotFound
from springtide.kube.events import EventRecorder
from springtide.kube.informer import Informers
from springtide.kube.request import DeleteOptions, Scope
from springtide.kube.resources import EVENTS, LEASES, NODES, PODS, Key, Obj
from springtide.local.controller_manager.nodes import lifecycle, pod_garbage, taint_eviction
from springtide.local.controller_manager.nodes.heartbeats import Patience

UNREACHABLE = "node.kubernetes.io/unreachable"
NOT_READY = "node.kubernetes.io/not-ready"


def watching(silence: float) -> Any:
    """The lifecycle controller, with less patience than it has in life."""

    def controller(informers: Informers, client: Client, recorder: EventRecorder) -> Controller[Key]:
        patience = Patience(silence=silence, startup=3600, tick=0.02, gap=5)
        return lifecycle.controller(informers, client, recorder, patience)

    return SimpleNamespace(COMPONENT=lifecycle.COMPONENT, controller=controller)


def soon() -> Any:
    return watching(0.2)


def never() -> Any:
    return watching(3600)


async def a_node(world: World, name: str, ready: str = "True", **spec: Any) -> Obj:
    await world.client.create(NODES, NODES.describe(Key("", name)) | {"spec": spec})
    return await report(world, name, ready)


async def report(world: World, name: str, ready: str = "True", beat: int = 0) -> Obj:
    times = {"lastHeartbeatTime": f"2026-01-01T00:00:{beat:02}Z", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    condition = {"type": "Ready", "status": ready, "reason": "KubeletReady", "message": "ok", **times}
    patch = {"status": {"conditions": [condition]}}
    return await world.client.patch(NODES, Key("", name), patch, subresource="status")


async def a_pod(world: World, name: str, node: str, *, tolerations: list[Obj] | None = None) -> Obj:
    spec = {"nodeName": node, "containers": [{"name": "c", "image": "i"}], "tolerations": tolerations or []}
    pod = await world.create(PODS, {"metadata": {"name": name}, "spec": spec})
    await world.run(pod)
    return pod


async def until_node(world: World, name: str, accept: Callable[[Obj], object]) -> Obj:
    return await world.until(lambda: world.client.get(NODES, Key("", name)), accept)


def taints(node: Obj) -> set[tuple[str, str]]:
    return {(taint["key"], taint["effect"]) for taint in node["spec"].get("taints") or ()}


def ready(obj: Obj) -> Obj:
    found: Obj = next(one for one in obj["status"]["conditions"] if one["type"] == "Ready")
    return found


async def node_events(world: World, reason: str) -> list[str]:
    events = await world.client.list(EVENTS, Scope(NAMESPACE, fields=f"reason={reason}"))
    return [event["message"] for event in events.items if event["involvedObject"]["kind"] == "Node"]


async def test_a_new_node_is_greeted_and_loses_its_taint_when_it_is_ready(tmp_path: Path) -> None:
    async with a_world(tmp_path, never()) as world:
        await world.client.create(NODES, NODES.describe(Key("", "n")))
        greeting = ["Node n event: Registered Node n in Controller"]
        assert await world.until(lambda: node_events(world, "RegisteredNode"), bool) == greeting
        assert taints(await world.client.get(NODES, Key("", "n"))) == {(NOT_READY, "NoSchedule")}
        await report(world, "n")
        await until_node(world, "n", lambda node: not taints(node))
        await world.client.delete(NODES, Key("", "n"))
        farewell = ["Node n event: Removing Node n from Controller"]
        assert await world.until(lambda: node_events(world, "RemovingNode"), bool) == farewell


async def test_a_silent_node_among_others_is_given_up_and_taken_back(tmp_path: Path) -> None:
    async with a_world(tmp_path, soon()) as world:
        await a_node(world, "silent")
        await a_node(world, "alive")
        await a_pod(world, "p", "silent")
        beat = 0

        async def node_is_lost() -> Obj:
            nonlocal beat
            beat = (beat + 1) % 60
            await report(world, "alive", beat=beat)
            return await world.client.get(NODES, Key("", "silent"))

        lost = {(UNREACHABLE, "NoSchedule"), (UNREACHABLE, "NoExecute")}
        node = await world.until(node_is_lost, lambda node: taints(node) == lost)
        assert (ready(node)["status"], ready(node)["reason"]) == ("Unknown", "NodeStatusUnknown")
        assert ready(node)["message"] == "Kubelet stopped posting node status."
        await world.until_object(PODS, "p", lambda pod: ready(pod)["status"] == "False")
        assert await world.until(lambda: node_events(world, "NodeNotReady"), bool)
        assert "Node is not ready" in await world.until(
            lambda: world.events("NodeNotReady"), lambda found: len(found) > 1
        )

        async def node_is_back() -> Obj:
            nonlocal beat
            beat = (beat + 1) % 60
            await report(world, "alive", beat=beat)
            return await report(world, "silent", beat=beat)

        await world.until(node_is_back, lambda node: not taints(node))


async def test_a_renewed_lease_is_a_heartbeat(tmp_path: Path) -> None:
    async with a_world(tmp_path, watching(1.5)) as world:
        await a_node(world, "n")
        await a_node(world, "without")
        lease = Key("kube-node-lease", "n")
        await world.client.create(LEASES, LEASES.describe(lease) | {"spec": {"holderIdentity": "n"}})
        renewals = 0

        async def renew() -> Obj:
            nonlocal renewals
            renewals += 1
            moment = f"2026-01-01T00:00:00.{renewals:06}Z"
            await world.client.patch(LEASES, lease, {"spec": {"renewTime": moment}})
            return await world.client.get(NODES, Key("", "without"))

        await world.until(renew, lambda node: ready(node)["status"] == "Unknown")
        assert ready(await world.client.get(NODES, Key("", "n")))["status"] == "True"


async def test_when_all_nodes_are_silent_nobody_is_driven_away(tmp_path: Path) -> None:
    async with a_world(tmp_path, soon(), taint_eviction) as world:
        await a_node(world, "a")
        await a_node(world, "b")
        # One may fall silent a little before the other, and be let off again when the other does.
        for name in ("a", "b"):
            node = await until_node(world, name, lambda node: taints(node) == {(UNREACHABLE, "NoSchedule")})
            assert ready(node)["status"] == "Unknown"


async def test_a_cordoned_node_is_tainted(tmp_path: Path) -> None:
    async with a_world(tmp_path, never()) as world:
        await a_node(world, "n")
        await world.client.patch(NODES, Key("", "n"), {"spec": {"unschedulable": True}})
        expected = {("node.kubernetes.io/unschedulable", "NoSchedule")}
        await until_node(world, "n", lambda node: taints(node) == expected)


# Eviction by taint


async def test_pods_leave_a_node_whose_taint_they_do_not_tolerate(tmp_path: Path) -> None:
    async with a_world(tmp_path, taint_eviction) as world:
        await a_node(world, "n")
        await a_pod(world, "leaves", "n")
        await a_pod(world, "stays", "n", tolerations=[{"key": "k", "operator": "Exists"}])
        await a_pod(
            world,
            "stays-a-while",
            "n",
            tolerations=[{"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60}],
        )
        await world.client.patch(NODES, Key("", "n"), {"spec": {"taints": [{"key": "k", "effect": "NoExecute"}]}})
        gone = await world.until_object(PODS, "leaves", lambda pod: "deletionTimestamp" in pod["metadata"])
        target = next(one for one in gone["status"]["conditions"] if one["type"] == "DisruptionTarget")
        assert target["reason"] == "DeletionByTaintManager"
        assert target["message"] == "Taint manager: deleting due to NoExecute taint"
        assert target["observedGeneration"] == 1
        events = await world.until(lambda: world.events("TaintManagerEviction"), bool)
        assert events == ["Marking for deletion Pod default/leaves"]
        await world.client.patch(NODES, Key("", "n"), {"spec": {"taints": []}})
        events = await world.until(lambda: world.events("TaintManagerEviction"), lambda found: len(found) == 2)
        assert events[-1] == "Cancelling deletion of Pod default/stays-a-while"
        for name in ("stays", "stays-a-while"):
            assert "deletionTimestamp" not in (await world.get(PODS, name))["metadata"]


async def test_a_pod_leaves_when_its_tolerance_is_used_up(tmp_path: Path) -> None:
    async with a_world(tmp_path, taint_eviction) as world:
        await a_node(world, "n", taints=[{"key": "k", "effect": "NoExecute"}])
        await a_pod(
            world,
            "p",
            "n",
            tolerations=[{"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 1}],
        )
        assert "deletionTimestamp" not in (await world.get(PODS, "p"))["metadata"]
        await world.until_object(PODS, "p", lambda pod: "deletionTimestamp" in pod["metadata"])


# Pods without a node


async def until_gone(world: World, name: str) -> None:
    await world.until(lambda: world.client.find(PODS, Key(NAMESPACE, name)), lambda pod: pod is None)


async def test_pods_go_with_their_node(tmp_path: Path) -> None:
    async with a_world(tmp_path, pod_garbage) as world:
        await a_node(world, "n")
        await a_node(world, "other")
        await a_pod(world, "p", "n")
        held = await a_pod(world, "held", "n")
        await a_pod(world, "not-yet", "nobody-has-seen-it")
        await a_pod(world, "elsewhere", "other")
        await world.patch(PODS, "held", {"metadata": {"finalizers": ["example.com/hold"]}})
        await world.client.delete(NODES, Key("", "n"))
        await until_gone(world, "p")
        kept = await world.until_object(PODS, "held", lambda pod: pod["status"]["phase"] == "Failed")
        assert kept["metadata"]["uid"] == held["metadata"]["uid"]
        target = next(one for one in kept["status"]["conditions"] if one["type"] == "DisruptionTarget")
        assert (target["reason"], target["message"]) == ("DeletionByPodGC", "PodGC: node no longer exists")
        assert {pod["metadata"]["name"] for pod in await world.pods()} == {"held", "not-yet", "elsewhere"}


async def test_a_deleted_pod_of_a_node_out_of_service_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pod_garbage, "PERIOD", 0.05)
    async with a_world(tmp_path, pod_garbage) as world:
        taint = {"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute", "value": "nodeshutdown"}
        await a_node(world, "n", "Unknown", taints=[taint])
        await a_pod(world, "p", "n")
        await a_pod(world, "other", "n")
        await world.client.delete(PODS, Key(NAMESPACE, "p"), DeleteOptions(grace=30))
        await until_gone(world, "p")
        with pytest.raises(NotFound):
            await world.get(PODS, "p")
        assert "deletionTimestamp" not in (await world.get(PODS, "other"))["metadata"]
