# SPDX-License-Identifier: Apache-2.0
"""What scaling asks for, and what is refused before anything is created."""

from __future__ import annotations

from typing import Any

import pytest

from springtide.cli.arena.errors import ArenaError
from springtide.cli.arena.verbs.scale import SCALE_IN, SCALE_OUT, Direction, asked, check
from springtide.cli.flags.pflag import parsed
from springtide.kube.resources import Obj


def wanted(direction: Direction, *words: str) -> Any:
    flags = (SCALE_OUT if direction is Direction.OUT else SCALE_IN).flags
    return asked(direction, "team", parsed(flags, ["--name=bert", *words]).values)


def job(state: str = "Running", replicas: int = 2, **status: Any) -> Obj:
    worker = {"replicas": replicas, "minReplicas": 1, "maxReplicas": 3, "template": {"spec": {"containers": []}}}
    return {
        "kind": "TrainingJob",
        "metadata": {"name": "bert", "namespace": "team", "labels": {"app": "etjob"}},
        "spec": {"etReplicaSpecs": {"worker": worker}},
        "status": {"state": state, "phase": "Running", **status},
    }


def test_the_scaler_is_that_of_arena() -> None:
    words = ("--count=2", "--script=/grow.sh", "-e", "B=x,y", "-e", "A=1", "--retry=2", "-t", "10m")
    assert wanted(Direction.OUT, *words).manifest()["spec"] == {
        "selector": {"name": "bert"},
        "toAdd": {"count": 2},
        "timeout": 600,
        "script": "/grow.sh",
        "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "x,y"}],
        "backoffLimit": 2,
    }
    found = wanted(Direction.IN).manifest()
    assert (found["kind"], found["spec"]["toDelete"], found["spec"]["timeout"]) == ("ScaleIn", {"count": 1}, 60)


@pytest.mark.parametrize("words", [["--count=0"], ["--count=-1"], ["-e", "A"]])
def test_what_makes_no_sense_is_refused(words: list[str]) -> None:
    with pytest.raises(ArenaError, match="failed to validate command args: --"):
        wanted(Direction.OUT, *words)


@pytest.mark.parametrize(
    ("direction", "count", "found", "message"),
    [
        (Direction.OUT, 1, job(), ""),
        (Direction.OUT, 2, job(), "scaling out plus the number of current workers exceeds the max-workers"),
        (Direction.OUT, 1, job(workers="3/3"), "exceeds the max-workers"),
        (Direction.IN, 1, job(), ""),
        (Direction.IN, 2, job(), "minus the number of scaling in is less than the min-workers"),
        (Direction.OUT, 1, job("Starting"), "the job: bert status: PENDING , is not RUNNING or SCALING"),
        (Direction.OUT, 1, job("Succeeded"), "the job: bert status: SUCCEEDED , is not RUNNING or SCALING"),
        (Direction.OUT, 1, job("Scaling out", phase="Scaling"), ""),
    ],
)
def test_bounds_and_states_are_checked(direction: Direction, count: int, found: Obj, message: str) -> None:
    scaler = wanted(direction, f"--count={count}")
    if not message:
        check(found, scaler)
        return
    with pytest.raises(ArenaError, match=message):
        check(found, scaler)
