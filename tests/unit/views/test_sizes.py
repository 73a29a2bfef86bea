# SPDX-License-Identifier: Apache-2.0
"""Which size a job can have, and how it gets it."""

from __future__ import annotations

from typing import Any

import pytest

from springtide.messages import Language, shown
from springtide.views import sizes
from springtide.views.sizes import Bounds, Scaler, Way

Obj = dict[str, Any]
OUTER = {
    "MPIJob": "mpiReplicaSpecs",
    "TFJob": "tfReplicaSpecs",
    "PyTorchJob": "pytorchReplicaSpecs",
    "TrainingJob": "etReplicaSpecs",
}


def job(kind: str = "MPIJob", replicas: int | None = 2, role: str = "Worker", **parts: Any) -> Obj:
    worker = {} if replicas is None else {"replicas": replicas}
    return {
        "kind": kind,
        "metadata": {"name": "bert", "annotations": parts.pop("annotations", {})},
        "spec": {OUTER[kind]: {role: worker | parts.pop("own", {})}, **parts.pop("spec", {})},
        "status": parts,
    }


@pytest.mark.parametrize(
    ("asked", "size"),
    [("4", 4), ("+1", 4), ("-1", 2), ("0", 0), (" 5 ", 5), ("-9", -6), ("", None), ("x", None), ("1.5", None),
     ("+", None), ("++1", None), ("１", None)],
)  # fmt: skip
def test_a_size_is_a_number_or_a_change(asked: str, size: int | None) -> None:
    assert sizes.wanted(asked, 3) == size


@pytest.mark.parametrize("kind", OUTER)
def test_the_size_is_that_of_the_worker_role_however_it_is_spelled(kind: str) -> None:
    assert sizes.workers(job(kind, 3, "WORKER")) == 3
    assert sizes.workers(job(kind, None, "worker")) == 1
    assert sizes.workers(job(kind, 3, "Launcher")) == 0
    assert sizes.replicas_patch(job(kind, 3, "wOrker"), 5) == {"spec": {OUTER[kind]: {"wOrker": {"replicas": 5}}}}


def test_while_a_scaler_is_in_progress_its_size_counts() -> None:
    assert sizes.workers(job("TrainingJob", 2, workers="2/5", currentScaler="ScaleOut:default/x")) == 5
    assert sizes.workers(job("TrainingJob", 2, workers="2/5")) == 2


@pytest.mark.parametrize(
    ("given", "bounds"),
    [
        (job(), Bounds(1, None)),
        (job(minReplicas=2, maxReplicas=8), Bounds(2, 8)),
        (job(spec={"elasticPolicy": {"minReplicas": 2, "maxReplicas": 4}}), Bounds(2, 4)),
        (job(spec={"elasticPolicy": {"maxReplicas": 4}}, maxReplicas=3), Bounds(1, 3)),
        (job("TrainingJob", own={"minReplicas": 2, "maxReplicas": 3}), Bounds(2, 3)),
    ],
)
def test_bounds_are_those_of_the_status_or_the_spec(given: Obj, bounds: Bounds) -> None:
    assert sizes.bounds(given) == bounds


def said(given: Obj, size: int) -> str:
    refusal = sizes.refusal(given, size)
    return "" if refusal is None else " | ".join(shown(part, Language.ENGLISH) for part in refusal if part)


@pytest.mark.parametrize(
    ("given", "size", "expected"),
    [
        (job(minReplicas=1, maxReplicas=4), 4, ""),
        (
            job(minReplicas=1, maxReplicas=4),
            9,
            "Job bert cannot have 9 workers. | it has 2 and may have 1 to 4 | "
            "the nearest size: tide scale bert --workers 4",
        ),
        (
            job(minReplicas=2),
            1,
            "Job bert cannot have 1 workers. | it has 2 and may have at least 2 | "
            "it has the nearest size already; other bounds need a change of the job's spec",
        ),
        (
            job(state="Succeeded"),
            3,
            "Job bert cannot be resized. | it has finished: Succeeded | "
            "start it again with that size: tide clone bert NEW --workers 3",
        ),
        (
            job(role="Chief", kind="TFJob"),
            3,
            "Job bert cannot be resized. | it has no workers: its spec has no role Worker",
        ),
    ],
)
def test_a_size_is_refused_with_the_allowed_range_and_the_next_step(given: Obj, size: int, expected: str) -> None:
    assert said(given, size) == expected


@pytest.mark.parametrize(
    ("given", "way"),
    [
        (job(), Way.REPLICAS),
        (job("PyTorchJob", phase="Running"), Way.REPLICAS),
        (job("TrainingJob", phase="Running"), Way.SCALER),
        (job("TrainingJob", phase="Scaling"), Way.SCALER),
        (job("TrainingJob", phase="Created"), Way.REPLICAS),
        (job("TrainingJob", phase="Running", annotations={sizes.SUSPENDED: "true"}), Way.REPLICAS),
    ],
)
def test_only_a_training_job_that_runs_gets_a_scaler(given: Obj, way: Way) -> None:
    assert sizes.way(given) is way


@pytest.mark.parametrize(
    ("given", "suspended"),
    [
        (job(), False),
        (job(spec={"runPolicy": {"suspend": True}}), True),
        (job("TrainingJob", annotations={sizes.QUEUED: "true"}), True),
        (job("TrainingJob", annotations={sizes.QUEUED: "false"}), False),
        (job("TrainingJob", spec={"runPolicy": {"suspend": True}}), False),
    ],
)
def test_a_job_is_suspended_in_the_way_of_its_kind(given: Obj, suspended: bool) -> None:
    assert sizes.suspended(given) is suspended


def test_a_scaler_has_what_was_asked_for_and_nothing_else() -> None:
    made = Scaler("bert-1", "team", "bert", 2).manifest()
    assert (made["kind"], made["spec"]) == ("ScaleOut", {"selector": {"name": "bert"}, "toAdd": {"count": 2}})
    assert Scaler("bert-1", "team", "bert", -2).manifest()["spec"]["toDelete"] == {"count": 2}
    named = Scaler("bert-1", "team", "bert", -1, ("bert-worker-0",), 30, "/x.sh", (("A", "b c"),), 2).manifest()
    assert named["metadata"] == {"name": "bert-1", "namespace": "team"}
    assert named["spec"] == {
        "selector": {"name": "bert"},
        "toDelete": {"podNames": ["bert-worker-0"]},
        "timeout": 30,
        "script": "/x.sh",
        "env": [{"name": "A", "value": "b c"}],
        "backoffLimit": 2,
    }


def test_pods_that_are_no_workers_are_named() -> None:
    assert sizes.unknown_victims(("a", "b"), [{"metadata": {"name": "a"}}]) == ["b"]
