# SPDX-License-Identifier: Apache-2.0
"""How long a job may run."""

from __future__ import annotations

from datetime import timedelta

from tests.unit.jobs.builders import elastic, running


def test_a_deadline_stops_all_pods_under_every_policy() -> None:
    cluster = running(elastic(2, runPolicy={"activeDeadlineSeconds": 3600}))
    cluster.now += timedelta(seconds=3600)
    cluster.settle()
    assert cluster.status.conditions[-1].reason == "DeadlineExceeded"
    assert not [pod for pod in cluster.pods.values() if pod.alive]


def test_a_deadline_that_no_calendar_holds_never_comes() -> None:
    cluster = running(elastic(2, runPolicy={"activeDeadlineSeconds": 2**63 - 1}))
    cluster.now += timedelta(days=365)
    cluster.settle()
    assert not cluster.finished


def test_a_deadline_stops_a_job_whose_launcher_is_just_gone() -> None:
    cluster = running(elastic(2, runPolicy={"activeDeadlineSeconds": 3600, "backoffLimit": 3}))
    cluster.fail("pi-launcher")
    cluster.reconcile()
    cluster.now += timedelta(seconds=3600)
    cluster.settle()
    assert not [pod for pod in cluster.pods.values() if pod.alive]
