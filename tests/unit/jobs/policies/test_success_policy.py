# SPDX-License-Identifier: Apache-2.0
"""Whose success is the job's."""

from __future__ import annotations

import pytest
from tests.unit.jobs.builders import a_toy, elastic, running

from springtide.jobs.kind import Of
from springtide.jobs.observed import Exit


@pytest.mark.parametrize(
    ("role", "of", "ended", "succeeds"),
    [
        ("Master", Of.ALL, ["toy-master-0"], True),
        ("Master", Of.ALL, ["toy-worker-0", "toy-worker-1"], False),
        ("Worker", Of.FIRST, ["toy-worker-0"], True),
        ("Worker", Of.FIRST, ["toy-worker-1"], False),
        ("Worker", Of.ALL, ["toy-worker-0"], False),
        ("Worker", Of.ALL, ["toy-worker-0", "toy-worker-1"], True),
        ("Worker", Of.ANY, ["toy-worker-1"], True),
        ("Worker", Of.ANY, ["toy-master-0"], False),
    ],
    ids=[
        "the master's success is the job's",
        "workers do not matter where there is a master",
        "the first worker's success is the job's",
        "the second worker's is not",
        "one worker of two is not all",
        "two workers of two are all",
        "any worker's success is the job's",
        "a master is no worker",
    ],
)
def test_who_decides(role: str, of: Of, ended: list[str], succeeds: bool) -> None:
    cluster = running(a_toy(success=(role, of)))
    for name in ended:
        cluster.change(name, phase="Succeeded", ready=False, exit=Exit(0, "Completed"))
    cluster.settle()
    assert cluster.finished == succeeds


def test_a_launchers_success_is_its_jobs() -> None:
    cluster = running(elastic(2))
    cluster.succeed()
    cluster.reconcile()
    assert cluster.status.conditions[-1].reason == "MPIJobSucceeded"
