# SPDX-License-Identifier: Apache-2.0
"""Step, loss and ranks, from the launcher's report to `kubectl get -o wide`."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from tests.unit.jobs.builders import elastic, running
from tests.unit.jobs.simulated import Cluster

from springtide.jobs.actions import RequeueAfter, StatusPatch
from springtide.jobs.reporting import progress


def report(cluster: Cluster, **words: Any) -> None:
    text = json.dumps({"at": cluster.now.isoformat(), **words})
    pod = cluster.launcher()
    cluster.change(pod.name, annotations={**pod.annotations, progress.ANNOTATION: text})


def seen(cluster: Cluster) -> tuple[object, ...]:
    found = cluster.status.progress
    return (None,) * 3 if found is None else (found.step, found.loss, found.ranks)


def writes(cluster: Cluster) -> bool:
    return any(isinstance(action, StatusPatch) for action in cluster.reconcile().actions)


@pytest.fixture
def cluster() -> Cluster:
    return running(elastic(2))


def test_a_launcher_that_reports_nothing_has_no_progress(cluster: Cluster) -> None:
    assert cluster.status.progress is None


def test_a_report_is_in_the_status(cluster: Cluster) -> None:
    report(cluster, size=2, hosts=["pi-worker-0", "pi-worker-1"], step=40, loss=0.123456789)
    cluster.reconcile()
    assert seen(cluster) == (40, "0.123457", 2)


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ({"step": "many", "loss": "low", "size": "two"}, (None, "", None)),
        ({"step": None, "loss": None, "size": -1}, (None, "", None)),
        ({"step": 7.0, "loss": 3, "size": 2.0}, (7, "3", 2)),
        ({"step": 1e300, "loss": 1e-9, "size": 1 << 40}, (None, "1e-09", None)),
        ({"loss": True, "step": False, "size": []}, (None, "", None)),
    ],
)
def test_programs_may_report_anything(cluster: Cluster, words: dict[str, Any], shown: tuple[object, ...]) -> None:
    report(cluster, **words)
    cluster.reconcile()
    assert seen(cluster) == shown


def test_steps_alone_are_written_every_ten_seconds(cluster: Cluster) -> None:
    report(cluster, size=2, step=1)
    assert writes(cluster)
    for step in range(2, 10):
        cluster.now += timedelta(seconds=1)
        report(cluster, size=2, step=step)
        assert not writes(cluster)
    assert RequeueAfter(timedelta(seconds=2)) in cluster.reconcile().actions
    cluster.now += timedelta(seconds=2)
    assert writes(cluster)
    assert seen(cluster) == (9, "", 2)


def test_but_they_go_along_with_whatever_else_is_new(cluster: Cluster) -> None:
    report(cluster, size=2, step=1)
    cluster.reconcile()
    cluster.now += timedelta(seconds=1)
    report(cluster, size=1, step=2)
    assert writes(cluster)
    assert seen(cluster) == (2, "", 1)


def test_the_same_report_is_not_written_again(cluster: Cluster) -> None:
    report(cluster, size=2, step=1)
    cluster.reconcile()
    cluster.now += timedelta(minutes=1)
    report(cluster, size=2, step=1)
    assert not writes(cluster)


@pytest.mark.parametrize("ends", ["finishes", "is suspended"])
def test_a_job_that_does_not_run_has_come_this_far_and_no_rank_trains(cluster: Cluster, ends: str) -> None:
    report(cluster, size=2, step=40, loss=0.5)
    if ends == "finishes":
        cluster.succeed()
    else:
        cluster.policy(suspend=True)
    cluster.settle()
    assert seen(cluster) == (40, "0.5", 0)


def test_a_new_launcher_begins_where_it_says(cluster: Cluster) -> None:
    cluster.policy(backoffLimit=3)
    report(cluster, size=2, step=40, loss=0.5)
    cluster.reconcile()
    cluster.fail("pi-launcher")
    cluster.settle()
    assert cluster.status.state == "Running"
    assert cluster.status.progress is None
    report(cluster, size=2, step=1)
    cluster.reconcile()
    assert seen(cluster) == (1, "", 2)


def test_a_launcher_that_may_not_report_says_it_with_its_last_lines() -> None:
    cluster = running(elastic(2, "v2beta1"))
    line = '{"springtide":"progress","at":"2026-11-16T06:00:00Z","size":2,"step":99,"loss":0.25}'
    cluster.succeed()
    (ended,) = (pod for pod in cluster.of("Launcher") if pod.ended)
    assert ended.exit is not None
    cluster.change(ended.name, exit=type(ended.exit)(0, "Completed", f"training\n{line}\n"))
    cluster.settle()
    assert seen(cluster) == (99, "0.25", 0)
