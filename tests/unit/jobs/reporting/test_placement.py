# SPDX-License-Identifier: Apache-2.0
"""Where a job runs, as lists of jobs show it."""

from __future__ import annotations

import pytest
from tests.unit.api.builders import a_template
from tests.unit.jobs.builders import elastic, pytorch, running, tensorflow
from tests.unit.jobs.simulated import Cluster

from springtide.api.kinds.status import Placement
from springtide.jobs.actions import StatusPatch
from springtide.jobs.observed import PENDING


def with_gpus(each: str = "4") -> Cluster:
    template = a_template(resources={"limits": {"nvidia.com/gpu": each}})
    return elastic(2, worker={"replicas": 2, "template": template})


def placed(cluster: Cluster) -> Placement:
    assert cluster.status.placement is not None
    return cluster.status.placement


def test_a_job_without_pods_has_no_placement() -> None:
    cluster = elastic(2)
    cluster.reconcile()
    assert cluster.status.placement is None


@pytest.mark.parametrize(
    ("cluster", "leads"),
    [
        pytest.param(elastic(2), "pi-launcher", id="the launcher"),
        pytest.param(elastic(2, version="v2beta1"), "pi-launcher", id="the launcher of a batch Job"),
        pytest.param(pytorch({"Master": 1, "Worker": 2}), "mnist-master-0", id="the master"),
        pytest.param(pytorch({"Worker": 2}), "mnist-worker-0", id="worker 0 without a master"),
        pytest.param(tensorflow({"PS": 1, "Chief": 1, "Worker": 2}), "mnist-chief-0", id="the chief"),
        pytest.param(tensorflow({"PS": 1, "Worker": 2}), "mnist-worker-0", id="worker 0 without a chief"),
    ],
)
def test_the_node_is_that_of_the_pod_that_leads(cluster: Cluster, leads: str) -> None:
    running(cluster)
    name = next(name for name in cluster.pods if name.startswith(leads))
    cluster.change(name, host_ip="10.0.0.1")
    cluster.reconcile()
    assert placed(cluster) == Placement(node=cluster.pods[name].node, host_ip="10.0.0.1")


def test_the_node_of_a_pending_pod_is_not_shown_yet() -> None:
    cluster = running(elastic(2))
    cluster.change("pi-launcher", phase=PENDING, ready=False)
    cluster.reconcile()
    assert cluster.status.placement is None


def test_gpus_count_from_the_moment_at_which_a_pod_has_a_node() -> None:
    cluster = with_gpus()
    cluster.reconcile()
    assert cluster.status.placement is None
    cluster.change("pi-worker-1", node="node-a")
    cluster.reconcile()
    assert placed(cluster) == Placement(gpus=4)
    cluster.settle()
    assert placed(cluster).gpus == 8


def test_a_pod_that_terminates_gives_its_gpus_back() -> None:
    cluster = running(with_gpus())
    cluster.terminate("pi-worker-1")
    cluster.reconcile()
    assert placed(cluster).gpus == 4


def test_a_suspended_job_takes_up_nothing() -> None:
    cluster = running(with_gpus())
    cluster.policy(suspend=True)
    cluster.settle()
    assert cluster.status.placement is None


def test_a_finished_job_keeps_the_node_and_no_gpus() -> None:
    cluster = running(with_gpus())
    node = cluster.pods["pi-launcher"].node
    cluster.policy(cleanPodPolicy="All")
    cluster.succeed()
    cluster.settle()
    assert not cluster.pods
    assert placed(cluster) == Placement(node=node)


def test_jobs_without_gpus_are_not_written_for_it() -> None:
    cluster = running(elastic(2))
    cluster.change("pi-worker-1", node="node-z")
    assert not any(isinstance(action, StatusPatch) for action in cluster.reconcile().actions)


def test_more_gpus_than_a_number_holds_are_cut() -> None:
    cluster = running(with_gpus(str(2**62)))
    assert placed(cluster).gpus == 2**31 - 1
