# SPDX-License-Identifier: Apache-2.0
"""Jobs whose pods are placed together."""

from __future__ import annotations

import pytest
from tests.integration.controllers.world import ELASTIC, NAME, V1, V2, World, job

from springtide.kube.resources import PODS, Resource

pytestmark = pytest.mark.asyncio(loop_scope="session")

VOLCANO = Resource("scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup")
PLUGINS = Resource("scheduling.x-k8s.io", "v1alpha1", "podgroups", "PodGroup")


@pytest.mark.parametrize("version", [V1, V2])
async def test_the_group_follows_the_size_and_goes_with_the_pods(world: World, version: str) -> None:
    await world.start(gang_scheduler="volcano")
    policy = {"cleanPodPolicy": "Running", "schedulingPolicy": {"queue": "research"}}
    launcher = await world.running(job(version, command=ELASTIC, runPolicy=policy))
    group = await world.get(VOLCANO, NAME)
    assert (group["spec"]["minMember"], group["spec"]["queue"]) == (3, "research")
    worker = await world.get(PODS, f"{NAME}-worker-0")
    assert worker["metadata"]["annotations"]["scheduling.k8s.io/group-name"] == NAME
    assert worker["spec"]["schedulerName"] == "volcano"
    await world.resize(3)
    await world.until(lambda: world.get(VOLCANO, NAME), lambda found: found["spec"]["minMember"] == 4)
    await world.kubelet.succeed(launcher)
    if version == V2:
        await world.kubelet.complete(f"{NAME}-launcher")
    await world.until_condition("Succeeded")
    await world.until_gone(VOLCANO, NAME)


async def test_the_group_exists_before_any_pod(world: World) -> None:
    await world.start(gang_scheduler="volcano")
    await world.submit(job(V1))
    await world.until_workers(0, 1)
    written = world.wire.written("POST")
    assert written.index(f"POST podgroups {NAME}") < min(
        place for place, write in enumerate(written) if write.startswith("POST pods ")
    )


async def test_other_schedulers_have_groups_of_another_kind(world: World) -> None:
    await world.start(gang_scheduler="scheduler-plugins")
    await world.submit(job(V2, runPolicy={"schedulingPolicy": {"scheduleTimeoutSeconds": 60}}))
    await world.until_workers(0, 1)
    group = await world.get(PLUGINS, NAME)
    assert (group["spec"]["minMember"], group["spec"]["scheduleTimeoutSeconds"]) == (3, 60)
    worker = await world.get(PODS, f"{NAME}-worker-0")
    assert worker["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] == NAME
    assert worker["spec"]["schedulerName"] == "scheduler-plugins"


async def test_a_suspended_job_holds_no_place(world: World) -> None:
    await world.start(gang_scheduler="volcano")
    await world.running(job(V1))
    await world.patch({"spec": {"runPolicy": {"suspend": True}}})
    await world.until_gone(VOLCANO, NAME)
