# SPDX-License-Identifier: Apache-2.0
"""A launcher whose node is going away."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from tests.unit.api.builders import an_mpijob
from tests.unit.jobs.builders import ELASTIC, running
from tests.unit.jobs.simulated import Cluster

from springtide.jobs.reporting import progress

versions = pytest.mark.parametrize("version", ["v1", "v2beta1"])
TIDE = ("tiderun", *ELASTIC[1:])


def a_job(version: str = "v1", command: tuple[str, ...] = TIDE, **words: Any) -> Cluster:
    cluster = running(Cluster(an_mpijob(version, workers=2, command=command, runPolicy={"backoffLimit": 0})))
    pod = cluster.launcher()
    cluster.change(pod.name, annotations={**pod.annotations, progress.ANNOTATION: json.dumps(words)})
    return cluster


def notice(cluster: Cluster, seconds: int | None = None) -> str:
    """Of the launcher's node."""
    node = cluster.launcher().node
    cluster.leaving = frozenset({node})
    if seconds is not None:
        cluster.reclaims[node] = cluster.now + timedelta(seconds=seconds)
    return node


def told(cluster: Cluster, reason: str) -> list[str]:
    return [event.message for event in cluster.events if event.reason == reason and event.type == "Warning"]


@versions
def test_one_that_keeps_checkpoints_is_moved(version: str) -> None:
    cluster = a_job(version, step=20, checkpoint=10)
    before, node = cluster.launcher(), notice(cluster, seconds=120)
    cluster.reconcile()
    cluster.job_controller()
    assert cluster.pods[before.name].terminating
    assert not [pod for pod in cluster.of("Worker") if pod.terminating], "they are needed for the checkpoint"
    cluster.settle()
    assert cluster.launcher().uid != before.uid
    assert cluster.launcher().node != node
    assert cluster.launcher().phase == "Running"
    assert not cluster.finished
    assert cluster.status.restarts == {}
    (message,) = told(cluster, "LauncherMoved")
    assert message.startswith(f"Node {node} of the launcher is being drained or removed at ")


@versions
def test_the_operator_may_be_killed_anywhere_on_the_way(version: str) -> None:
    for until in range(8):
        cluster = a_job(version, step=20, checkpoint=10)
        before, node = cluster.launcher(), notice(cluster)
        cluster.reconcile(until)
        cluster.settle()
        assert cluster.launcher().uid != before.uid
        assert cluster.launcher().node != node
        assert not cluster.finished


STAYS = {
    "it keeps no checkpoints": (TIDE, {"step": 20}, "no checkpoint was reported, so that the launcher is not moved"),
    "horovodrun writes none when it is told to end": (
        ELASTIC,
        {"step": 20, "checkpoint": 10},
        "no checkpoint was reported, so that the launcher is not moved",
    ),
    "mpirun": (("mpirun", "pi"), {}, "and the run ends with it: mpirun is not elastic"),
}


@pytest.mark.parametrize(("command", "words", "said"), STAYS.values(), ids=STAYS)
def test_any_other_is_told_of_once(command: tuple[str, ...], words: dict[str, Any], said: str) -> None:
    cluster = a_job("v1", command, **words)
    before, node = cluster.launcher(), notice(cluster)
    for _ in range(3):
        cluster.settle()
    assert cluster.launcher().uid == before.uid
    (message,) = told(cluster, "LauncherNodeLeaving")
    assert message.startswith(f"Node {node} of the launcher is being drained or removed, and the run ends with it")
    assert said in message


def test_one_that_stayed_is_moved_as_soon_as_it_has_a_checkpoint() -> None:
    cluster = a_job(step=20)
    before = cluster.launcher()
    notice(cluster)
    cluster.settle()
    kept = {progress.ANNOTATION: json.dumps({"step": 30, "checkpoint": 30})}
    cluster.change(before.name, annotations={**cluster.launcher().annotations, **kept})
    cluster.settle()
    assert cluster.launcher().uid != before.uid
    assert len(told(cluster, "LauncherNodeLeaving")) == len(told(cluster, "LauncherMoved")) == 1


def test_one_that_was_placed_there_all_the_same_stays() -> None:
    cluster = a_job(step=20, checkpoint=10)
    node = notice(cluster)
    cluster.settle()
    moved = cluster.launcher()
    kept = {progress.ANNOTATION: json.dumps({"step": 30, "checkpoint": 30})}
    cluster.change(moved.name, node=node, annotations={**moved.annotations, **kept})
    cluster.settle()
    assert cluster.launcher().uid == moved.uid


def test_a_node_that_stays_after_all_may_go_another_time() -> None:
    cluster = a_job(step=20)
    for _ in range(2):
        notice(cluster)
        cluster.settle()
        cluster.leaving = frozenset()
        cluster.settle()
    assert len(told(cluster, "LauncherNodeLeaving")) == 2
