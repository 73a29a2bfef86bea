# SPDX-License-Identifier: Apache-2.0
"""The judge of scalers is judged: it lets pass what is right, and sees each fault."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from tests.crash_jobs import training_jobs
from tests.crash_jobs.history import Seen
from tests.crash_jobs.scaler_verdict import judge, left_of, unended

from springtide.kube.resources import Obj

WANTED = training_jobs.attached(random.Random(0), Path("/shared"))
JOB = "u-job"
KINDS = {JOB: "TrainingJob", "u-in": "ScaleIn"}


def a_job(size: int) -> Obj:
    return {"metadata": {"name": "trains", "uid": JOB}, "spec": {"etReplicaSpecs": {"worker": {"replicas": size}}}}


def a_scaler(name: str, phase: str, uid: str = "", second: int = 0, **more: Any) -> Obj:
    metadata = {
        "name": name,
        "uid": uid or f"u-{name}",
        "creationTimestamp": f"2026-01-01T00:00:{second:02}Z",
        "ownerReferences": [{"uid": JOB}],
    }
    status = {"phase": phase, "targetSize": 3}
    return {"kind": "ScaleOut", "metadata": metadata, "status": status | more}


def told(*objects: Obj) -> list[Seen]:
    return [Seen(n, KINDS.get(obj["metadata"]["uid"], "ScaleOut"), obj) for n, obj in enumerate(objects)]


FIRST = (a_scaler("a", "Created"), a_scaler("a", "Scaling"))
SECOND = (a_scaler("b", "Created", second=9), a_scaler("b", "Scaling", second=9))


def test_scalers_in_turn_are_right() -> None:
    seen = told(
        *(a_job(2), *FIRST, SECOND[0], a_job(3), a_scaler("a", "ScaleSucceeded"), SECOND[1]),
        a_scaler("b", "ScaleFailed", second=9),
    )
    assert judge(WANTED, seen) == []


@pytest.mark.parametrize(
    ("seen", "fault"),
    [
        (told(*FIRST, *SECOND), "it begins beside a"),
        (told(FIRST[0], *SECOND), "it begins before a"),
        (told(*FIRST, a_scaler("a", "Created")), "Created follows Scaling"),
        (told(*FIRST, a_scaler("a", "ScaleFailed"), a_scaler("a", "Scaling")), "Scaling follows ScaleFailed"),
        (
            told(*FIRST, a_scaler("a", "ScaleFailed"), a_scaler("a", "ScaleFailed", targetSize=4)),
            "it has changed after its end",
        ),
        (told(a_scaler("a", "Scaling", targetSize=9)), "it leads to 9 workers, 4 are allowed"),
        (told(a_job(2), *FIRST, a_scaler("a", "ScaleSucceeded")), "it has succeeded with 3 workers"),
    ],
)
def test_each_fault_is_seen(seen: list[Seen], fault: str) -> None:
    assert any(fault in each for each in judge(WANTED, seen)), judge(WANTED, seen)


def test_a_scaler_that_is_gone_is_in_nobodys_way() -> None:
    gone = Seen(9, "ScaleOut", FIRST[1], gone=True)
    assert judge(WANTED, [*told(*FIRST), gone, *[each._replace(version=10) for each in told(*SECOND)]]) == []


def test_workers_of_a_failed_scaler_must_be_gone() -> None:
    pod = {"metadata": {"name": "trains-worker-3", "labels": {"scaleout-name": "a"}}}
    assert list(left_of([a_scaler("a", "ScaleSucceeded")], [pod])) == []
    assert list(left_of([a_scaler("a", "ScaleFailed")], [pod])) == [
        "trains-worker-3 is still there although a has failed"
    ]


def test_scalers_that_have_not_ended_are_named() -> None:
    assert unended([*FIRST, a_scaler("b", "ScaleFailed"), a_scaler("c", "")]) == [
        "a is Created",
        "a is Scaling",
        "c is new",
    ]
