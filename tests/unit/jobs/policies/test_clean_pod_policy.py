# SPDX-License-Identifier: Apache-2.0
"""What is left of a job, when it ends by itself and when it is ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest
from tests.unit.jobs.builders import elastic, pytorch, running, tensorflow
from tests.unit.jobs.simulated import Cluster
from tests.unit.jobs.toy_with_launcher import a_toy_with_launcher, service_names

from springtide.jobs.observed import Settings
from springtide.jobs.policies.backoff_limit import CAP

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
    for _ in range(CAP + 1):
        cluster.fail(cluster.listed()[-1])
        for _ in range(12):
            cluster.tick(40)
            cluster.reconcile()
    assert cluster.finished
    assert not [pod for pod in cluster.pods.values() if pod.alive]
    assert cluster.batch is None


def test_the_outcome_is_written_before_anything_is_cleaned() -> None:
    cluster = running(elastic(2, cleanPodPolicy="All"))
    cluster.succeed()
    before = set(cluster.pods)
    cluster.reconcile()
    assert cluster.finished
    assert set(cluster.pods) == before


@pytest.mark.parametrize("succeeds", [True, False], ids=["success", "failure"])
@pytest.mark.parametrize(
    ("policy", "workers"),
    [("None", ["pi-worker-0", "pi-worker-1", "pi-worker-2"]), ("Running", []), ("All", [])],
)
def test_a_kind_may_keep_its_launcher_and_delete_all_workers_and_their_services(
    succeeds: bool, policy: str, workers: list[str]
) -> None:
    cluster = running(a_toy_with_launcher())
    cluster.policy(cleanPodPolicy=policy)
    assert service_names(cluster) == ["pi-worker-0", "pi-worker-1", "pi-worker-2"]
    cluster.change("pi-worker-1", phase="Succeeded", ready=False)
    cluster.succeed() if succeeds else cluster.fail("pi-launcher")
    cluster.settle()
    cluster.settle()
    assert [pod.name for pod in cluster.of("Launcher")] == ["pi-launcher"]
    assert cluster.workers() == workers
    assert service_names(cluster) == workers


def test_services_stay_while_their_workers_terminate() -> None:
    cluster = running(a_toy_with_launcher())
    cluster.succeed()
    cluster.reconcile()
    cluster.reconcile()
    assert all(pod.terminating for pod in cluster.of("Worker"))
    assert len(service_names(cluster)) == 3


def _services(cluster: Cluster) -> set[str]:
    return {key.name for key in cluster.objects if key.kind == "Service"}


named = pytest.mark.parametrize(
    "submit", [partial(pytorch, {"Master": 1, "Worker": 2}), partial(tensorflow, {"Chief": 1, "Worker": 2})]
)


@named
@pytest.mark.parametrize(("policy", "stay"), [("None", True), ("Running", False), ("All", False)])
def test_services_stay_as_long_as_replicas_may_run(submit: Callable[..., Cluster], policy: str, stay: bool) -> None:
    cluster = running(submit(runPolicy={"cleanPodPolicy": policy}))
    before = _services(cluster)
    assert len(before) == 3
    cluster.succeed()
    cluster.settle()
    assert cluster.finished
    assert _services(cluster) == (before if stay else set())


@named
def test_a_job_that_is_cut_short_keeps_no_service_under_any_policy(submit: Callable[..., Cluster]) -> None:
    cluster = running(submit(runPolicy={"cleanPodPolicy": "None", "activeDeadlineSeconds": 60}))
    cluster.tick(61)
    cluster.settle()
    assert cluster.finished
    assert (cluster.pods, _services(cluster)) == ({}, set())
