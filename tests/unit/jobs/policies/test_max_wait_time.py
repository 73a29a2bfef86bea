# SPDX-License-Identifier: Apache-2.0
"""How long a job waits until its launcher runs for the first time."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.unit.jobs.simulated import NODES, Cluster
from tests.unit.jobs.toy_with_launcher import MARK, a_toy_with_launcher, waiting

from springtide.jobs.actions import Patch, RequeueAfter, StatusPatch


def crowded(**options: Any) -> Cluster:
    """A job for which there is no place."""
    cluster = a_toy_with_launcher(max_wait=waiting(), **options)
    cluster.leaving = frozenset(NODES)
    return cluster


def marked(cluster: Cluster) -> bool:
    return bool(cluster.raw["metadata"]["annotations"].get(MARK) == "timeout")


def wait(cluster: Cluster, seconds: int) -> None:
    cluster.now += timedelta(seconds=seconds)
    for _ in range(4):
        cluster.reconcile()


def test_a_job_that_waits_too_long_is_annotated_and_fails() -> None:
    cluster = crowded()
    wait(cluster, 0)
    wait(cluster, 599)
    assert not cluster.finished
    wait(cluster, 1)
    assert marked(cluster)
    failed = cluster.status.conditions[-1]
    assert (failed.type, failed.reason) == ("Failed", "MaxWaitTimeExceeded")
    assert failed.message == (
        "MPIJob ns/pi has failed because its launcher did not run within 600 s (max-wait-time); "
        "0 of 3 workers were ready"
    )
    cluster.settle()
    assert not [pod for pod in cluster.pods.values() if pod.alive]


def test_it_is_annotated_before_it_fails() -> None:
    cluster = crowded()
    wait(cluster, 0)
    cluster.now += timedelta(seconds=600)
    first = cluster.reconcile().actions
    assert [type(each) for each in first] == [Patch]
    assert any(isinstance(each, StatusPatch) for each in cluster.plan().actions)


def test_the_operator_looks_again_at_that_moment() -> None:
    cluster = crowded()
    wait(cluster, 0)
    wait(cluster, 590)
    assert RequeueAfter(timedelta(seconds=10)) in cluster.plan().actions


def test_a_job_that_runs_in_time_never_fails_by_it() -> None:
    cluster = a_toy_with_launcher(max_wait=waiting(), retries=3)
    cluster.settle()
    assert cluster.snapshot.ledger.has_run
    cluster.leaving = frozenset(NODES)
    cluster.fail("pi-launcher")
    for _ in range(5):
        wait(cluster, 3600)
    assert not cluster.finished
    assert not marked(cluster)


def test_a_launcher_that_runs_between_annotation_and_failure_comes_too_late() -> None:
    cluster = a_toy_with_launcher(max_wait=waiting())
    cluster.reconcile()
    cluster.tick()
    cluster.reconcile()
    cluster.reconcile()
    cluster.now += timedelta(seconds=600)
    cluster.reconcile()
    assert marked(cluster)
    cluster.tick()
    assert cluster.launcher().phase == "Running"
    cluster.settle()
    assert cluster.status.conditions[-1].reason == "MaxWaitTimeExceeded"


def test_a_job_is_not_failed_for_an_annotation_that_somebody_else_wrote() -> None:
    cluster = a_toy_with_launcher(max_wait=waiting())
    cluster.raw["metadata"]["annotations"][MARK] = "timeout"
    cluster.settle()
    wait(cluster, 3600)
    assert not cluster.finished


def test_the_time_in_which_a_job_is_suspended_does_not_count() -> None:
    cluster = crowded()
    cluster.policy(suspend=True)
    wait(cluster, 0)
    wait(cluster, 3600)
    cluster.policy(suspend=False)
    wait(cluster, 0)
    wait(cluster, 599)
    assert not cluster.finished
    wait(cluster, 1)
    assert cluster.status.conditions[-1].reason == "MaxWaitTimeExceeded"


def test_a_job_that_ran_before_it_was_suspended_never_fails_by_it() -> None:
    cluster = a_toy_with_launcher(max_wait=waiting())
    cluster.settle()
    cluster.policy(suspend=True)
    cluster.settle()
    cluster.leaving = frozenset(NODES)
    cluster.policy(suspend=False)
    wait(cluster, 0)
    wait(cluster, 3600)
    assert not cluster.finished


@pytest.mark.parametrize("policy", ["None", "Running", "All"])
def test_what_waits_is_deleted_under_every_clean_up_policy(policy: str) -> None:
    cluster = crowded()
    cluster.policy(cleanPodPolicy=policy)
    wait(cluster, 0)
    wait(cluster, 600)
    cluster.settle()
    assert not cluster.pods


def test_a_job_without_a_longest_wait_waits_and_writes_nothing_for_it() -> None:
    cluster = a_toy_with_launcher()
    cluster.leaving = frozenset(NODES)
    wait(cluster, 0)
    wait(cluster, 360_000)
    assert not cluster.finished
    cluster.leaving = frozenset()
    cluster.settle()
    assert not cluster.snapshot.ledger.has_run
