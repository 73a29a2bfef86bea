# SPDX-License-Identifier: Apache-2.0
"""A plan's status speaks of what the plan does, so that nothing is left to say when it has been done."""

from __future__ import annotations

import pytest
from tests.unit.api.builders import an_mpijob
from tests.unit.jobs.simulated import Cluster

from springtide.jobs.actions import StatusPatch

versions = pytest.mark.parametrize("version", ["v1", "v2beta1"])


def _writes_status(cluster: Cluster) -> bool:
    return any(isinstance(action, StatusPatch) for action in cluster.plan().actions)


@versions
def test_the_first_status_counts_the_pods_that_were_just_created(version: str) -> None:
    cluster = Cluster(an_mpijob(version))
    cluster.reconcile()
    assert (cluster.status.replicas, set(cluster.status.replica_statuses)) == (2, {"Launcher", "Worker"})
    assert (cluster.status.state, cluster.status.workers) == ("Queued", "0/2")
    assert not _writes_status(cluster)


@versions
def test_a_resize_is_told_once(version: str) -> None:
    cluster = Cluster(an_mpijob(version))
    cluster.reconcile()
    for size in (4, 1):
        cluster.raw["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"] = size
        cluster.reconcile()
        assert (cluster.status.replicas, cluster.status.workers) == (size, f"0/{size}")
        assert not _writes_status(cluster)


def test_pods_that_could_not_be_created_are_not_told_of() -> None:
    cluster = Cluster(an_mpijob("v1"))
    actions = cluster.plan().actions
    created = next(number for number, action in enumerate(actions) if "Pod" in str(action))
    cluster.reconcile(until=created)
    assert cluster.status.replicas == 0
