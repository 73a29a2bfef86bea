# SPDX-License-Identifier: Apache-2.0
"""What is left of a job, when it ends by itself and when it is ended."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from tests.unit.jobs.builders import elastic, reasons, running

from springtide.jobs import workers
from springtide.jobs.actions import Patch
from springtide.jobs.observed import Exit, Settings

versions = pytest.mark.parametrize("version", ["v1", "v2beta1"])


@versions
@pytest.mark.parametrize("succeeds", [True, False], ids=["success", "failure"])
@pytest.mark.parametrize("place", ["spec", "runPolicy"])
@pytest.mark.parametrize(
    ("policy", "left"),
    [("None", {"launcher", "running", "ended"}), ("Running", {"launcher", "ended"}), ("All", set())],
)
def test_what_is_left(version: str, succeeds: bool, place: str, policy: str, left: set[str]) -> None:
    spec = {"cleanPodPolicy": policy} if place == "spec" else {"runPolicy": {"cleanPodPolicy": policy}}
    cluster = elastic(2, version, **spec)
    cluster.settings = Settings(gang_scheduler="volcano")
    cluster.policy(backoffLimit=0)
    running(cluster)
    cluster.change("pi-worker-1", phase="Succeeded", ready=False)
    if succeeds:
        cluster.succeed()
    else:
        cluster.fail(cluster.launcher().name)
        cluster.job_controller()
    cluster.settle()
    assert cluster.finished
    found = {"launcher"} if cluster.of("Launcher") else set()
    found |= {"ended" if pod.ended else "running" for pod in cluster.of("Worker")}
    assert found == left
    group = [key for key in cluster.objects if key.kind == "PodGroup"]
    assert bool(group) == (policy == "None")
    assert cluster.status.completion_time is not None


@pytest.mark.parametrize("failed", [False, True], ids=["success", "failure"])
@pytest.mark.parametrize(("policy", "stays"), [("None", True), ("Running", True), ("All", False)])
def test_a_batch_job_that_has_finished_stays_unless_everything_goes(policy: str, stays: bool, failed: bool) -> None:
    """Its pod is not always seen to end before it: whoever finished the Job ends the pod."""
    cluster = running(elastic(2, "v2beta1", runPolicy={"cleanPodPolicy": policy}))
    launcher = cluster.launcher().name
    assert cluster.batch is not None
    cluster.batch = replace(cluster.batch, succeeded=not failed, failed=failed, completed=cluster.now)
    for _ in range(4):
        cluster.reconcile()
        for pod in cluster.of("Worker"):
            cluster.move(pod)
    assert cluster.finished
    assert (cluster.batch is not None, launcher in cluster.pods) == (stays, stays)
    assert bool(cluster.of("Worker")) == (policy == "None")


@versions
@pytest.mark.parametrize("policy", ["None", "Running", "All"])
def test_a_launcher_that_goes_on_after_its_job_has_failed_is_stopped(version: str, policy: str) -> None:
    """Nobody else would: it has no workers any more, and its batch Job would start another."""
    cluster = running(elastic(2, version, runPolicy={"cleanPodPolicy": policy}))
    for _ in range(workers.CAP + 1):
        cluster.fail(cluster.listed()[-1])
        for _ in range(12):
            cluster.tick(40)
            cluster.reconcile()
    assert cluster.finished
    assert not [pod for pod in cluster.pods.values() if pod.alive]
    assert cluster.batch is None


@versions
def test_workers_no_longer_count_once_the_launcher_is_done(version: str) -> None:
    cluster = running(elastic(2, version))
    assert cluster.status.replica_statuses["Worker"].active == 2
    assert cluster.status.replica_statuses["Launcher"].active == 1
    cluster.succeed()
    cluster.settle()
    assert cluster.status.replica_statuses["Worker"].active == 0
    assert cluster.status.replica_statuses["Launcher"].succeeded == 1


def test_the_outcome_is_written_before_anything_is_cleaned() -> None:
    cluster = running(elastic(2, cleanPodPolicy="All"))
    cluster.succeed()
    before = set(cluster.pods)
    cluster.reconcile()
    assert cluster.finished
    assert set(cluster.pods) == before


@versions
def test_the_job_itself_goes_when_its_time_has_come(version: str) -> None:
    cluster = running(elastic(2, version, runPolicy={"ttlSecondsAfterFinished": 100}))
    cluster.succeed()
    cluster.reconcile()
    cluster.now += timedelta(seconds=99)
    cluster.reconcile()
    assert not cluster.deleted
    cluster.now += timedelta(seconds=1)
    cluster.reconcile()
    assert cluster.deleted


def test_a_deadline_stops_all_pods_under_every_policy() -> None:
    cluster = running(elastic(2, runPolicy={"activeDeadlineSeconds": 3600}))
    cluster.now += timedelta(seconds=3600)
    cluster.settle()
    assert cluster.status.conditions[-1].reason == "DeadlineExceeded"
    assert not [pod for pod in cluster.pods.values() if pod.alive]


def test_a_deadline_that_no_calendar_holds_never_comes() -> None:
    cluster = running(elastic(2, runPolicy={"activeDeadlineSeconds": 2**63 - 1}))
    cluster.now += timedelta(days=365)
    cluster.settle()
    assert not cluster.finished


def test_a_batch_job_says_why_it_failed() -> None:
    cluster = running(elastic(2, "v2beta1", runPolicy={"backoffLimit": 0}))
    cluster.fail(cluster.launcher().name, "OOMKilled", 137)
    cluster.settle()
    failed = cluster.status.conditions[-1]
    assert failed.reason == "BackoffLimitExceeded/OOMKilled"
    name = cluster.of("Launcher")[0].name
    assert failed.message == f"Job has failed: exited with code 137 (SIGKILL); see kubectl logs {name} -n ns"
    assert cluster.status.replica_statuses["Launcher"].failed == 1


def test_one_that_ended_before_it_was_seen_running() -> None:
    cluster = elastic(2)
    for _ in range(2):
        cluster.reconcile()
        cluster.tick()
    cluster.succeed()
    cluster.reconcile()
    running_ = cluster.status.conditions[1]
    assert (running_.type, running_.status) == ("Running", "False")
    assert running_.message == "MPIJob ns/pi is finished but Running condition was never set."


@versions
def test_a_job_submitted_suspended_has_its_objects_but_no_pods(version: str) -> None:
    cluster = elastic(2, version, runPolicy={"suspend": True})
    cluster.settle()
    assert not cluster.pods
    assert (cluster.batch is not None and cluster.batch.suspended) == (version == "v2beta1")
    assert cluster.status.start_time is None
    assert cluster.status.state == "Suspended"
    assert any(key.kind == "ConfigMap" for key in cluster.objects)


@versions
def test_suspending_ends_all_pods_and_resuming_starts_over(version: str) -> None:
    cluster = elastic(2, version)
    cluster.settings = Settings(gang_scheduler="volcano")
    running(cluster)
    first = cluster.status.start_time
    cluster.policy(suspend=True)
    cluster.settle()
    assert not cluster.pods
    assert not [key for key in cluster.objects if key.kind == "PodGroup"]
    assert (cluster.conditions["Running"], cluster.conditions["Suspended"]) == ("False", "True")
    cluster.policy(suspend=False)
    cluster.settle()
    assert cluster.listed() == ["pi-worker-0", "pi-worker-1"]
    assert (cluster.conditions["Running"], cluster.conditions["Suspended"]) == ("True", "False")
    assert reasons(cluster) == ["MPIJobSuspended", "MPIJobResumed", "MPIJobRunning"]
    assert first is not None
    assert cluster.status.start_time is not None
    assert cluster.status.start_time > first


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
def test_what_a_launcher_says_when_it_is_told_to_go_is_not_its_outcome(phase: str) -> None:
    cluster = running(elastic(2))
    cluster.policy(suspend=True)
    cluster.reconcile()
    cluster.change("pi-launcher", terminating=True, phase=phase, ready=False)
    cluster.settle()
    assert not cluster.finished
    assert cluster.status.state == "Suspended"


@versions
def test_waiting_for_workers_is_honoured_on_resume(version: str) -> None:
    cluster = running(elastic(2, version, launcherCreationPolicy="WaitForWorkersReady"))
    cluster.policy(suspend=True)
    cluster.settle()
    cluster.policy(suspend=False)
    cluster.reconcile()
    cluster.job_controller()
    assert not cluster.of("Launcher")
    cluster.settle()
    assert cluster.launcher().phase == "Running"


def test_on_resume_the_launcher_goes_where_the_queue_says() -> None:
    cluster = elastic(2, "v2beta1", runPolicy={"suspend": True})
    template = cluster.raw["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]
    template["spec"]["nodeSelector"] = {"old": "1", "both": "1"}
    cluster.settle()
    template["metadata"] = {"labels": {"queue": "a"}, "annotations": {"queue": "b"}}
    template["spec"] |= {"nodeSelector": {"both": "1", "new": "1"}, "tolerations": [{"key": "spot"}]}
    cluster.policy(suspend=False)
    assert cluster.batch is not None
    cluster.batch.template["metadata"]["labels"]["mine"] = "stays"
    cluster.reconcile()
    placed = cluster.batch.template
    assert placed["metadata"]["labels"].items() >= {"queue": "a", "mine": "stays"}.items()
    assert placed["metadata"]["annotations"]["queue"] == "b"
    assert placed["spec"]["nodeSelector"] == {"both": "1", "new": "1"}
    assert placed["spec"]["tolerations"] == [{"key": "spot"}]
    assert not cluster.batch.suspended


def test_a_template_that_must_not_be_changed_is_left_alone_on_resume() -> None:
    cluster = elastic(2, "v2beta1", runPolicy={"suspend": True})
    cluster.settle()
    assert cluster.batch is not None
    cluster.batch = replace(cluster.batch, started=cluster.now)
    cluster.raw["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["nodeSelector"] = {"new": "1"}
    cluster.policy(suspend=False)
    (patch,) = [each for each in cluster.plan().actions if isinstance(each, Patch) and each.key.kind == "Job"]
    assert patch.body == {"spec": {"suspend": False}}


def test_a_deadline_stops_a_job_whose_launcher_is_just_gone() -> None:
    cluster = running(elastic(2, runPolicy={"activeDeadlineSeconds": 3600, "backoffLimit": 3}))
    cluster.fail("pi-launcher")
    cluster.reconcile()
    cluster.now += timedelta(seconds=3600)
    cluster.settle()
    assert not [pod for pod in cluster.pods.values() if pod.alive]


@pytest.mark.parametrize(
    ("clean", "said"), [("All", "no data"), ("Running", "no data; make some: tide env create x"), ("None", "")]
)
def test_where_the_log_is_is_said_unless_it_goes_or_another_command_helps(clean: str, said: str) -> None:
    cluster = running(elastic(2, runPolicy={"backoffLimit": 0, "cleanPodPolicy": clean}))
    cluster.fail("pi-launcher")
    cluster.change("pi-launcher", exit=Exit(1, "Error", said))
    cluster.settle()
    message = cluster.status.conditions[-1].message
    assert message.endswith("; see kubectl logs pi-launcher -n ns") == (clean == "None")
