# SPDX-License-Identifier: Apache-2.0
"""Workers and launchers that fail, are evicted, deleted or lost with their nodes."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.integration.controllers.world import ELASTIC, NAME, V1, V2, World, job

from springtide.jobs.policies import backoff_limit
from springtide.kube.request import DeleteOptions
from springtide.kube.resources import JOBS, PODS

pytestmark = pytest.mark.asyncio(loop_scope="session")

LAUNCHER = f"{NAME}-launcher"
SECOND = f"{NAME}-worker-1"
EVICTED = {"reason": "Evicted", "message": "The node was low on resource: memory."}


@pytest.fixture
def short_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenth of the delay before a failed launcher is created again; how it grows is known from its unit tests."""
    monkeypatch.setattr(backoff_limit, "FIRST_DELAY", timedelta(seconds=1))


@pytest.mark.parametrize("version", [V1, V2])
@pytest.mark.parametrize(
    ("how", "told"),
    [
        ({"code": 1}, "exited with code 1"),
        ({"code": 137, "why": "OOMKilled"}, "exited with code 137 (OOMKilled, SIGKILL)"),
        (EVICTED, "was evicted: The node was low on resource: memory."),
    ],
)
async def test_a_worker_that_ended_is_replaced_under_a_new_name(
    operated: World, version: str, how: dict[str, object], told: str
) -> None:
    await operated.running(job(version, command=ELASTIC))
    await operated.kubelet.fail(SECOND, **how)  # type: ignore[arg-type]
    await operated.until_listed(0)
    await operated.until_workers(0, 2)
    event = await operated.until_event("WorkerReplaced")
    assert told in event["message"]
    assert event["type"] == "Warning"
    await operated.workers_run(2)
    await operated.until_listed(0, 2)
    status = await operated.until_state("Running")
    assert status["restarts"] == {"Worker": 1}
    assert (await operated.conditions())["Running"] == "True"


async def test_so_is_one_that_somebody_deleted(operated: World) -> None:
    await operated.running(job(command=ELASTIC))
    await operated.delete(PODS, SECOND)
    await operated.until_workers(0, 2)
    await operated.kubelet.end()
    await operated.workers_run(2)
    await operated.until_listed(0, 2)


async def test_a_worker_of_a_silent_node_is_not_waited_for(operated: World) -> None:
    """Its kubelet would confirm nothing: the pod is removed by force."""
    await operated.running(job(command=ELASTIC))
    await operated.kubelet.report(SECOND, phase="Unknown", reason="NodeLost")
    await operated.until_workers(0, 2)
    await operated.until_gone(PODS, SECOND)
    await operated.workers_run(2)
    await operated.until_listed(0, 2)


async def test_so_is_one_that_never_served(operated: World) -> None:
    await operated.submit(job())
    await operated.until_workers(0, 1)
    await operated.client.delete(PODS, operated.key(SECOND), DeleteOptions(grace=0))
    names = await operated.workers_run(2)
    await operated.until(operated.listed, lambda found: found == names)


async def test_below_its_minimum_a_job_waits_and_says_so(operated: World) -> None:
    await operated.running(job(command=ELASTIC, elasticPolicy={"minReplicas": 2, "maxReplicas": 4}))
    await operated.kubelet.fail(SECOND)
    status = await operated.until(operated.status, lambda found: "needs at least 2" in found["explanation"])
    assert status["workers"] == "1/2"


async def test_a_v1_launcher_that_fails_ends_the_job(operated: World) -> None:
    await operated.running(job(V1))
    await operated.kubelet.fail(LAUNCHER, code=139, said="last words")
    condition = await operated.until_condition("Failed")
    assert condition["reason"] == "MPIJobFailed"
    title = f"MPIJob {operated.namespace}/{NAME}"
    assert condition["message"] == (
        f"{title} has failed: launcher exited with code 139 (SIGSEGV): last words; "
        f"see kubectl logs {NAME}-launcher -n {operated.namespace}"
    )
    status = await operated.until_state("Failed")
    assert status["completionTime"]
    assert status["replicaStatuses"]["Launcher"] == {"failed": 1}
    assert (await operated.conditions())["Running"] == "False"
    assert (await operated.until_event("MPIJobFailed"))["type"] == "Warning"


@pytest.mark.usefixtures("short_delay")
async def test_with_a_backoff_limit_it_is_tried_again_with_workers_of_its_own(operated: World) -> None:
    """Ranks outlive their launcher, so nobody of the old run stays, and the next one waits until they are gone."""
    await operated.running(job(V1, runPolicy={"backoffLimit": 1}))
    first = (await operated.get(PODS, LAUNCHER))["metadata"]["uid"]
    await operated.kubelet.fail(LAUNCHER)
    await operated.until_workers(2, 3)
    await operated.until_condition("Restarting")
    assert await operated.listed() == []
    await operated.workers_run(2)
    await operated.quiet()
    assert await operated.listed() == []
    await operated.kubelet.end()
    await operated.until(lambda: _uid(operated), lambda uid: uid not in ("", first))
    await operated.launcher_runs()
    await operated.until_condition("Running")
    assert "Restarting" not in await operated.conditions()
    assert (await operated.status())["restarts"] == {"Launcher": 1}
    await operated.kubelet.fail(LAUNCHER)
    await operated.until_condition("Failed")
    assert (await operated.reasons()).count("LauncherRestarted") == 1


async def test_over_ssh_the_batch_job_decides(operated: World) -> None:
    name = await operated.running(job(V2, runPolicy={"backoffLimit": 0}))
    assert (await operated.get(JOBS, LAUNCHER))["spec"]["backoffLimit"] == 0
    await operated.kubelet.fail(name, code=7)
    await operated.kubelet.give_up(LAUNCHER)
    condition = await operated.until_condition("Failed")
    assert condition["reason"] == "BackoffLimitExceeded/"
    assert condition["message"] == (
        "Job has reached the specified backoff limit: exited with code 7; "
        f"see kubectl logs {name} -n {operated.namespace}"
    )
    status = await operated.until_state("Failed")
    assert status["replicaStatuses"] == {"Launcher": {"failed": 1}, "Worker": {}}


async def test_over_ssh_the_next_pod_of_the_job_gets_workers_of_its_own(operated: World) -> None:
    first = await operated.running(job(V2))
    await operated.kubelet.fail(first)
    await operated.until_workers(2, 3)
    await operated.kubelet.end()
    await operated.workers_run(2)
    second = await operated.launcher_runs()
    assert second != first
    await operated.until_listed(2, 3)
    await operated.until_condition("Running")


@pytest.mark.usefixtures("short_delay")
async def test_a_launcher_that_was_evicted_is_tried_again_although_nobody_asked_for_retries(operated: World) -> None:
    await operated.running(job(V1))
    await operated.kubelet.fail(LAUNCHER, **EVICTED)  # type: ignore[arg-type]
    await operated.until_workers(2, 3)
    await operated.kubelet.end()
    await operated.workers_run(2)
    await operated.launcher_runs()
    await operated.until_condition("Running")


async def _uid(world: World) -> str:
    pod = await world.find(PODS, LAUNCHER)
    return str(pod["metadata"]["uid"]) if pod else ""
