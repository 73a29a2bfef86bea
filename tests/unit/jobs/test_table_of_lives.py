# SPDX-License-Identifier: Apache-2.0
"""What becomes of an MPIJob and its objects, row by row: who is made in which order, what is left, what is mended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from itertools import product
from typing import Any, Final

import msgspec
import pytest
from tests.unit.api.builders import a_template, an_mpijob
from tests.unit.jobs.builders import elastic, reasons, running
from tests.unit.jobs.simulated import Cluster

from springtide.jobs.actions import Create, Event, StatusPatch
from springtide.jobs.observed import Key, Settings
from springtide.jobs.policies.backoff_limit import CAP

versions = pytest.mark.parametrize("version", ["v1", "v2beta1"])


def created(cluster: Cluster) -> list[str]:
    made = [action.manifest for action in cluster.plan().actions if isinstance(action, Create)]
    return [f"{each['kind']} {each['metadata']['name']}" for each in made]


ORDER: Final[dict[str, tuple[str, dict[str, Any], list[str]]]] = {
    "v1: rights, host list, group, workers, and the launcher at once": (
        "v1",
        {},
        [
            *("ServiceAccount pi-launcher", "Role pi-launcher", "RoleBinding pi-launcher", "ConfigMap pi-config"),
            *("PodGroup pi", "Pod pi-worker-0", "Pod pi-worker-1", "Pod pi-launcher"),
        ],
    ),
    "v2beta1: names and keys, host list, group, workers, and the launcher at once": (
        "v2beta1",
        {},
        [
            *("Service pi", "Secret pi-ssh", "ConfigMap pi-config", "PodGroup pi"),
            *("Pod pi-worker-0", "Pod pi-worker-1", "Job pi-launcher"),
        ],
    ),
    "a launcher that waits for workers comes later": (
        "v2beta1",
        {"launcherCreationPolicy": "WaitForWorkersReady"},
        [
            *("Service pi", "Secret pi-ssh", "ConfigMap pi-config", "PodGroup pi"),
            *("Pod pi-worker-0", "Pod pi-worker-1"),
        ],
    ),
    "v1: a suspended job has neither group nor pods": (
        "v1",
        {"runPolicy": {"suspend": True}},
        ["ServiceAccount pi-launcher", "Role pi-launcher", "RoleBinding pi-launcher", "ConfigMap pi-config"],
    ),
    "v2beta1: a suspended job has a launcher Job that is suspended too": (
        "v2beta1",
        {"runPolicy": {"suspend": True}},
        ["Service pi", "Secret pi-ssh", "ConfigMap pi-config", "Job pi-launcher"],
    ),
    "a job without workers has a launcher alone": (
        "v2beta1",
        {"worker": None},
        ["Service pi", "Secret pi-ssh", "ConfigMap pi-config", "PodGroup pi", "Job pi-launcher"],
    ),
}


@pytest.mark.parametrize("sentence", ORDER)
def test_what_is_created_first(sentence: str) -> None:
    version, spec, expected = ORDER[sentence]
    raw = an_mpijob(version, **{name: value for name, value in spec.items() if name != "worker"})
    if "worker" in spec:
        del raw["spec"]["mpiReplicaSpecs"]["Worker"]
    assert created(Cluster(raw, Settings(gang_scheduler="volcano"))) == expected


@versions
def test_a_job_that_is_being_deleted_is_left_alone(version: str) -> None:
    cluster = elastic(2, version)
    cluster.raw["metadata"]["deletionTimestamp"] = cluster.now.isoformat()
    assert cluster.plan().actions == ()


# What is left when a job has ended: policy × outcome × version.


def succeeds(cluster: Cluster) -> None:
    cluster.succeed()


def fails(cluster: Cluster) -> None:
    cluster.policy(backoffLimit=0)
    cluster.fail(cluster.launcher().name)


def overruns(cluster: Cluster) -> None:
    if cluster.batch is not None:
        cluster.batch = replace(cluster.batch, failed=True, reason="DeadlineExceeded", message="too long")
        for pod in cluster.of("Launcher"):
            cluster.vanish(pod.name)  # the Job controller stops its pods
    else:
        cluster.policy(activeDeadlineSeconds=1)


def loses_its_workers(cluster: Cluster) -> None:
    for _ in range(CAP + 1):
        cluster.fail(cluster.listed()[-1], "Evicted")
        for _ in range(14):
            if not cluster.finished:
                cluster.reconcile()
                cluster.tick(40)


OUTCOMES: Final[dict[str, Callable[[Cluster], None]]] = {
    "it succeeds": succeeds,
    "its launcher fails": fails,
    "it runs too long": overruns,
    "it loses too many workers": loses_its_workers,
}


@pytest.mark.parametrize(
    ("version", "policy", "sentence"), list(product(["v1", "v2beta1"], ["None", "Running", "All"], OUTCOMES))
)
def test_what_is_left_when(version: str, policy: str, sentence: str) -> None:
    cluster = elastic(2, version, runPolicy={"cleanPodPolicy": policy})
    cluster.settings = Settings(gang_scheduler="volcano")
    running(cluster)
    OUTCOMES[sentence](cluster)
    cluster.settle()
    assert cluster.finished
    group = any(key.kind == "PodGroup" for key in cluster.objects)
    if policy == "All":
        assert not cluster.pods
        assert cluster.batch is None
    if policy == "Running":
        assert all(pod.ended for pod in cluster.pods.values())
    ended_by_us = sentence == "it loses too many workers"
    if version == "v2beta1" and policy != "All":
        assert (cluster.batch is None) == ended_by_us, "a launcher's Job that has finished stays"
    cut_short = sentence in ("it runs too long", "it loses too many workers")
    if policy == "None" and not cut_short:
        assert [pod.name for pod in cluster.of("Worker") if pod.alive] == ["pi-worker-0", "pi-worker-1"]
    if policy == "None" and cut_short:
        assert not [pod for pod in cluster.pods.values() if pod.alive], "nobody goes on in a job that was cut short"
    assert group == (policy == "None")
    assert cluster.status.completion_time is not None


@versions
@pytest.mark.parametrize(
    ("phase", "left"),
    [("Running", set()), ("Pending", set()), ("Succeeded", {"pi-worker-1"}), ("Failed", {"pi-worker-1"})],
)
def test_policy_running_spares_workers_that_have_ended(version: str, phase: str, left: set[str]) -> None:
    cluster = running(elastic(2, version, cleanPodPolicy="Running"))
    cluster.succeed()
    cluster.reconcile()
    cluster.change("pi-worker-1", phase=phase)
    for _ in range(3):
        cluster.reconcile()
        for pod in tuple(cluster.pods.values()):
            if pod.terminating:
                cluster.vanish(pod.name)
    assert set(cluster.workers()) == left


PLACES: Final = {
    "neither place says anything": (None, None, "None"),
    "the spec's own": ("Running", None, "Running"),
    "the run policy's": (None, "All", "All"),
    "the run policy's stands above the spec's own": ("Running", "All", "All"),
}


@pytest.mark.parametrize("sentence", PLACES)
def test_which_clean_pod_policy_counts(sentence: str) -> None:
    own, within, expected = PLACES[sentence]
    raw = an_mpijob(cleanPodPolicy=own, runPolicy={"cleanPodPolicy": within} if within else {})
    assert Cluster(raw).observe().job.run.clean_pod_policy.value == expected


# Ends and beginnings.


@versions
def test_a_finished_job_stays_without_a_time_to_live_and_goes_with_one(version: str) -> None:
    for seconds, goes in ((None, False), (0, True), (60, True)):
        cluster = running(
            elastic(2, version, runPolicy={} if seconds is None else {"ttlSecondsAfterFinished": seconds})
        )
        cluster.succeed()
        cluster.reconcile()
        cluster.now += timedelta(seconds=seconds or 0)
        cluster.reconcile()
        assert cluster.deleted == goes


@versions
def test_a_worker_that_fails_fails_no_job(version: str) -> None:
    cluster = running(elastic(2, version, worker={"restartPolicy": "Never"}))
    cluster.fail("pi-worker-1")
    cluster.settle()
    assert (cluster.finished, cluster.workers()) == (False, ["pi-worker-0", "pi-worker-2"])


@versions
def test_a_changed_template_changes_no_pod_that_exists(version: str) -> None:
    cluster = running(elastic(2, version))
    cluster.raw["spec"]["mpiReplicaSpecs"]["Worker"]["template"] = a_template("other")
    assert cluster.plan().actions == ()


@versions
def test_the_host_list_is_put_right_when_somebody_changed_it(version: str) -> None:
    cluster = running(elastic(2, version))
    right = dict(cluster.objects[Key("v1", "ConfigMap", "pi-config")]["data"])
    cluster.objects[Key("v1", "ConfigMap", "pi-config")]["data"]["hostfile"] = "nobody"
    cluster.reconcile()
    assert cluster.objects[Key("v1", "ConfigMap", "pi-config")]["data"] == right


@pytest.mark.parametrize(("kind", "field"), [("Role", "rules"), ("RoleBinding", "subjects")])
def test_rights_are_put_right_when_somebody_changed_them(kind: str, field: str) -> None:
    cluster = running(elastic(2))
    (key,) = [key for key in cluster.objects if key.kind == kind]
    right, cluster.objects[key][field] = cluster.objects[key][field], []
    cluster.reconcile()
    assert cluster.objects[key][field] == right


@versions
def test_everything_but_pods_is_made_again_when_it_was_deleted(version: str) -> None:
    cluster = running(elastic(2, version))
    before = set(cluster.objects)
    pods = dict(cluster.pods)
    for key in before:
        del cluster.objects[key]
    cluster.reconcile()
    assert set(cluster.objects) == before
    assert cluster.pods.keys() == pods.keys()


@pytest.mark.parametrize("policy", ["None", "Running", "All"])
@versions
def test_suspending_spares_ended_workers_with_policy_running_alone(version: str, policy: str) -> None:
    cluster = running(elastic(2, version, runPolicy={"cleanPodPolicy": policy}))
    cluster.change("pi-worker-1", phase="Succeeded", ready=False)
    cluster.policy(suspend=True)
    for _ in range(4):
        cluster.reconcile()
        cluster.tick()
    assert cluster.workers() == (["pi-worker-1"] if policy == "Running" else [])


def test_a_suspended_job_is_stopped_in_the_order_launcher_first() -> None:
    """Ranks must not see their workers die before their launcher is told to go."""
    cluster = running(elastic(2, "v2beta1"))
    cluster.policy(suspend=True)
    kinds = [type(action).__name__ for action in cluster.plan().actions if not isinstance(action, Event | StatusPatch)]
    assert kinds.index("Patch") < kinds.index("Delete")


@versions
def test_decisions_are_kept_in_the_jobs_own_log(version: str) -> None:
    cluster = running(elastic(2, version))
    cluster.resize(3)
    cluster.settle()
    annotations = cluster.objects[Key("v1", "ConfigMap", "pi-config")]["metadata"]["annotations"]
    lines = msgspec.json.decode(annotations["springtide.dev/decisions"])
    assert [line["reason"] for line in lines] == reasons(cluster) == ["ScalingOut"]
