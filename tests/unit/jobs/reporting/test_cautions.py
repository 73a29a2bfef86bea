# SPDX-License-Identifier: Apache-2.0
"""What is said of a size when it is asked for."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.api.builders import an_mpijob
from tests.unit.jobs.builders import ELASTIC

from springtide.api.defaults.mpijob import defaulted
from springtide.jobs.kinds.mpi.adapter import MPI_KIND
from springtide.jobs.reporting.cautions import of_size, of_templates

RUNS = {"replicaStatuses": {"Launcher": {"active": 1}}}
WAITS = {"replicaStatuses": {"Launcher": {"active": 0}}}
OVER = {**RUNS, "conditions": [{"type": "Succeeded", "status": "True"}]}
RIGID = (
    "mpirun is not elastic: its run continues unchanged and {} from its next start; suspend and resume the job to "
    "start anew with that size now"
)
TOO_FEW = (
    "1 worker is requested, but the launcher cannot start with fewer than 2: horovodrun -np 2 waits for 2 slots, and a "
    "worker has 1; ask for 2 workers or lower -np, or use tiderun, which starts with --min-np"
)
TIDE = ("tiderun", *ELASTIC[1:])
LONGEST = 250
"""kube-apiserver cuts longer warnings off."""


def said(new: int, old: int | None = None, status: dict[str, Any] | None = None, **spec: Any) -> list[str]:
    before = {**an_mpijob(workers=old, **spec), "status": status or {}} if old is not None else None
    after = {**an_mpijob(workers=new, **spec), "status": status or {}}
    return of_size(MPI_KIND, defaulted(after), defaulted(before) if before else None)


ROWS: dict[str, tuple[list[str], list[str]]] = {
    "a rigid job that runs shrinks": (said(2, 3, RUNS), [RIGID.format("2 workers count")]),
    "and grows": (said(1, 0, RUNS), [RIGID.format("1 worker counts")]),
    "its size stays": (said(2, 2, RUNS), []),
    "it does not run yet": (said(2, 3, WAITS), []),
    "it has finished": (said(2, 3, OVER), []),
    "it is suspended": (said(2, 3, RUNS, runPolicy={"suspend": True}), []),
    "it is new": (said(2), []),
    "an elastic job shrinks": (said(2, 3, RUNS, command=ELASTIC), []),
    "below what it can start with": (
        said(1, 3, RUNS, command=ELASTIC),
        [f"the launcher continues, but once it is gone: {TOO_FEW}"],
    ),
    "the same before it runs": (said(1, 3, WAITS, command=ELASTIC), [TOO_FEW]),
    "created so": (said(1, command=ELASTIC), [TOO_FEW]),
    "tiderun can": (said(1, command=TIDE), []),
}


@pytest.mark.parametrize(("found", "expected"), ROWS.values(), ids=ROWS)
def test_what_is_said(found: list[str], expected: list[str]) -> None:
    assert found == expected
    assert all(len(each) <= LONGEST for each in found)


BEGUN = {"startTime": "2026-01-02T03:04:05Z", "replicaStatuses": {"Launcher": {}, "Worker": {"active": 2}}}
KEEP = (
    "existing pods of {} keep the former template: delete those that have not started (kubectl delete pod NAME), or "
    "suspend and resume the job to start it again, from its checkpoint if it has one"
)


def changed(status: dict[str, Any] | None = None, roles: str = "Launcher", **spec: Any) -> list[str]:
    old = {**an_mpijob(workers=2), "status": status or {}}
    new = {**an_mpijob(workers=2, **spec), "status": status or {}}
    for name in roles.split():
        new["spec"]["mpiReplicaSpecs"][name]["template"]["spec"]["containers"][0]["image"] = "corrected:1"
    return of_templates(defaulted(new), defaulted(old))


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (changed(BEGUN), [KEEP.format("Launcher")]),
        (changed(BEGUN, "Launcher Worker"), [KEEP.format("Worker and Launcher")]),
        (changed(BEGUN, ""), []),
        (changed(), []),
        (changed({**BEGUN, "conditions": [{"type": "Failed", "status": "True"}]}), []),
        (changed(BEGUN, runPolicy={"suspend": True}), []),
    ],
)
def test_a_changed_template_does_not_reach_pods_that_exist(found: list[str], expected: list[str]) -> None:
    assert found == expected
    assert all(len(each) <= LONGEST for each in found)
