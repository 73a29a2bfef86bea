# SPDX-License-Identifier: Apache-2.0
"""The number of workers changes while the launcher runs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime

import pytest
from tests.integration.controllers.world import ELASTIC, MPIJOBS, NAME, V1, V2, World, job

from springtide.kube import errors
from springtide.kube.resources import CONFIGMAPS, NODES, PODS, ROLES, Key, Obj

pytestmark = pytest.mark.asyncio(loop_scope="session")

LAUNCHER, CONFIG = f"{NAME}-launcher", f"{NAME}-config"
Resize = Callable[[World, int], Awaitable[None]]


async def by_scale(world: World, workers: int) -> None:
    await world.patch({"spec": {"replicas": workers}}, subresource="scale")


async def by_patch(world: World, workers: int) -> None:
    await world.resize(workers)


async def by_v1_patch(world: World, workers: int) -> None:
    await world.patch({"spec": {"mpiReplicaSpecs": {"Worker": {"replicas": workers}}}}, version=V1)


async def by_put(world: World, workers: int) -> None:
    """As `kubectl edit` and `kubectl replace` do it, through the preferred version."""
    while True:
        found = await world.job()
        found["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"] = workers
        try:
            await world.client.replace(MPIJOBS[V2], found)
        except errors.Conflict:
            continue
        return


@pytest.mark.parametrize("version", [V1, V2])
@pytest.mark.parametrize("resize", [by_scale, by_patch, by_v1_patch, by_put])
async def test_a_job_grows_and_shrinks_whoever_asks_for_it(operated: World, version: str, resize: Resize) -> None:
    await operated.running(job(version, command=ELASTIC))
    await resize(operated, 3)
    await operated.workers_run(3)
    await operated.until_listed(0, 1, 2)
    assert (await operated.until_state("Running"))["workers"] == "3/3"
    await resize(operated, 1)
    await operated.until_listed(0)
    await operated.until_workers(0)
    await operated.kubelet.end()
    status = await operated.until_state("Running")
    assert (status["workers"], status["replicas"]) == ("1/1", 1)
    expected = ["MPIJobCreated", "MPIJobRunning", "ScalingOut", "ScalingIn"]
    await operated.until(operated.reasons, lambda found: found == expected)


async def test_what_grows_again_has_names_that_were_never_used(operated: World) -> None:
    await operated.running(job(command=ELASTIC, workers=3))
    await operated.resize(1)
    await operated.until_workers(0)
    await operated.kubelet.end()
    await operated.resize(2)
    await operated.until_workers(0, 3)
    await operated.workers_run(2)
    await operated.until_listed(0, 3)
    config = await operated.get(CONFIGMAPS, CONFIG)
    assert config["metadata"]["annotations"]["springtide.dev/next-index"] == "4"


async def test_the_role_is_as_wide_as_it_must_be_at_every_write(operated: World) -> None:
    """Grow: pods, the role once they are seen, the list. Shrink: the list, the role, and then the pods."""
    await operated.running(job(command=ELASTIC))
    await operated.quiet()
    mark = len(operated.wire.writes)
    await operated.resize(3)
    await operated.workers_run(3)
    await operated.until_listed(0, 1, 2)
    await operated.quiet()  # a write counts when it is answered, which is after it can be seen
    grown = operated.wire.written()[mark:]
    role, pod = grown.index(f"PATCH roles {LAUNCHER}"), grown.index(f"POST pods {NAME}-worker-2")
    listed = len(grown) - 1 - grown[::-1].index(f"PATCH configmaps {CONFIG}")
    assert pod < role < listed
    mark = len(operated.wire.writes)
    await operated.resize(2)
    await operated.until_workers(0, 1)
    await operated.kubelet.end()
    await operated.until(lambda: _reachable(operated), lambda names: len(names) == 2)
    await operated.quiet()
    shrunk = operated.wire.written()[mark:]
    unlisted = shrunk.index(f"PATCH configmaps {CONFIG}")
    deleted, narrowed = shrunk.index(f"DELETE pods {NAME}-worker-2"), shrunk.index(f"PATCH roles {LAUNCHER}")
    assert unlisted < narrowed < deleted


async def test_a_launcher_is_nudged_with_the_version_of_its_list_and_once_more(operated: World) -> None:
    await operated.running(job(command=ELASTIC))
    version = (await operated.get(CONFIGMAPS, CONFIG))["metadata"]["resourceVersion"]
    annotations = await operated.until(lambda: _annotations(operated), lambda found: found.get("host-list-again"))
    assert (annotations["host-list"], annotations["host-list-again"]) == (version, version)
    await operated.quiet()
    nudges = [write for write in operated.wire.written() if write == f"PATCH pods {LAUNCHER}"]
    assert len(nudges) == 2


async def test_a_drain_ends_when_the_launcher_says_so(operated: World) -> None:
    await operated.running(job(command=ELASTIC, annotations={"springtide.dev/drain-seconds": "600"}))
    await operated.resize(1)
    await operated.until_listed(0)
    await operated.quiet()
    assert await operated.workers() == [f"{NAME}-worker-0", f"{NAME}-worker-1"]
    assert (await operated.status())["state"] == "Scaling in"
    await operated.kubelet.annotate(LAUNCHER, progress=_progress(f"{NAME}-worker-0", f"{NAME}-worker-1"))
    await operated.quiet()
    assert len(await operated.workers()) == 2
    await operated.kubelet.annotate(LAUNCHER, progress=_progress(f"{NAME}-worker-0"))
    await operated.until_workers(0)


async def test_without_a_word_it_ends_after_its_time(operated: World) -> None:
    await operated.running(job(command=ELASTIC, annotations={"springtide.dev/drain-seconds": "1"}))
    await operated.resize(1)
    await operated.until_workers(0)


async def test_a_worker_that_never_served_goes_at_once(operated: World) -> None:
    await operated.running(job(command=ELASTIC, annotations={"springtide.dev/drain-seconds": "600"}))
    await operated.resize(3)
    await operated.until_workers(0, 1, 2)
    await operated.resize(2)
    await operated.until_workers(0, 1)
    assert await operated.listed() == [f"{NAME}-worker-0", f"{NAME}-worker-1"]


async def test_who_was_pointed_at_goes_first(operated: World) -> None:
    await operated.running(job(command=ELASTIC, workers=3))
    await operated.kubelet.annotate(f"{NAME}-worker-0", victim="true")
    await operated.quiet()
    await operated.resize(2)
    await operated.until_workers(1, 2)
    assert await operated.listed() == [f"{NAME}-worker-1", f"{NAME}-worker-2"]


async def _on_two_nodes(world: World, stack: AsyncExitStack) -> tuple[str, str]:
    """A worker on each; the first node is cordoned."""
    going, staying = [await _node(world, stack, name) for name in ("going", "staying")]
    await world.submit(job(command=ELASTIC))
    await world.until_workers(0, 1)
    await world.kubelet.run(f"{NAME}-worker-0", going)
    await world.kubelet.run(f"{NAME}-worker-1", staying)
    await world.launcher_runs()
    await world.until_condition("Running")
    await world.client.patch(NODES, Key("", going), {"spec": {"unschedulable": True}})
    return going, staying


async def test_a_cordon_moves_nobody(operated: World) -> None:
    async with AsyncExitStack() as stack:
        await _on_two_nodes(operated, stack)
        await operated.quiet()
        assert await operated.workers() == [f"{NAME}-worker-0", f"{NAME}-worker-1"]
        assert "NodeLeaving" not in await operated.reasons()


async def test_workers_that_are_evicted_from_a_cordoned_node_have_moved(operated: World) -> None:
    """As `kubectl drain` does it."""
    async with AsyncExitStack() as stack:
        _, staying = await _on_two_nodes(operated, stack)
        name = f"{NAME}-worker-0"
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
        await operated.client.create(PODS, eviction, on=operated.key(name), subresource="eviction")
        await operated.until_listed(1)
        await operated.until_workers(1, 2)
        await operated.kubelet.run(f"{NAME}-worker-2", staying)
        await operated.until_listed(1, 2)
        event = await operated.until_event("WorkersMoved")
        assert event["message"].startswith(f"{name} was evicted from node ")
        assert not (await operated.status()).get("restarts")


@pytest.mark.parametrize("notice", ["drain", "taint"])
async def test_workers_leave_a_node_that_is_drained_with_notice(operated: World, notice: str) -> None:
    async with AsyncExitStack() as stack:
        going, staying = await _on_two_nodes(operated, stack)
        taint = {"key": f"ToBeDeletedByClusterAutoscaler-{going}"[:63], "value": "1", "effect": "NoSchedule"}
        words: Obj = {"metadata": {"annotations": {"springtide.dev/drain": "2026-01-02T03:04:05Z"}}}
        words = words if notice == "drain" else {"spec": {"taints": [taint]}}
        await operated.client.patch(NODES, Key("", going), words)
        await operated.until_workers(0, 1, 2)
        await operated.kubelet.run(f"{NAME}-worker-2", staying)
        await operated.until_listed(1, 2)
        await operated.until_workers(1, 2)
        await operated.until(operated.reasons, lambda found: {"NodeLeaving", "WorkersMoved"} <= set(found))


async def test_of_a_shrinking_job_those_on_a_cordoned_node_go(operated: World) -> None:
    async with AsyncExitStack() as stack:
        going, staying = [await _node(operated, stack, name) for name in ("going", "staying")]
        # Long before the resize: the operator watches nodes and jobs in streams of their own.
        await operated.client.patch(NODES, Key("", going), {"spec": {"unschedulable": True}})
        await operated.submit(job(command=ELASTIC, workers=3))
        await operated.until_workers(0, 1, 2)
        for index, node in enumerate((staying, going, staying)):
            await operated.kubelet.run(f"{NAME}-worker-{index}", node)
        await operated.launcher_runs()
        await operated.until_condition("Running")
        await operated.resize(2)
        await operated.until_listed(0, 2)
        await operated.until(operated.workers, lambda found: f"{NAME}-worker-1" not in found)


async def test_a_size_beyond_the_bounds_runs_at_the_nearest(operated: World) -> None:
    await operated.running(job(command=ELASTIC))
    await operated.resize(9)
    condition = await operated.until_condition("SizeOutOfBounds")
    assert condition["reason"] == "NearestBoundIsRun"
    await operated.workers_run(4)
    await operated.until_listed(0, 1, 2, 3)
    await operated.resize(3)
    await operated.until_condition("SizeOutOfBounds", "False")


async def test_a_launcher_that_is_not_elastic_is_told_of(operated: World) -> None:
    await operated.running(job(workers=2))
    await operated.resize(3)
    event = await operated.until_event("ScalingOut")
    assert "count from its next start" in event["message"]
    await operated.workers_run(3)
    await operated.until_condition("SizeDeferred")
    await operated.resize(2)
    await operated.until_workers(0, 1)
    await operated.until_condition("SizeDeferred", "False")
    await operated.resize(1)
    condition = await operated.until_condition("SizeDeferred")
    assert condition["message"].startswith("2 workers train, 1 is requested: mpirun is not elastic")
    await operated.until_workers(0, 1)


async def test_a_resize_may_be_turned_around_at_any_moment(operated: World) -> None:
    await operated.running(job(command=ELASTIC))
    for size in (4, 1, 3, 2, 4, 2):
        await operated.resize(size)
        await asyncio.sleep(0)
    await operated.quiet()

    async def ended() -> Obj:
        """Workers are drained one after another, so pods go on being deleted."""
        await operated.kubelet.end()
        return await operated.status()

    await operated.until(operated.workers, lambda found: len(found) == 2)
    await operated.workers_run(2)
    await operated.until(ended, lambda found: (found.get("state"), found.get("workers")) == ("Running", "2/2"))
    assert await operated.listed() == await operated.workers()


async def test_what_the_scale_subresource_says_is_what_is(operated: World) -> None:
    await operated.running(job(command=ELASTIC))
    scale = await operated.client.get(MPIJOBS[V2], operated.key(NAME), subresource="scale")
    assert (scale["spec"]["replicas"], scale["status"]["replicas"]) == (2, 2)
    found = await operated.all_of(PODS, scale["status"]["selector"])
    assert sorted(found) == [f"{NAME}-worker-0", f"{NAME}-worker-1"]


async def _reachable(world: World) -> list[str]:
    rules = (await world.get(ROLES, LAUNCHER))["rules"]
    return [name for rule in rules if rule["resources"] == ["pods/exec"] for name in rule["resourceNames"]]


async def _annotations(world: World) -> dict[str, str]:
    """Ours, of the launcher."""
    found = (await world.get(PODS, LAUNCHER))["metadata"]["annotations"]
    return {name.removeprefix("springtide.dev/"): value for name, value in found.items()}


def _progress(*hosts: str) -> str:
    return json.dumps({"at": datetime.now(UTC).isoformat(), "hosts": hosts})


async def _node(world: World, stack: AsyncExitStack, name: str) -> str:
    """Nodes belong to no namespace, so these are called after the test's."""
    made = Key("", f"{world.namespace}-{name}")
    await world.client.create(NODES, NODES.describe(made))
    stack.push_async_callback(world.client.delete, NODES, made)
    return made.name
