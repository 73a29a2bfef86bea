# SPDX-License-Identifier: Apache-2.0
"""How jobs end, what is left of them, and what becomes of them on the way: both versions, with programs of a shell."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any

import pytest
from tests.e2e.jobs import V1, V2, Job, mpijob, submitted
from tests.programs.world import Cluster, Obj

pytestmark = pytest.mark.timeout(300)

VERSIONS = pytest.mark.parametrize("version", [V1, V2], ids=["v1", "v2beta1"])
OUTCOMES = {"Succeeded": "exit 0", "Failed": "echo it broke; exit 3"}
LEFT = {"None": (2, 1), "Running": (0, 1), "All": (0, 0)}
"""Workers and launchers, by policy."""


def scripted(name: str, script: str, version: str, **spec: Any) -> Obj:
    """Of two workers; its launcher runs a script."""
    return mpijob(name, ["sh", "-c", script], version=version, image="shell", **spec)


def test_what_is_left_of_a_job_by_its_policy(space: Cluster) -> None:
    jobs: dict[tuple[str, str], list[Job]] = {}
    for policy, outcome, version in product(LEFT, OUTCOMES, (V1, V2)):
        name = f"{policy}-{outcome}-{version.rpartition('/')[2]}".lower()
        run = {"cleanPodPolicy": policy, "backoffLimit": 0}
        job = submitted(space, scripted(name, OUTCOMES[outcome], version, runPolicy=run))
        jobs.setdefault((policy, outcome), []).append(job)
    for (policy, outcome), both in jobs.items():
        for job in both:
            job.until(outcome)
            space.until(partial(has_left, job, *LEFT[policy]), job.name)


def has_left(job: Job, workers: int, launchers: int) -> bool:
    return (len(job.pods("Worker")), len(job.pods("Launcher"))) == (workers, launchers)


@VERSIONS
def test_a_failure_is_told_with_its_cause(space: Cluster, version: str) -> None:
    run = {"backoffLimit": 0}
    job = submitted(space, scripted("broken", "echo no such file: data.csv; exit 3", version, runPolicy=run))
    message = job.until("Failed")["message"]
    assert "exited with code 3" in message
    assert "no such file: data.csv" in message
    assert job.status["state"] == "Failed"


@VERSIONS
def test_a_job_can_be_suspended_and_resumed(space: Cluster, version: str) -> None:
    job = submitted(space, scripted("pausing", "sleep 5", version, runPolicy={"suspend": True}))
    job.until("Suspended")
    assert not job.pods("Worker")
    assert not job.pods("Launcher")
    job.patch(runPolicy={"suspend": False})
    job.until("Running")
    job.patch(runPolicy={"suspend": True})
    job.until("Suspended")
    space.until(lambda: not job.pods("Worker") and not job.pods("Launcher"), "no pods")
    assert job.status["state"] == "Suspended"
    job.patch(runPolicy={"suspend": False})
    job.until("Succeeded")


@VERSIONS
def test_a_job_that_ended_goes_in_time_with_all_it_had(space: Cluster, version: str) -> None:
    job = submitted(space, scripted("brief", "exit 0", version, runPolicy={"ttlSecondsAfterFinished": 1}))
    space.until(lambda: space.kubectl.run("get", "mpijob", job.name).returncode != 0, "the job is gone")
    kinds = "pods,jobs,configmaps,services,secrets,serviceaccounts,roles,rolebindings"
    space.until(lambda: not space.get(kinds, "-l", f"springtide.dev/job={job.name}")["items"], "all it had is gone")


@VERSIONS
def test_a_job_ends_at_its_deadline(space: Cluster, version: str) -> None:
    job = submitted(space, scripted("endless", "sleep 600", version, runPolicy={"activeDeadlineSeconds": 3}))
    assert job.until("Failed")["reason"] == "DeadlineExceeded"
    space.until(
        lambda: not any(pod["status"]["phase"] == "Running" for pod in job.pods("Launcher").values()), "no launcher"
    )


@VERSIONS
def test_a_launcher_that_failed_is_tried_again_with_other_workers(space: Cluster, version: str) -> None:
    """The script fails wherever a worker of the first run is among its hosts."""
    script = "! grep worker-0 /etc/mpi/hostfile"
    run = {"backoffLimit": 1}
    job = submitted(space, scripted("again", script, version, runPolicy=run, Launcher={"restartPolicy": "OnFailure"}))
    job.until("Succeeded")
    assert sorted(job.pods("Worker")) == ["again-worker-2", "again-worker-3"]


@VERSIONS
def test_tries_come_to_an_end(space: Cluster, version: str) -> None:
    run = {"backoffLimit": 1}
    job = submitted(
        space, scripted("hopeless", "exit 7", version, runPolicy=run, Launcher={"restartPolicy": "OnFailure"})
    )
    assert "7" in job.until("Failed")["message"]


@VERSIONS
def test_a_worker_that_dies_is_replaced(space: Cluster, version: str) -> None:
    job = submitted(space, scripted("lossy", "sleep 600", version))
    job.until("Running")
    space.kubectl("delete", "pod", "lossy-worker-0")
    space.until(lambda: job.workers() == ["lossy-worker-1", "lossy-worker-2"], "another worker")
    assert "WorkerReplaced" in job.events()
    space.kubectl("delete", "mpijob", "lossy")
    space.until(lambda: not job.pods("Worker") and not job.pods("Launcher"), "no pods")


def test_resizing_a_job_that_is_not_elastic_says_what_comes_of_it(space: Cluster) -> None:
    job = submitted(space, scripted("rigid", "sleep 600", V1))
    job.until("Running")
    job.resize(3)
    space.until(lambda: len(job.workers()) == 3, "three workers")
    assert ["count from its next start" in message for message in job.messages("ScalingOut")] == [True]


def test_a_worker_without_enough_memory_is_replaced_and_told_of(space: Cluster) -> None:
    manifest = scripted("hungry", "sleep 600", V1)
    greedy = "import time; time.sleep(1); eaten = bytearray(400 << 20); time.sleep(600)"
    container = manifest["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    container |= {"command": ["python3", "-c", greedy], "resources": {"limits": {"memory": "100Mi"}}}
    job = submitted(space, manifest)

    def told() -> bool:
        events = space.get("events", f"--field-selector=involvedObject.name={job.name}")["items"]
        return any("OOMKilled" in event["message"] for event in events)

    space.until(told, "the cause")
