# SPDX-License-Identifier: Apache-2.0
"""Gangs of both APIs on a live server: all or none, and the PodGroup says how it stands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.integration.scheduler.world import GPU, NAMESPACE, World, a_world

from springtide.kube.request import Scope
from springtide.kube.resources import CUSTOMRESOURCEDEFINITIONS, PODS, PRIORITYCLASSES, Key, Obj
from springtide.local.scheduler.gangs.groups import PLUGIN_GROUPS, QUEUES, VOLCANO_GROUPS
from springtide.local.scheduler.gangs.installing import install


async def members(world: World, group: str, count: int, gpus: int = 1, **spec: Any) -> list[str]:
    names = [f"{group}-{number}" for number in range(count)]
    for name in names:
        await world.pod(name, {GPU: f"{gpus}"}, annotations={"scheduling.k8s.io/group-name": group}, **spec)
    return names


async def a_group(world: World, name: str, least: int, **spec: Any) -> None:
    await world.create(VOLCANO_GROUPS, name, spec={"minMember": least, **spec})


def phase(group: Obj) -> str:
    return str(group.get("status", {}).get("phase"))


async def test_a_gang_that_fits_starts_as_one(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        await world.node("a", gpus="2")
        await world.node("b", gpus="2")
        await a_group(world, "g", 4)
        names = await members(world, "g", 4, schedulerName="volcano")
        assert sorted(await world.until(lambda: world.nodes_of(*names), all)) == ["a", "a", "b", "b"]
        for name in names:
            await world.report(name, "Running")
        group = await world.until_object(VOLCANO_GROUPS, "g", lambda group: group.get("status", {}).get("running") == 4)
        assert phase(group) == "Running"
        assert group["spec"]["queue"] == "default"
        told = [each for each in group["status"]["conditions"] if each["type"] == "Scheduled"]
        assert told[0]["reason"] == "tasks in gang are ready to be scheduled"
        queue = await world.until_object(QUEUES, "default", lambda queue: queue.get("status", {}).get("running") == 1)
        assert queue["status"] == {"state": "Open", "running": 1, "allocated": {GPU: "4"}}
        for name in names:
            await world.report(name, "Succeeded")
        await world.until_object(VOLCANO_GROUPS, "g", lambda group: phase(group) == "Completed")


async def test_a_gang_that_does_not_fit_starts_not_at_all(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        await world.node("a", gpus="3")
        await a_group(world, "g", 4)
        names = await members(world, "g", 4)
        why = "4 Pending, 4 minAvailable; Pending: 1 Unschedulable, 3 Schedulable"
        group = await world.until_object(VOLCANO_GROUPS, "g", lambda group: why in str(group.get("status")))
        assert phase(group) == "Inqueue"
        [condition] = group["status"]["conditions"]
        assert (condition["type"], condition["reason"]) == ("Unschedulable", "NotEnoughResources")
        for name in names:
            await world.waits(name)
        assert await world.nodes_of(*names) == [""] * 4
        await world.node("b", gpus="1")
        await world.until(lambda: world.nodes_of(*names), all)


async def test_two_gangs_that_fit_half_each_do_not_block_each_other(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        await world.node("a", gpus="4")
        await a_group(world, "one", 3)
        await a_group(world, "two", 3)
        one, two = await members(world, "one", 3), await members(world, "two", 3)
        await world.until(lambda: world.nodes_of(*one), all)
        await world.waits("two-0")
        assert await world.nodes_of(*two) == [""] * 3
        for name in one:
            await world.finish_off(name)
        await world.until(lambda: world.nodes_of(*two), all)


async def test_members_wait_for_their_group_and_for_each_other(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        await world.node("a", gpus="4")
        [name] = await members(world, "g", 1)
        assert await world.waits(name) == 'pod group "default/g" not found'
        await a_group(world, "g", 2)
        text = "2/1 tasks in gang unschedulable: pod group is not ready, 1 Pending, 2 minAvailable"
        assert await world.waits(name, lambda said: said.startswith("2/1")) == text
        group = await world.until_object(VOLCANO_GROUPS, "g", lambda group: group.get("status", {}).get("conditions"))
        assert phase(group) == "Inqueue"
        await world.pod("late", {GPU: "1"}, annotations={"scheduling.k8s.io/group-name": "g"})
        await world.until(lambda: world.nodes_of(name, "late"), all)


async def test_a_group_without_pods_is_let_in_when_there_is_enough_for_it(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        await world.node("a", gpus="1")
        await a_group(world, "g", 2, minResources={GPU: "2"})
        await world.until_object(VOLCANO_GROUPS, "g", lambda group: phase(group) == "Pending")
        await world.node("b", gpus="1")
        await world.until_object(VOLCANO_GROUPS, "g", lambda group: phase(group) == "Inqueue")


async def test_groups_of_scheduler_plugins(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        await world.node("a", gpus="1")
        await world.create(PLUGIN_GROUPS, "g", spec={"minMember": 2, "scheduleTimeoutSeconds": 10})
        for name in ("x", "y"):
            await world.pod(
                name,
                {GPU: "1"},
                labels={"scheduling.x-k8s.io/pod-group": "g"},
                schedulerName="scheduler-plugins-scheduler",
            )
        await world.until_object(PLUGIN_GROUPS, "g", lambda group: phase(group) == "Scheduling")
        await world.waits("x")
        await world.waits("y")
        await world.node("b", gpus="1")
        await world.until(lambda: world.nodes_of("x", "y"), all)
        await world.report("x", "Running")
        await world.report("y", "Running")
        group = await world.until_object(PLUGIN_GROUPS, "g", lambda group: phase(group) == "Running")
        assert group["status"]["running"] == 2
        assert group["status"]["scheduleStartTime"]


async def test_a_queues_capability_is_a_hard_cap(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        await world.node("a", gpus="8")
        await world.create(QUEUES, "team", spec={"weight": 1, "capability": {GPU: "3"}})
        await a_group(world, "one", 2, queue="team")
        await a_group(world, "two", 2, queue="team")
        one, two = await members(world, "one", 2), await members(world, "two", 2)
        await world.until(lambda: world.nodes_of(*one), all)
        assert 'queue "team" is at its capability' in await world.waits("two-0", lambda said: "capability" in said)
        await world.client.patch(QUEUES, Key("", "team"), {"spec": {"capability": {GPU: "4"}}})
        await world.until(lambda: world.nodes_of(*two), all)


async def test_an_important_gang_makes_room_for_itself(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        await world.create(PRIORITYCLASSES, "high", value=100)
        await world.node("a", gpus="4")
        low = [f"low{number}" for number in range(4)]
        for name in low:
            await world.pod(name, {GPU: "1"})
        await world.until(lambda: world.nodes_of(*low), all)
        await a_group(world, "g", 3, priorityClassName="high")
        names = await members(world, "g", 3, priorityClassName="high")

        async def condemned() -> list[str]:
            pods = (await world.client.list(PODS, Scope(NAMESPACE))).items
            return [pod["metadata"]["name"] for pod in pods if "deletionTimestamp" in pod["metadata"]]

        victims = await world.until(condemned, lambda found: len(found) == 3)
        for victim in victims:
            await world.finish_off(victim)
        await world.until(lambda: world.nodes_of(*names), all)
        assert await condemned() == []


async def test_installing_twice_changes_nothing(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        await world.until(lambda: world.client.find(QUEUES, Key("", "default")), bool)
        before = {each["metadata"]["name"]: each for each in (await world.client.list(CUSTOMRESOURCEDEFINITIONS)).items}
        await install(world.client)
        after = {each["metadata"]["name"]: each for each in (await world.client.list(CUSTOMRESOURCEDEFINITIONS)).items}
        assert before == after
        assert set(after) == {
            "podgroups.scheduling.volcano.sh",
            "queues.scheduling.volcano.sh",
            "podgroups.scheduling.x-k8s.io",
        }
