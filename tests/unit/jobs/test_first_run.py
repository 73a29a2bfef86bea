# SPDX-License-Identifier: Apache-2.0
"""A job from its creation to its end, in both versions."""

from __future__ import annotations

import pytest
from tests.unit.api.builders import an_mpijob
from tests.unit.jobs.simulated import Cluster

versions = pytest.mark.parametrize("version", ["v1", "v2beta1"])


@versions
def test_a_job_is_created_runs_and_succeeds(version: str) -> None:
    cluster = Cluster(an_mpijob(version))
    cluster.reconcile()
    assert cluster.workers() == ["pi-worker-0", "pi-worker-1"]
    assert cluster.listed() == []
    cluster.settle()
    assert cluster.listed() == ["pi-worker-0", "pi-worker-1"]
    assert cluster.conditions == {"Created": "True", "Running": "True"}
    assert (cluster.status.state, cluster.status.workers) == ("Running", "2/2")
    cluster.succeed()
    cluster.settle()
    assert cluster.conditions == {"Created": "True", "Running": "False", "Succeeded": "True"}
    assert [event.reason for event in cluster.events] == ["MPIJobCreated", "MPIJobRunning", "MPIJobSucceeded"]


@versions
def test_nothing_is_written_when_nothing_changes(version: str) -> None:
    cluster = Cluster(an_mpijob(version))
    cluster.settle()
    assert cluster.plan().actions == ()
