# SPDX-License-Identifier: Apache-2.0
"""What people are told of an MPIJob, in upstream's words: conditions, events, counts and times of both versions."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

import pytest
from tests.unit.api.builders import an_mpijob
from tests.unit.jobs.builders import elastic, running
from tests.unit.jobs.simulated import Cluster

from springtide.api.kinds.conditions import condition
from springtide.api.kinds.status import ReplicaStatus
from springtide.jobs.actions import Event
from springtide.jobs.policies.backoff_limit import CAP

versions = pytest.mark.parametrize("version", ["v1", "v2beta1"])
Step = Callable[[Cluster], None]


def submitted(cluster: Cluster) -> None:
    cluster.reconcile()


def runs(cluster: Cluster) -> None:
    cluster.settle()


def succeeds(cluster: Cluster) -> None:
    cluster.settle()
    cluster.succeed()
    cluster.settle()


def fails(cluster: Cluster) -> None:
    cluster.settle()
    cluster.policy(backoffLimit=0)
    cluster.fail(cluster.launcher().name)
    cluster.settle()


def is_evicted(cluster: Cluster) -> None:
    """The launcher, more often than a job stands."""
    cluster.settle()
    for _ in range(CAP + 1):
        cluster.fail(cluster.launcher().name, "Evicted")
        cluster.settle(700)


def loses_too_many_workers(cluster: Cluster) -> None:
    cluster.settle()
    for _ in range(CAP + 1):
        name = cluster.workers()[-1]
        cluster.fail(name, "Evicted")
        for _ in range(14):
            cluster.reconcile()
            cluster.tick(40)


def is_suspended(cluster: Cluster) -> None:
    cluster.settle()
    cluster.policy(suspend=True)
    cluster.settle()


def is_resumed(cluster: Cluster) -> None:
    is_suspended(cluster)
    cluster.policy(suspend=False)
    cluster.settle()


def succeeds_unseen(cluster: Cluster) -> None:
    cluster.reconcile()
    cluster.tick()
    cluster.reconcile()
    cluster.tick()
    cluster.succeed()
    cluster.settle()


def overruns(cluster: Cluster) -> None:
    cluster.settle()
    cluster.policy(activeDeadlineSeconds=60)
    cluster.now += timedelta(seconds=60)
    cluster.settle()


def overruns_as_a_batch_job(cluster: Cluster) -> None:
    cluster.settle()
    assert cluster.batch is not None
    message = "Job was active longer than specified deadline"
    cluster.batch = replace(cluster.batch, failed=True, reason="DeadlineExceeded", message=message)
    cluster.settle()


RUNNING: Final = ("Running", "True", "MPIJobRunning", "MPIJob ns/pi is running.")
CONDITIONS: Final[dict[str, tuple[tuple[str, ...], Step, tuple[str, str, str, str]]]] = {
    "a job that is seen first has been created": (
        ("v1", "v2beta1"),
        submitted,
        ("Created", "True", "MPIJobCreated", "MPIJob ns/pi is created."),
    ),
    "a job whose launcher and workers all run is running": (("v1", "v2beta1"), runs, RUNNING),
    "a job whose launcher has succeeded has succeeded": (
        ("v1", "v2beta1"),
        succeeds,
        ("Succeeded", "True", "MPIJobSucceeded", "MPIJob ns/pi successfully completed."),
    ),
    "a job that has succeeded runs no more": (
        ("v1", "v2beta1"),
        succeeds,
        ("Running", "False", "MPIJobRunning", "MPIJob ns/pi is running."),
    ),
    "v1: a job whose launcher has failed has failed": (
        ("v1",),
        fails,
        (
            "Failed",
            "True",
            "MPIJobFailed",
            "MPIJob ns/pi has failed: launcher exited with code 1; see kubectl logs pi-launcher -n ns",
        ),
    ),
    "v1: a launcher that is evicted again and again": (
        ("v1",),
        is_evicted,
        ("Failed", "True", "MPIJobEvicted", "MPIJob ns/pi has failed: launcher exited with code 1"),
    ),
    "v2beta1: a job whose launcher Job has failed has its reason and its last pod's": (
        ("v2beta1",),
        fails,
        ("Failed", "True", "BackoffLimitExceeded/", "Job has failed: exited with code 1; see kubectl logs POD -n ns"),
    ),
    "v1: a job that ran too long": (
        ("v1",),
        overruns,
        (
            "Failed",
            "True",
            "DeadlineExceeded",
            "MPIJob ns/pi has failed because it was active longer than specified deadline (60 s)",
        ),
    ),
    "v2beta1: a job whose launcher Job ran too long": (
        ("v2beta1",),
        overruns_as_a_batch_job,
        ("Failed", "True", "DeadlineExceeded", "Job was active longer than specified deadline"),
    ),
    "a job that lost too many workers in a row": (
        ("v1", "v2beta1"),
        loses_too_many_workers,
        ("Failed", "True", "MPIJobEvicted", "1/2 workers are evicted"),
    ),
    "a job that is suspended": (
        ("v1", "v2beta1"),
        is_suspended,
        ("Suspended", "True", "MPIJobSuspended", "MPIJob suspended"),
    ),
    "a job that is suspended does not run": (
        ("v1", "v2beta1"),
        is_suspended,
        ("Running", "False", "MPIJobSuspended", "MPIJob ns/pi is suspended."),
    ),
    "a job that is resumed": (
        ("v1", "v2beta1"),
        is_resumed,
        ("Suspended", "False", "MPIJobResumed", "MPIJob resumed"),
    ),
    "a job that is resumed runs again": (("v1", "v2beta1"), is_resumed, RUNNING),
    "a job that was never seen running": (
        ("v1", "v2beta1"),
        succeeds_unseen,
        ("Running", "False", "MPIJobRunning", "MPIJob ns/pi is finished but Running condition was never set."),
    ),
}


@pytest.mark.parametrize(
    ("version", "step", "expected"),
    [
        pytest.param(version, step, expected, id=f"{sentence} ({version})")
        for sentence, (of, step, expected) in CONDITIONS.items()
        for version in of
    ],
)
def test_conditions(version: str, step: Step, expected: tuple[str, str, str, str]) -> None:
    cluster = elastic(2, version)
    step(cluster)
    found = condition(cluster.status.conditions, expected[0])
    assert found is not None
    message = re.sub(r"logs pi-launcher-uid-\d+", "logs POD", found.message)
    assert (found.type, found.status, found.reason, message) == expected


EVENTS: Final[dict[str, tuple[Step, list[tuple[str, str]]]]] = {
    "a job that is created and runs": (runs, [("Normal", "MPIJobCreated"), ("Normal", "MPIJobRunning")]),
    "a job that succeeds": (
        succeeds,
        [("Normal", "MPIJobCreated"), ("Normal", "MPIJobRunning"), ("Normal", "MPIJobSucceeded")],
    ),
    "a job that is suspended": (
        is_suspended,
        [("Normal", "MPIJobCreated"), ("Normal", "MPIJobRunning"), ("Normal", "MPIJobSuspended")],
    ),
    "a job that is resumed": (
        is_resumed,
        [
            ("Normal", "MPIJobCreated"),
            ("Normal", "MPIJobRunning"),
            ("Normal", "MPIJobSuspended"),
            ("Normal", "MPIJobResumed"),
            ("Normal", "MPIJobRunning"),
        ],
    ),
}


@versions
@pytest.mark.parametrize("sentence", EVENTS)
def test_events_come_once_for_every_change_and_in_its_order(version: str, sentence: str) -> None:
    step, expected = EVENTS[sentence]
    cluster = elastic(2, version)
    step(cluster)
    assert [(event.type, event.reason) for event in cluster.events] == expected


def test_a_failure_is_a_warning() -> None:
    cluster = elastic(2)
    fails(cluster)
    assert cluster.events[-1] == Event("Warning", "MPIJobFailed", cluster.status.conditions[-1].message)


def pending_launcher(cluster: Cluster) -> None:
    cluster.reconcile()
    cluster.job_controller()
    cluster.reconcile()


def one_worker_failed(cluster: Cluster) -> None:
    cluster.settle()
    cluster.fail("pi-worker-1")
    cluster.reconcile()


def retried(cluster: Cluster) -> None:
    cluster.settle()
    cluster.fail(cluster.launcher().name)
    cluster.settle(60)


def waiting(cluster: Cluster) -> None:
    cluster.raw["spec"]["launcherCreationPolicy"] = "WaitForWorkersReady"
    cluster.reconcile()


def counts(active: int = 0, succeeded: int = 0, failed: int = 0) -> ReplicaStatus:
    return ReplicaStatus(active=active, succeeded=succeeded, failed=failed)


COUNTS: Final[dict[str, tuple[tuple[str, ...], Step, dict[str, ReplicaStatus]]]] = {
    "a launcher that does not exist yet is not there": (("v1", "v2beta1"), waiting, {"Worker": counts()}),
    "a launcher that is pending counts as nothing": (
        ("v1", "v2beta1"),
        pending_launcher,
        {"Launcher": counts(), "Worker": counts()},
    ),
    "pods that run are active": (("v1", "v2beta1"), runs, {"Launcher": counts(1), "Worker": counts(2)}),
    "a worker that failed is counted": (
        ("v1", "v2beta1"),
        one_worker_failed,
        {"Launcher": counts(1), "Worker": counts(1, failed=1)},
    ),
    "v2beta1: failures of a launcher Job add up while another pod runs": (
        ("v2beta1",),
        retried,
        {"Launcher": counts(1, failed=1), "Worker": counts(2)},
    ),
    "workers count no more once the launcher has succeeded": (
        ("v1", "v2beta1"),
        succeeds,
        {"Launcher": counts(succeeded=1), "Worker": counts()},
    ),
    "workers count no more once the launcher has failed": (
        ("v1", "v2beta1"),
        fails,
        {"Launcher": counts(failed=1), "Worker": counts()},
    ),
}


@pytest.mark.parametrize(
    ("version", "step", "expected"),
    [
        pytest.param(version, step, expected, id=f"{sentence} ({version})")
        for sentence, (of, step, expected) in COUNTS.items()
        for version in of
    ],
)
def test_counts(version: str, step: Step, expected: dict[str, Any]) -> None:
    cluster = elastic(2, version)
    step(cluster)
    assert cluster.status.replica_statuses == expected


@versions
def test_times(version: str) -> None:
    cluster = Cluster(an_mpijob(version))
    cluster.reconcile()
    start = cluster.status.start_time
    assert start == cluster.now
    running(cluster)
    cluster.succeed()
    cluster.reconcile()
    end = cluster.now
    cluster.settle()
    assert (cluster.status.start_time, cluster.status.completion_time) == (start, end)
    assert cluster.status.last_reconcile_time is None


@versions
def test_a_job_that_is_submitted_suspended_has_not_started(version: str) -> None:
    cluster = Cluster(an_mpijob(version, runPolicy={"suspend": True}))
    cluster.settle()
    assert cluster.status.start_time is None
    cluster.policy(suspend=False)
    cluster.reconcile()
    assert cluster.status.start_time == cluster.now
