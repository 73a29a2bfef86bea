# SPDX-License-Identifier: Apache-2.0
"""Pods get nodes, or are told why not, while nodes and pods come and go."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.integration.scheduler.world import GPU, NAMESPACE, World, a_world

from springtide.kube.request import Patch
from springtide.kube.resources import (
    NODES,
    PERSISTENTVOLUMECLAIMS,
    PERSISTENTVOLUMES,
    PODS,
    PRIORITYCLASSES,
    STORAGECLASSES,
    Key,
)


async def test_a_pod_gets_a_node_and_is_told(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        await world.node("a")
        await world.pod("p", {"cpu": "64", "memory": "1Ti"})
        assert await world.bound("p") == "a"
        told = await world.until(lambda: world.events("Scheduled"), bool)
        assert told == ["Successfully assigned default/p to a"]
        conditions = (await world.get(PODS, "p"))["status"]["conditions"]
        assert [each["status"] for each in conditions if each["type"] == "PodScheduled"] == ["True"]


async def test_a_strict_cluster_counts_cpu(tmp_path: Path) -> None:
    async with a_world(tmp_path, strict=True) as world:
        await world.node("a")
        await world.pod("p", {"cpu": "64"})
        assert "1 Insufficient cpu." in await world.waits("p")


async def test_a_pod_waits_for_a_node_and_says_so_once(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        await world.pod("p", {GPU: "2"})
        why, advice = "no nodes available to schedule pods", "Add a node to this cluster: tide node add worker-1"
        assert await world.waits("p") == f"{why}. {advice}"
        assert await world.until(lambda: world.events("FailedScheduling"), bool) == [why]
        assert await world.until(lambda: world.events("MissingResource"), bool) == [advice]
        await world.node("small", gpus="1")
        assert await world.waits("p", lambda text: text.startswith("0/1 nodes"))
        for count in range(5):
            await world.client.patch(NODES, Key("", "small"), {"metadata": {"labels": {"seen": f"{count}"}}})
        await world.node("large", gpus="2")
        assert await world.bound("p") == "large"
        told = await world.until(lambda: world.events("FailedScheduling"), lambda each: len(each) >= 2)
        assert len(told) == len(set(told))


async def test_what_no_node_offers_is_followed_by_the_command_that_adds_it(tmp_path: Path) -> None:
    advice = (
        f"No node of this cluster offers {GPU}. "
        f"Add one that does, with devices that do not exist, to try it out: tide node add gpu-1={GPU}:8"
    )
    async with a_world(tmp_path) as world:
        await world.node("a")
        await world.pod("p", {GPU: "2"})
        said = await world.waits("p")
        assert said.startswith("0/1 nodes are available: 1 Insufficient nvidia.com/gpu.")
        assert said.endswith(f" {advice}")
        why = said.removesuffix(f" {advice}")
        assert await world.until(lambda: world.events("FailedScheduling"), bool) == [why]
        assert await world.until(lambda: world.events("MissingResource"), bool) == [advice]


async def test_room_that_becomes_free_is_used(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        await world.node("a", gpus="1")
        await world.pod("first", {GPU: "1"})
        await world.bound("first")
        await world.pod("second", {GPU: "1"})
        await world.waits("second")
        await world.report("first", "Succeeded")
        assert await world.bound("second") == "a"
        await world.pod("third", {GPU: "1"})
        await world.waits("third")
        await world.finish_off("second")
        assert await world.bound("third") == "a"


async def test_gated_pods_and_other_schedulers_pods_are_left_alone(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        await world.node("a")
        await world.pod("gated", schedulingGates=[{"name": "wait"}])
        await world.pod("foreign", schedulerName="somebody-else")
        await world.pod("volcanic", schedulerName="volcano")
        assert await world.bound("volcanic") == "a"
        assert await world.nodes_of("gated", "foreign") == ["", ""]
        gate = [{"op": "remove", "path": "/spec/schedulingGates"}]
        await world.client.patch(PODS, Key(NAMESPACE, "gated"), gate, Patch.JSON)
        assert await world.bound("gated") == "a"
        assert await world.nodes_of("foreign") == [""]


async def test_an_uncordoned_node_is_used(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        await world.node("a")
        await world.client.patch(NODES, Key("", "a"), {"spec": {"unschedulable": True}})
        await world.pod("p")
        assert "node(s) were unschedulable" in await world.waits("p")
        await world.client.patch(NODES, Key("", "a"), {"spec": {"unschedulable": None, "taints": None}})
        assert await world.bound("p") == "a"


async def test_who_wants_company_is_tried_again_when_company_comes(tmp_path: Path) -> None:
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}
    near = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    async with a_world(tmp_path) as world:
        await world.node("a")
        await world.node("b")
        await world.pod("p", affinity=near)
        assert "didn't match pod affinity rules" in await world.waits("p")
        await world.pod("friend", labels={"app": "web"}, nodeSelector={"kubernetes.io/hostname": "b"})
        assert await world.bound("p") == "b"


async def test_the_important_come_first_when_room_is_short(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        await world.create(PRIORITYCLASSES, "high", value=100, preemptionPolicy="Never")
        await world.pod("low", {GPU: "1"})
        await world.pod("high", {GPU: "1"}, priorityClassName="high")
        await world.waits("low")
        await world.waits("high")
        await world.node("a", gpus="1")
        assert await world.bound("high") == "a"
        assert await world.nodes_of("low") == [""]


async def _a_preemption(world: World) -> None:
    await world.create(PRIORITYCLASSES, "high", value=100)
    await world.node("a", gpus="1")
    await world.pod("low", {GPU: "1"})
    await world.bound("low")
    await world.pod("high", {GPU: "1"}, priorityClassName="high")


async def test_a_preemption_from_beginning_to_end(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        await _a_preemption(world)
        victim = await world.until_object(PODS, "low", lambda pod: "deletionTimestamp" in pod["metadata"])
        [marked] = [each for each in victim["status"]["conditions"] if each["type"] == "DisruptionTarget"]
        assert marked["reason"] == "PreemptionByScheduler"
        assert marked["message"] == "default-scheduler: preempting to accommodate a higher priority pod"
        high = await world.until_object(PODS, "high", lambda pod: pod["status"].get("nominatedNodeName"))
        assert high["status"]["nominatedNodeName"] == "a"
        told = await world.until(lambda: world.events("Preempted"), bool)
        assert told == [f"Preempted by pod {high['metadata']['uid']} on node a"]
        await world.pod("sneaky", {GPU: "1"})
        await world.finish_off("low")
        assert await world.bound("high") == "a"
        assert await world.waits("sneaky")


async def test_a_new_scheduler_keeps_an_old_ones_promise(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        await _a_preemption(world)
        await world.until_object(PODS, "high", lambda pod: pod["status"].get("nominatedNodeName"))
        await world.until_object(PODS, "low", lambda pod: "deletionTimestamp" in pod["metadata"])
        await world.stop()
        await world.pod("sneaky", {GPU: "1"})
        await world.finish_off("low")
        world.start()
        assert await world.bound("high") == "a"


async def test_a_claim_is_told_its_node_and_waited_for(tmp_path: Path) -> None:
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    async with a_world(tmp_path) as world:
        await world.node("a")
        await world.create(
            STORAGECLASSES, "late", provisioner="nobody.example/none", volumeBindingMode="WaitForFirstConsumer"
        )
        spec = {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            "storageClassName": "late",
        }
        await world.create(PERSISTENTVOLUMECLAIMS, "data", spec=spec)
        await world.pod("p", volumes=volumes)
        chosen = "volume.kubernetes.io/selected-node"
        await world.until_object(
            PERSISTENTVOLUMECLAIMS, "data", lambda claim: claim["metadata"].get("annotations", {}).get(chosen) == "a"
        )
        assert await world.nodes_of("p") == [""]
        volume = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/none"}}
        await world.create(PERSISTENTVOLUMES, "made", spec=volume | {"storageClassName": "late"})
        done = {"metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}, "spec": {"volumeName": "made"}}
        await world.client.patch(PERSISTENTVOLUMECLAIMS, Key(NAMESPACE, "data"), done)
        assert await world.bound("p") == "a"


async def test_a_local_volume_decides_the_node_and_is_set_aside(tmp_path: Path) -> None:
    where = {"key": "kubernetes.io/hostname", "operator": "In", "values": ["b"]}
    async with a_world(tmp_path, controllers=True) as world:
        await world.node("a")
        await world.node("b")
        await world.create(
            STORAGECLASSES,
            "late",
            provisioner="kubernetes.io/no-provisioner",
            volumeBindingMode="WaitForFirstConsumer",
        )
        claim = {"accessModes": ["ReadWriteOnce"], "storageClassName": "late"}
        await world.create(PERSISTENTVOLUMECLAIMS, "data", spec=claim | {"resources": {"requests": {"storage": "1Gi"}}})
        await world.create(
            PERSISTENTVOLUMES,
            "on-b",
            spec={
                "capacity": {"storage": "1Gi"},
                "accessModes": ["ReadWriteOnce"],
                "local": {"path": "/none"},
                "storageClassName": "late",
                "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [where]}]}},
            },
        )
        await world.pod("p", volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}])
        assert await world.bound("p") == "b"
        bound = await world.get(PERSISTENTVOLUMECLAIMS, "data")
        assert bound["spec"]["volumeName"] == "on-b"


async def test_many_pods_and_a_scheduler_that_is_stopped_and_started(tmp_path: Path) -> None:
    names = [f"p{number}" for number in range(60)]
    async with a_world(tmp_path) as world:
        for name in ("a", "b", "c"):
            await world.node(name, gpus="20")

        async def make() -> None:
            for name in names:
                await world.pod(name, {GPU: "1"})

        making = asyncio.create_task(make())
        for _ in range(3):
            await asyncio.sleep(0)
            await world.stop()
            world.start()
        await making
        placed = await world.until(lambda: world.nodes_of(*names), all)
        assert sorted(placed) == ["a"] * 20 + ["b"] * 20 + ["c"] * 20
