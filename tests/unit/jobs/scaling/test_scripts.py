# SPDX-License-Identifier: Apache-2.0
"""Scripts of scalers: at least once, and never again after their success was recorded."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.unit.jobs.builders import running
from tests.unit.jobs.scaling.builders import end, names, scalable, types
from tests.unit.jobs.simulated import Cluster


def scaled(cluster: Cluster, kind: str = "ScaleOut", seconds: int = 5, **fields: Any) -> str:
    uid = cluster.scale(kind, "custom", count=1, script="/scripts/scale.sh", **fields)
    for_seconds(cluster, seconds)
    return uid


def for_seconds(cluster: Cluster, seconds: int) -> None:
    for _ in range(seconds):
        cluster.tick(1)
        cluster.reconcile()


def test_it_runs_when_all_new_workers_are_ready_and_before_they_are_listed() -> None:
    cluster = running(scalable(3))
    cluster.capacity = 3
    uid = scaled(cluster)
    assert not cluster.runs
    cluster.capacity = 4
    for_seconds(cluster, 5)
    (ran,) = cluster.runs
    assert (cluster.listed(), cluster.status.explanation) == (
        [*names(0, 1, 2)],
        "ScaleOut custom: /scripts/scale.sh runs in the launcher.",
    )
    launcher = cluster.launcher()
    assert (ran.scaler, ran.attempt, ran.pod, ran.uid) == (uid, 0, launcher.name, launcher.uid)
    assert (
        ran.container == cluster.raw["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]["name"]
    )
    cluster.script_ends(lines="done\n")
    for_seconds(cluster, 5)
    assert end(cluster.scalers[uid]).startswith("ScaleSucceeded")
    found = cluster.scalers[uid].status
    assert types(cluster.scalers[uid]) == ["Created", "Scaling", "ScriptExecuted", "ScaleSucceeded"]
    assert found.conditions[2].message == "/scripts/scale.sh succeeded: done"
    assert len(cluster.runs) == 1


def test_it_gets_the_pods_and_its_variables_without_a_shell() -> None:
    cluster = running(scalable(3, bounds=(2, 12), slotsPerWorker=2))
    env = (("NAME", "two words; $(touch pwned)"), ("EMPTY", ""))
    uid = scaled(cluster, timeout=timedelta(seconds=90), env=env)
    assert cluster.runs[0].argv == (
        "env",
        "NAME=two words; $(touch pwned)",
        "EMPTY=",
        f"SPRINGTIDE_SCALER_UID={uid}",
        "timeout",
        "-k",
        "5",
        "90",
        "sh",
        "/scripts/scale.sh",
        "pi-worker-3:2",
    )
    assert cluster.runs[0].timeout == timedelta(seconds=90)


def test_that_of_a_scale_in_runs_before_anything_is_removed() -> None:
    cluster = running(scalable(3))
    uid = scaled(cluster, "ScaleIn")
    assert cluster.runs[0].argv[-1] == "pi-worker-2:1"
    assert cluster.listed() == [*names(0, 1, 2)]
    assert cluster.snapshot.wanted_size == 3
    cluster.script_ends()
    for_seconds(cluster, 40)
    assert end(cluster.scalers[uid]).startswith("ScaleSucceeded: 3 → 2")
    assert cluster.workers() == [*names(0, 1)]


@pytest.mark.parametrize("kind", ["ScaleOut", "ScaleIn"])
def test_a_failure_fails_the_scaler_and_leaves_the_job_as_it_was(kind: str) -> None:
    cluster = running(scalable(3))
    uid = scaled(cluster, kind)
    cluster.script_ends(3, "no such\nhost")
    for_seconds(cluster, 5)
    assert end(cluster.scalers[uid]) == "ScaleFailed: /scripts/scale.sh exited with code 3: no such\nhost"
    assert (cluster.listed(), cluster.workers(), cluster.size) == ([*names(0, 1, 2)], [*names(0, 1, 2)], 3)


def test_a_failure_is_retried_with_back_off_up_to_the_limit() -> None:
    cluster = running(scalable(3))
    uid = scaled(cluster, backoff_limit=2)
    cluster.script_ends(1)
    for_seconds(cluster, 9)
    assert (len(cluster.runs), cluster.scalers[uid].status.script_failures) == (1, 1)
    assert "failed and is run again at" in cluster.status.explanation
    for_seconds(cluster, 5)
    assert [each.attempt for each in cluster.runs] == [0, 1]
    cluster.script_ends(1)
    for_seconds(cluster, 25)
    assert [each.attempt for each in cluster.runs] == [0, 1, 2]
    cluster.script_ends(1)
    for_seconds(cluster, 5)
    assert end(cluster.scalers[uid]) == "ScaleFailed: /scripts/scale.sh exited with code 1, attempt 3 of 3"
    assert cluster.workers() == [*names(0, 1, 2)]
    assert [each.reason for each in cluster.scaler_events].count("ScriptFailed") == 2


def test_a_retry_that_succeeds_goes_on() -> None:
    cluster = running(scalable(3))
    uid = scaled(cluster, backoff_limit=1)
    cluster.script_ends(1)
    for_seconds(cluster, 15)
    cluster.script_ends(0)
    for_seconds(cluster, 5)
    assert end(cluster.scalers[uid]).startswith("ScaleSucceeded")


def test_a_script_of_an_operator_that_died_is_run_again() -> None:
    """Its result is not known."""
    cluster = running(scalable(3))
    scaled(cluster)
    cluster.scripts.clear()
    for_seconds(cluster, 2)
    assert [each.attempt for each in cluster.runs] == [0, 0]


def test_a_script_whose_success_was_recorded_is_never_run_again() -> None:
    cluster = running(scalable(3))
    uid = scaled(cluster)
    cluster.script_ends()
    cluster.reconcile(1)
    assert types(cluster.scalers[uid])[-1] == "ScriptExecuted"
    cluster.scripts.clear()
    for_seconds(cluster, 5)
    assert len(cluster.runs) == 1
    assert end(cluster.scalers[uid]).startswith("ScaleSucceeded")


def test_a_new_worker_that_is_lost_after_the_script_is_replaced_without_another_run() -> None:
    cluster = running(scalable(3))
    uid = scaled(cluster)
    cluster.script_ends()
    cluster.vanish("pi-worker-3")
    for_seconds(cluster, 10)
    assert len(cluster.runs) == 1
    assert end(cluster.scalers[uid]).startswith("ScaleSucceeded")
    assert cluster.status.workers == "4/4"


def test_a_timeout_of_zero_is_not_unlimited() -> None:
    cluster = running(scalable(3))
    scaled(cluster, "ScaleIn", timeout=timedelta(0))
    assert cluster.runs[0].argv[-4:-2] == ("1", "sh")
