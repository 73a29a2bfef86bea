# SPDX-License-Identifier: Apache-2.0
"""Replicas that know each other by number keep their number while the job runs, and the condition explains it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.jobs.builders import pytorch, reasons, running, tensorflow
from tests.unit.jobs.simulated import Cluster

from springtide.jobs.observed import Settings

RIGID_TF = "a TFJob without spec.enableDynamicWorker keeps its size while it runs"
RIGID_TORCH = "a PyTorchJob without spec.elasticPolicy keeps its size while it runs"
ANEW = "suspend and resume the job to start anew with the requested size"


def tf(roles: dict[str, int] | None = None, **spec: Any) -> Cluster:
    return running(tensorflow(roles or {"PS": 2, "Worker": 2}, **spec))


def torch() -> Cluster:
    return running(pytorch({"Master": 1, "Worker": 2}))


def replicas(cluster: Cluster, role: str, count: int) -> None:
    cluster.raw["spec"][cluster.specs][role]["replicas"] = count
    cluster.settle()


def told(cluster: Cluster) -> str:
    found = [each for each in cluster.status.conditions if each.type == "SizeDeferred"]
    return found[0].message if found and found[0].status == "True" else ""


def restart(cluster: Cluster) -> None:
    for suspend in (True, False):
        cluster.policy(suspend=suspend)
        cluster.settle()


@pytest.mark.parametrize(
    ("size", "asked"), [(3, "3 workers are requested, 2 run"), (1, "1 worker is requested, 2 run")]
)
@pytest.mark.parametrize(("submit", "rigid"), [(tf, RIGID_TF), (torch, RIGID_TORCH)])
def test_the_condition_has_both_sizes_the_reason_and_the_way_out(
    submit: Any, rigid: str, size: int, asked: str
) -> None:
    cluster = submit()
    replicas(cluster, "Worker", size)
    assert told(cluster) == f"{asked}: {rigid}; {ANEW}"
    assert cluster.status.explanation == f"{told(cluster)}."
    assert reasons(cluster) == ["NotElastic"]
    assert cluster.status.workers == "2/2"


def test_other_roles_are_deferred_as_well() -> None:
    cluster = tf()
    replicas(cluster, "PS", 3)
    assert told(cluster) == f"3 PS replicas are requested, 2 run: {RIGID_TF}; {ANEW}"
    replicas(cluster, "Worker", 1)
    assert told(cluster).startswith("3 PS replicas are requested, 2 run, 1 worker is requested, 2 run: ")
    assert len(cluster.pods) == 4
    restart(cluster)
    assert (len(cluster.of("PS")), len(cluster.of("Worker"))) == (3, 1)
    assert told(cluster) == ""


def test_of_a_job_with_dynamic_workers_only_the_others_are() -> None:
    cluster = tf(enableDynamicWorker=True)
    replicas(cluster, "Worker", 3)
    assert (told(cluster), len(cluster.of("Worker"))) == ("", 3)
    replicas(cluster, "PS", 1)
    only = "only the size of Worker can change while the job runs"
    assert told(cluster) == f"1 PS replica is requested, 2 run: {only}; {ANEW}"
    assert len(cluster.of("PS")) == 2


def test_asking_for_the_former_size_ends_it() -> None:
    cluster = tf()
    replicas(cluster, "Worker", 3)
    replicas(cluster, "Worker", 2)
    assert cluster.conditions["SizeDeferred"] == "False"


def test_a_replica_that_is_created_again_knows_the_size_that_runs() -> None:
    cluster = tf()
    before = cluster.manifests["mnist-worker-1"]
    replicas(cluster, "Worker", 3)
    cluster.terminate("mnist-worker-1")
    cluster.settle()
    assert cluster.manifests["mnist-worker-1"] is not before
    assert cluster.manifests["mnist-worker-1"] == before


@pytest.mark.parametrize("asked", [3, 4, 2**31 - 1])
def test_a_size_above_the_operators_limit_takes_no_replica_away_either(asked: int) -> None:
    cluster = tf({"Worker": 3})
    cluster.settings = Settings(max_workers=3)
    cluster.resize(asked)
    cluster.vanish("mnist-worker-0")
    cluster.settle()
    assert cluster.workers() == ["mnist-worker-0", "mnist-worker-1", "mnist-worker-2"]


def test_before_the_first_pods_exist_a_size_is_changed_at_once() -> None:
    cluster = tensorflow({"PS": 1, "Worker": 2}, runPolicy={"suspend": True})
    cluster.settle()
    replicas(cluster, "Worker", 4)
    cluster.policy(suspend=False)
    cluster.settle()
    assert len(cluster.workers()) == 4
    assert "SizeDeferred" not in cluster.conditions
