# SPDX-License-Identifier: Apache-2.0
"""How a job ends, and what is said of it."""

from __future__ import annotations

import pytest
from tests.unit.jobs.builders import elastic, running

from springtide.jobs.observed import Exit

versions = pytest.mark.parametrize("version", ["v1", "v2beta1"])


@versions
def test_workers_no_longer_count_once_the_launcher_is_done(version: str) -> None:
    cluster = running(elastic(2, version))
    assert cluster.status.replica_statuses["Worker"].active == 2
    assert cluster.status.replica_statuses["Launcher"].active == 1
    cluster.succeed()
    cluster.settle()
    assert cluster.status.replica_statuses["Worker"].active == 0
    assert cluster.status.replica_statuses["Launcher"].succeeded == 1


def test_one_that_ended_before_it_was_seen_running() -> None:
    cluster = elastic(2)
    for _ in range(2):
        cluster.reconcile()
        cluster.tick()
    cluster.succeed()
    cluster.reconcile()
    running_ = cluster.status.conditions[1]
    assert (running_.type, running_.status) == ("Running", "False")
    assert running_.message == "MPIJob ns/pi is finished but Running condition was never set."


@pytest.mark.parametrize(
    ("clean", "said"), [("All", "no data"), ("Running", "no data; make some: tide env create x"), ("None", "")]
)
def test_where_the_log_is_is_said_unless_it_goes_or_another_command_helps(clean: str, said: str) -> None:
    cluster = running(elastic(2, runPolicy={"backoffLimit": 0, "cleanPodPolicy": clean}))
    cluster.fail("pi-launcher")
    cluster.change("pi-launcher", exit=Exit(1, "Error", said))
    cluster.settle()
    message = cluster.status.conditions[-1].message
    assert message.endswith("; see kubectl logs pi-launcher -n ns") == (clean == "None")
