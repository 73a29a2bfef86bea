# SPDX-License-Identifier: Apache-2.0
"""A node that falls silent takes its pods with it, and nobody is left to say so."""

from __future__ import annotations

import pytest
from tests.unit.api.builders import an_mpijob
from tests.unit.jobs.builders import elastic, reasons, running
from tests.unit.jobs.simulated import Cluster

from springtide.jobs.actions import Delete

versions = pytest.mark.parametrize("version", ["v1", "v2beta1"])


def lose(cluster: Cluster, *names: str, terminating: bool = False) -> None:
    for name in names:
        cluster.change(name, ready=False, reason="NodeLost", node="silent", terminating=terminating)


def forced(cluster: Cluster) -> list[str]:
    return [each.key.name for each in cluster.plan().actions if isinstance(each, Delete) and each.grace == 0]


@versions
@pytest.mark.parametrize("terminating", [False, True], ids=["not yet deleted", "already being deleted"])
def test_a_lost_worker_is_replaced_and_its_pod_forced_away(version: str, terminating: bool) -> None:
    cluster = running(elastic(2, version))
    lose(cluster, "pi-worker-1", terminating=terminating)
    assert forced(cluster) == ["pi-worker-1"]
    cluster.settle()
    assert cluster.workers() == ["pi-worker-0", "pi-worker-2"]
    assert reasons(cluster) == ["WorkerReplaced"]
    assert cluster.events[0].message == "pi-worker-1 was lost with node silent; a replacement is created"


@versions
def test_a_lost_launcher_is_followed_by_another_with_workers_of_its_own(version: str) -> None:
    cluster = running(elastic(2, version))
    before = {cluster.launcher().uid, *(pod.uid for pod in cluster.of("Worker"))}
    lose(cluster, cluster.launcher().name)
    cluster.settle(60)
    assert cluster.conditions["Running"] == "True"
    assert not before & {cluster.launcher().uid, *(pod.uid for pod in cluster.of("Worker"))}


def test_a_launcher_that_went_with_its_node_has_tries_of_its_own() -> None:
    cluster = running(elastic(2, "v1", runPolicy={"backoffLimit": 0}))
    before = cluster.launcher().uid
    cluster.change(cluster.launcher().name, phase="Failed", disrupted=True, message="PodGC: node no longer exists")
    cluster.settle(60)
    assert cluster.conditions["Running"] == "True"
    assert cluster.launcher().uid != before
    assert "ended as Failed: PodGC: node no longer exists" in cluster.events[0].message


@versions
def test_everything_lost_at_once_is_made_again(version: str) -> None:
    cluster = running(Cluster(an_mpijob(version)))
    lose(cluster, *cluster.pods)
    cluster.settle(60)
    assert (cluster.status.state, cluster.status.workers) == ("Running", "2/2")


@versions
def test_pods_of_a_finished_job_are_forced_away_from_a_silent_node(version: str) -> None:
    cluster = running(elastic(2, version, cleanPodPolicy="Running"))
    lose(cluster, "pi-worker-1", terminating=True)
    cluster.succeed()
    cluster.settle()
    assert not cluster.workers()


@versions
def test_pods_of_a_suspended_job_are_forced_away_from_a_silent_node(version: str) -> None:
    cluster = running(elastic(2, version))
    lose(cluster, *cluster.pods)
    cluster.policy(suspend=True)
    cluster.settle()
    assert not cluster.pods
