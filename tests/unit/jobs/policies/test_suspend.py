# SPDX-License-Identifier: Apache-2.0
"""A suspended job has no pods, and one that is resumed starts over."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.jobs.builders import elastic, reasons, running
from tests.unit.jobs.toy_with_launcher import a_toy_with_launcher, service_names

from springtide.api.kinds.replicas import RestartPolicy
from springtide.jobs.actions import Patch
from springtide.jobs.observed import Settings

versions = pytest.mark.parametrize("version", ["v1", "v2beta1"])


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


@pytest.mark.parametrize("first", [True, False], ids=["submitted suspended", "suspended later"])
def test_services_of_workers_go_and_come_back_with_them(first: bool) -> None:
    cluster = a_toy_with_launcher()
    if not first:
        running(cluster)
        assert len(service_names(cluster)) == 3
    cluster.policy(suspend=True)
    cluster.settle()
    cluster.settle()
    assert not cluster.pods
    assert not service_names(cluster)
    cluster.policy(suspend=False)
    cluster.settle()
    assert service_names(cluster) == cluster.workers() == ["pi-worker-0", "pi-worker-1", "pi-worker-2"]
    assert cluster.launcher().phase == "Running"


def test_dead_workers_come_back_too() -> None:
    cluster = running(a_toy_with_launcher(worker_restarts=RestartPolicy.NEVER))
    cluster.fail("pi-worker-1")
    cluster.settle()
    cluster.policy(suspend=True)
    cluster.settle()
    assert not cluster.pods
    cluster.policy(suspend=False)
    cluster.settle()
    assert len(cluster.listed()) == 3
    assert cluster.snapshot.ledger.dead == ()
