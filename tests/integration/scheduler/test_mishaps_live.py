# SPDX-License-Identifier: Apache-2.0
"""Requests that fail and schedulers that die on the way: the work is finished all the same."""

from __future__ import annotations

from pathlib import Path

from tests.integration.scheduler.world import GPU, NAMESPACE, World, a_world

from springtide.kube.resources import PERSISTENTVOLUMECLAIMS, PODS, PRIORITYCLASSES, STORAGECLASSES, Key
from springtide.local.scheduler.gangs.groups import VOLCANO_GROUPS
from springtide.local.scheduler.state.views import SELECTED_NODE


async def test_bindings_that_fail_are_done_again(tmp_path: Path) -> None:
    names = ["x", "y", "z"]
    async with a_world(tmp_path) as world:
        world.refusals["/binding"] = 4
        await world.node("a", gpus="3")
        await world.create(VOLCANO_GROUPS, "g", spec={"minMember": 3})
        for name in names:
            await world.pod(name, {GPU: "1"}, annotations={"scheduling.k8s.io/group-name": "g"})
        await world.until(lambda: world.nodes_of(*names), all)
        assert world.refusals["/binding"] == 0


async def test_an_eviction_that_fails_is_done_again(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        await world.create(PRIORITYCLASSES, "high", value=100)
        await world.node("a", gpus="1")
        await world.pod("low", {GPU: "1"})
        await world.bound("low")
        world.refusals["/pods/low"] = 2
        await world.pod("high", {GPU: "1"}, priorityClassName="high")
        await world.until_object(PODS, "low", lambda pod: "deletionTimestamp" in pod["metadata"])
        await world.finish_off("low")
        assert await world.bound("high") == "a"


async def test_a_claim_that_could_not_be_told_is_told_again(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        world.refusals["/persistentvolumeclaims/"] = 2
        await world.node("a")
        await world.create(
            STORAGECLASSES, "late", provisioner="nobody.example/none", volumeBindingMode="WaitForFirstConsumer"
        )
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        await world.create(PERSISTENTVOLUMECLAIMS, "data", spec=spec | {"storageClassName": "late"})
        await world.pod("p", volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}])
        await world.until_object(
            PERSISTENTVOLUMECLAIMS, "data", lambda claim: SELECTED_NODE in claim["metadata"].get("annotations", {})
        )


async def test_words_that_could_not_be_said_are_said_again_and_only_once(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        world.refusals["/pods/p/status"] = 2
        await world.pod("p")
        why = "no nodes available to schedule pods"
        assert (await world.waits("p")).startswith(why)
        await world.until(lambda: world.events("FailedScheduling"), bool)
        await world.stop()
        world.start()
        await world.pod("q")
        await world.waits("q")
        assert (await world.until(lambda: world.events("FailedScheduling"), lambda told: len(told) >= 2)) == [why, why]


async def _half_begun(world: World) -> None:
    """As a scheduler leaves it that dies between two bindings."""
    await world.stop()
    await world.node("a", gpus="2")
    await world.create(PRIORITYCLASSES, "high", value=100, preemptionPolicy="Never")
    await world.create(VOLCANO_GROUPS, "g", spec={"minMember": 2})
    for name in ("x", "y"):
        await world.pod(name, {GPU: "1"}, annotations={"scheduling.k8s.io/group-name": "g"})
    target = {"apiVersion": "v1", "kind": "Node", "name": "a"}
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "x"}, "target": target}
    await world.client.create(PODS, binding, on=Key(NAMESPACE, "x"), subresource="binding")
    await world.pod("greedy", {GPU: "1"}, priorityClassName="high")


async def test_a_gang_begun_by_a_scheduler_that_died_is_finished_first(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        await _half_begun(world)
        world.start()
        assert await world.bound("y") == "a"
        assert await world.waits("greedy")
