# SPDX-License-Identifier: Apache-2.0
"""Which launchers follow their host list while they run."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.api.builders import a_template, an_mpijob

from springtide.api.defaults.mpijob import defaulted
from springtide.jobs.kinds.mpi.adapter import MPI_KIND

HOROVODRUN = "horovodrun -np 2 --min-np 1 python train.py"
DECLARED = {"elasticPolicy": {"minReplicas": 1, "maxReplicas": 4}}


@pytest.mark.parametrize(
    ("command", "spec", "expected"),
    [
        (HOROVODRUN, {}, True),
        ("horovodrun -np 2 python train.py", DECLARED, False),
        ("mpirun -np 2 python train.py", DECLARED, False),
        ("python rounds.py", DECLARED, True),
        ("python rounds.py", {}, False),
    ],
    ids=["horovodrun with bounds", "horovodrun without", "mpirun", "a program of the user's own", "which says nothing"],
)
def test_a_launcher_is_elastic(command: str, spec: dict[str, Any], expected: bool) -> None:
    job = defaulted(an_mpijob(launcher={"template": a_template(*command.split())}, **spec))
    assert MPI_KIND.resizable.sizes(job).elastic is expected
