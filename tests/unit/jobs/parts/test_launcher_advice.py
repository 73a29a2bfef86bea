# SPDX-License-Identifier: Apache-2.0
"""What users can do about a launcher that ended for a known cause."""

from __future__ import annotations

import pytest
from tests.unit.jobs.builders import elastic_training

from springtide.api.kinds.replicas import LAUNCHER
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


@pytest.mark.parametrize(
    ("hostfile", "message", "known"),
    [
        ("/etc/edl/hostfile", "ssh: Could not resolve hostname train-worker-0:1: Name or service not known", True),
        ("/etc/edl/hostfile", "ModuleNotFoundError", False),
        ("/job/hostfile", "train-worker-0:1", False),
    ],
    ids=["taken for names", "the program's own fault", "another file"],
)
def test_of_the_host_file_that_mpirun_cannot_read_the_other_is_named(hostfile: str, message: str, known: bool) -> None:
    job = elastic_training(command=("mpirun", "-hostfile", hostfile, "x")).observe().job
    said = launcher_advice.on(job, 1, Exit(255, "Error", message))
    assert ("name /job/hostfile in its place" in said) == known


@pytest.mark.parametrize("message", ["sh: 1: horovodrun: not found", "bash: line 1: horovodrun: command not found"])
def test_of_a_program_that_the_image_lacks_the_environment_is_named(message: str) -> None:
    job = elastic_training(command=("sh", "-c", "horovodrun -np 2 python x.py")).observe().job
    job.roles[LAUNCHER].template["spec"]["containers"][0]["image"] = "my.reg:5000/me/train:1"
    said = launcher_advice.on(job, 1, Exit(127, "Error", message))
    assert said.startswith("the launcher's image my.reg:5000/me/train:1 has no horovodrun; ")
    assert (
        "tide env create train --preset horovod --image my.reg:5000/me/train, then delete the job and create it again"
        in said
    )
    assert launcher_advice.on(job, 1, Exit(127, "Error", "sh: 1: nvidia-smi: not found")) == ""
