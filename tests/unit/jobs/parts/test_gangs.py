# SPDX-License-Identifier: Apache-2.0
"""PodGroups of both schedulers."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.api.builders import a_template, an_mpijob
from tests.unit.jobs.builders import elastic
from tests.unit.jobs.simulated import Cluster

from springtide.api.defaults.mpijob import defaulted
from springtide.jobs.kinds.mpi.adapter import MPI_KIND
from springtide.jobs.observed import Settings
from springtide.jobs.parts import gangs


def group(scheduler: str, annotations: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    asks = {"requests": {"cpu": "500m"}, "limits": {"cpu": "1", "nvidia.com/gpu": 2}}
    worker = {"template": a_template(resources=asks)}
    launcher = {"template": a_template("mpirun", resources={"requests": {"cpu": "250m"}})}
    raw = an_mpijob("v2beta1", workers=3, worker=worker, launcher=launcher, **spec)
    raw["metadata"]["annotations"] = annotations or {}
    job = defaulted(raw)
    wanted = gangs.group(job, MPI_KIND.shape(job), 3, scheduler)
    assert wanted is not None
    return {"apiVersion": wanted.manifest["apiVersion"], **wanted.manifest["spec"]}


def policy(**fields: Any) -> dict[str, Any]:
    return {"runPolicy": {"schedulingPolicy": fields}}


@pytest.mark.parametrize(
    ("scheduler", "spec", "expected"),
    [
        ("volcano", {}, {"apiVersion": "scheduling.volcano.sh/v1beta1", "minMember": 4}),
        ("plugins", {}, {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "minMember": 4, "scheduleTimeoutSeconds": 0}),
        ("volcano", {}, {"minResources": {"cpu": "1750m", "nvidia.com/gpu": "6"}}),
        ("volcano", policy(minAvailable=2), {"minMember": 2, "minResources": {"cpu": "750m", "nvidia.com/gpu": "2"}}),
        ("volcano", policy(minResources={"cpu": "9"}), {"minResources": {"cpu": "9"}}),
        ("volcano", policy(queue="q", priorityClass="high"), {"queue": "q", "priorityClassName": "high"}),
        ("plugins", policy(scheduleTimeoutSeconds=7), {"scheduleTimeoutSeconds": 7}),
        ("volcano", {"launcherCreationPolicy": "WaitForWorkersReady"}, {"minMember": 3}),
    ],
    ids=[
        "Volcano: all workers and the launcher",
        "scheduler plugins: all workers and the launcher",
        "requests, or else limits, of all pods",
        "the policy's minimum cuts workers",
        "the policy's resources",
        "the policy's queue and priority",
        "the policy's time-out",
        "a launcher that waits is not counted",
    ],
)
def test_a_group_has(scheduler: str, spec: dict[str, Any], expected: dict[str, Any]) -> None:
    assert group(scheduler, **spec).items() >= expected.items()


def test_the_queue_of_an_annotation_is_used_where_the_policy_has_none() -> None:
    assert group("volcano", {gangs.QUEUE: "mine"})["queue"] == "mine"


@pytest.mark.parametrize("version", ["v1", "v2beta1"])
def test_all_pods_are_marked(version: str) -> None:
    cluster = elastic(1, version)
    cluster.settings = Settings(gang_scheduler="volcano")
    cluster.reconcile()
    launcher = cluster.manifests["pi-launcher"]
    launcher = launcher["spec"]["template"] if version == "v2beta1" else launcher
    for pod in (cluster.manifests["pi-worker-0"], launcher):
        assert pod["metadata"]["annotations"]["scheduling.k8s.io/group-name"] == "pi"
        assert pod["spec"]["schedulerName"] == "volcano"


def test_scheduler_plugins_mark_pods_by_a_label() -> None:
    cluster = Cluster(an_mpijob(), Settings(gang_scheduler="plugins"))
    cluster.reconcile()
    pod = cluster.manifests["pi-worker-0"]
    assert pod["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] == "pi"
    assert pod["spec"]["schedulerName"] == "plugins"


def test_the_group_follows_the_size() -> None:
    cluster = elastic(2)
    cluster.settings = Settings(gang_scheduler="volcano")
    cluster.settle()
    cluster.resize(4)
    cluster.settle()
    assert [body["spec"]["minMember"] for key, body in cluster.objects.items() if key.kind == "PodGroup"] == [5]


@pytest.mark.parametrize(
    ("priorities", "expected"),
    [
        ({}, {"cpu": "750m", "nvidia.com/gpu": "2"}),
        ({"low": 1, "high": 1}, {"cpu": "750m", "nvidia.com/gpu": "2"}),
        ({"high": 5}, {"cpu": "750m", "nvidia.com/gpu": "2"}),
        ({"low": 5}, {"cpu": "1", "nvidia.com/gpu": "4"}),
    ],
    ids=[
        "no class is known: workers are cut",
        "equal priorities: workers are cut",
        "a launcher of higher priority stays",
        "a launcher of lower priority is cut",
    ],
)
def test_the_smallest_group_is_of_the_highest_priority(priorities: dict[str, int], expected: dict[str, str]) -> None:
    asks = {"requests": {"cpu": "500m"}, "limits": {"cpu": "1", "nvidia.com/gpu": 2}}
    worker, launcher = a_template(resources=asks), a_template("mpirun", resources={"requests": {"cpu": "250m"}})
    worker["spec"]["priorityClassName"], launcher["spec"]["priorityClassName"] = "low", "high"
    roles: dict[str, Any] = {"worker": {"template": worker}, "launcher": {"template": launcher}}
    raw = an_mpijob("v2beta1", workers=3, **roles, **policy(minAvailable=2))
    job = defaulted(raw)
    wanted = gangs.group(job, MPI_KIND.shape(job), 3, "volcano", priorities)
    assert wanted is not None
    assert wanted.manifest["spec"]["minResources"] == expected
    assert wanted.manifest["spec"]["priorityClassName"] == "high"
