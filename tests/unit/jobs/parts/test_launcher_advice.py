# SPDX-License-Identifier: Apache-2.0
"""What users can do about a launcher that ended for a known cause."""

from __future__ import annotations

import pytest
from tests.unit.jobs.builders import elastic_training

from springtide.jobs.observed import Exit
from springtide.jobs.parts import launcher_advice


@pytest.mark.parametrize(
    ("command", "message", "start"),
    [
        (
            ("mpirun", "-np", "9", "x"),
            "There are not enough slots available in the system",
            "mpirun was asked for more",
        ),
        (("./run.sh",), "8 takes more slots than there are", "The launcher was asked for more"),
        (("mpirun", "-bind-to", "none", "x"), "prterun was unable to find the specified executable file", "Open MPI 5"),
        (("mpirun", "--bind-to", "none", "x"), "prterun was unable to find the specified executable file", ""),
        (("mpirun", "-np", "9", "x"), "ModuleNotFoundError", ""),
    ],
    ids=["too few slots", "of an unknown program", "one dash", "two dashes", "the program's own fault"],
)
def test_advice_is_given_on_a_known_cause(command: tuple[str, ...], message: str, start: str) -> None:
    job = elastic_training(command=command).observe().job
    said = launcher_advice.on(job, job.own.slots_per_worker, Exit(1, "Error", message))
    assert said.startswith(start)
    assert bool(said) == bool(start)
