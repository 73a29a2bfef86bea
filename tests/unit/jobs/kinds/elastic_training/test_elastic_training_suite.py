# SPDX-License-Identifier: Apache-2.0
"""What every kind does, TrainingJobs of both attach modes do."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.jobs.builders import elastic_training, running
from tests.unit.jobs.kind_suite import KindSuite
from tests.unit.jobs.simulated import Cluster

from springtide.jobs.observed import Settings


def over_exec(workers: int = 2, **run_policy: Any) -> Cluster:
    return elastic_training(workers, run_policy, launcherAttachMode="kubexec")


def over_ssh(workers: int = 2, **run_policy: Any) -> Cluster:
    return elastic_training(workers, run_policy)


class ElasticTrainingSuite(KindSuite):
    def test_all_pods_are_placed_together(self) -> None:
        """But the launcher, which is created when all workers are ready."""
        cluster = self.submit()
        cluster.settings = Settings(gang_scheduler="volcano")
        cluster.settle()
        groups = [body for key, body in cluster.objects.items() if key.kind == "PodGroup"]
        assert [group["spec"]["minMember"] for group in groups] == [len(cluster.of("Worker"))]


class TestOverExec(ElasticTrainingSuite):
    submit = staticmethod(over_exec)


class TestOverSSH(ElasticTrainingSuite):
    submit = staticmethod(over_ssh)


@pytest.mark.parametrize("submit", [over_exec, over_ssh])
def test_every_worker_has_a_service_until_its_pod_is_gone(submit: Any) -> None:
    cluster = running(submit(3))
    assert services(cluster) == ["train-worker-0", "train-worker-1", "train-worker-2"]
    cluster.resize(1)
    cluster.reconcile()
    assert set(services(cluster)) >= {pod.name for pod in cluster.of("Worker")}
    cluster.settle()
    assert services(cluster) == cluster.workers() == ["train-worker-0"]


@pytest.mark.parametrize("submit", [over_exec, over_ssh])
def test_services_go_with_the_workers_of_suspended_and_finished_jobs(submit: Any) -> None:
    suspended = running(submit())
    suspended.policy(suspend=True)
    suspended.settle()
    assert services(suspended) == []
    finished = running(submit())
    finished.succeed()
    finished.settle()
    assert services(finished) == []


def services(cluster: Cluster) -> list[str]:
    return sorted(key.name for key in cluster.objects if key.kind == "Service")
