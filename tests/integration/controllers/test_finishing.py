# SPDX-License-Identifier: Apache-2.0
"""How jobs end, what is left of them, and what becomes of them while they are suspended."""

from __future__ import annotations

import asyncio

import pytest
from tests.integration.controllers.world import ELASTIC, MPIJOBS, NAME, V1, V2, World, job

from springtide.kube.resources import CONFIGMAPS, JOBS, PODS

pytestmark = pytest.mark.asyncio(loop_scope="session")

LAUNCHER = f"{NAME}-launcher"
FIRST, SECOND = f"{NAME}-worker-0", f"{NAME}-worker-1"


async def _end(world: World, version: str, launcher: str, *, well: bool) -> None:
    if well:
        await world.kubelet.succeed(launcher)
    else:
        await world.kubelet.fail(launcher)
    if version == V2:
        await (world.kubelet.complete(LAUNCHER) if well else world.kubelet.give_up(LAUNCHER))


@pytest.mark.parametrize("version", [V1, V2])
@pytest.mark.parametrize("well", [True, False])
@pytest.mark.parametrize(
    ("policy", "left"), [("None", [LAUNCHER, FIRST, SECOND]), ("Running", [LAUNCHER, SECOND]), ("All", [])]
)
async def test_what_is_left_after_every_outcome(
    operated: World, version: str, policy: str, well: bool, left: list[str]
) -> None:
    """One worker runs at the end and one has ended by itself."""
    launcher = await operated.running(job(version, runPolicy={"cleanPodPolicy": policy}))
    await operated.kill(operated.wire)  # or it would replace the worker
    await operated.kubelet.succeed(SECOND)
    await _end(operated, version, launcher, well=well)
    await operated.start()
    await operated.until_condition("Succeeded" if well else "Failed")
    await operated.quiet()
    await operated.kubelet.end()
    expected = {launcher if name == LAUNCHER else name for name in left}

    async def there() -> set[str]:
        batch = await operated.find(JOBS, LAUNCHER)
        pods = {*await operated.pods("Launcher"), *await operated.pods("Worker")}
        # Whoever collects garbage takes the Job's pods with it.
        return pods if batch or version == V1 else pods - {launcher}

    await operated.until(there, lambda found: found == expected)
    assert (await operated.status())["replicaStatuses"]["Worker"] == {}
    await operated.quiet()
    assert await there() == expected


@pytest.mark.parametrize("well", [True, False])
@pytest.mark.parametrize(("policy", "workers"), [("None", [FIRST, SECOND]), ("Running", [])])
async def test_a_finished_batch_job_and_its_pod_stay(
    operated: World, policy: str, well: bool, workers: list[str]
) -> None:
    """Also one that is said to have finished before its pod is seen to end."""
    launcher = await operated.running(job(V2, runPolicy={"cleanPodPolicy": policy}))
    await (operated.kubelet.complete(LAUNCHER) if well else operated.kubelet.give_up(LAUNCHER))
    await operated.until_condition("Succeeded" if well else "Failed")
    await operated.until(operated.workers, lambda found: found == workers)
    await operated.quiet()
    assert "deletionTimestamp" not in (await operated.get(JOBS, LAUNCHER))["metadata"]
    assert "deletionTimestamp" not in (await operated.get(PODS, launcher))["metadata"]


async def test_the_policy_beside_the_run_policy_counts_too(operated: World) -> None:
    launcher = await operated.running(job(V1, cleanPodPolicy="Running"))
    await _end(operated, V1, launcher, well=True)
    await operated.until_condition("Succeeded")
    await operated.until_workers()
    assert await operated.find(PODS, LAUNCHER)


@pytest.mark.parametrize("version", [V1, V2])
async def test_a_job_is_deleted_when_its_time_is_over(operated: World, version: str) -> None:
    launcher = await operated.running(job(version, runPolicy={"ttlSecondsAfterFinished": 1}))
    await _end(operated, version, launcher, well=True)
    await operated.until_gone(MPIJOBS[V2], NAME)


async def test_a_job_that_takes_too_long_fails_and_is_stopped(operated: World) -> None:
    await operated.running(job(V1, runPolicy={"activeDeadlineSeconds": 2}))
    condition = await operated.until_condition("Failed")
    assert condition["reason"] == "DeadlineExceeded"
    await operated.until_workers()
    await operated.until(lambda: operated.get(PODS, LAUNCHER), lambda pod: "deletionTimestamp" in pod["metadata"])


async def test_over_ssh_the_batch_job_keeps_the_deadline(operated: World) -> None:
    launcher = await operated.running(job(V2, runPolicy={"activeDeadlineSeconds": 600}))
    assert (await operated.get(JOBS, LAUNCHER))["spec"]["activeDeadlineSeconds"] == 600
    await operated.kubelet.fail(launcher)
    await operated.kubelet.give_up(LAUNCHER, "DeadlineExceeded")
    assert (await operated.until_condition("Failed"))["reason"] == "DeadlineExceeded"
    await operated.until_workers()


@pytest.mark.parametrize("version", [V1, V2])
async def test_a_job_is_suspended_and_resumed(operated: World, version: str) -> None:
    launcher = await operated.running(job(version, command=ELASTIC))
    started = (await operated.status())["startTime"]
    await asyncio.sleep(1)  # so that times differ in whole seconds
    await operated.patch({"spec": {"runPolicy": {"suspend": True}}})
    await operated.until_condition("Suspended")
    await operated.until_workers()
    if version == V2:
        await operated.until(lambda: operated.get(JOBS, LAUNCHER), lambda batch: batch["spec"]["suspend"])
        await operated.delete(PODS, launcher)  # by the Job controller
    await operated.kubelet.end()
    await operated.until(lambda: operated.pods("Launcher"), lambda pods: not pods)
    await operated.until_state("Suspended")
    await operated.until(operated.status, lambda status: status["replicaStatuses"]["Worker"] == {})
    conditions = await operated.conditions()
    assert (conditions["Running"], conditions["Suspended"]) == ("False", "True")
    await operated.quiet()
    await operated.patch({"spec": {"runPolicy": {"suspend": False}}})
    await operated.workers_run(2)
    await operated.launcher_runs()
    await operated.until_condition("Running")
    assert (await operated.conditions())["Suspended"] == "False"
    assert (await operated.status())["startTime"] > started
    assert await operated.workers() == [FIRST, SECOND]
    once = dict.fromkeys(("MPIJobCreated", "MPIJobSuspended", "MPIJobResumed"), 1)
    await operated.until(operated.told, lambda found: found == {**once, "MPIJobRunning": 2})


async def test_a_job_that_is_submitted_suspended_has_all_but_pods(operated: World) -> None:
    await operated.submit(job(V2, runPolicy={"suspend": True}))
    await operated.until_condition("Suspended")
    await operated.quiet()
    assert (await operated.get(JOBS, LAUNCHER))["spec"]["suspend"] is True
    assert await operated.find(CONFIGMAPS, f"{NAME}-config")
    assert await operated.all_of(PODS) == {}
    status = await operated.status()
    assert "startTime" not in status
    await operated.until(operated.reasons, lambda found: found == ["MPIJobCreated", "MPIJobSuspended"])


async def test_a_finished_job_stays_as_it_is(operated: World) -> None:
    launcher = await operated.running(job(V1))
    await _end(operated, V1, launcher, well=True)
    await operated.until_condition("Succeeded")
    await operated.quiet()
    before = await operated.status()
    await operated.resize(4)
    await operated.restart()
    await operated.quiet()
    assert await operated.status() == before
    assert operated.wire.writes == []
    assert await operated.workers() == [FIRST, SECOND]
