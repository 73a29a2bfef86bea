# SPDX-License-Identifier: Apache-2.0
"""What Horovod's names do, in runs that are not elastic: among three ranks, and in one process without a launcher.

The ranks of `mpirun` are three as well.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.e2e_elastic import environments
from tests.e2e_elastic.training import PATIENCE, quiet

pytestmark = pytest.mark.timeout(400)
PROGRAMS = Path(__file__).parent / "programs"
LAUNCHED = (sys.executable, "-m", "springtide.elastic.launcher", "-np", "3")
FRAMEWORKS = pytest.mark.parametrize("framework", ["torch", "tensorflow"])


def output(*command: str, **variables: str) -> str:
    environment = {"PATH": "/usr/bin:/bin", **quiet(), **variables}
    found = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout


@pytest.mark.parametrize("launched", [(), LAUNCHED], ids=["one", "three"])
@FRAMEWORKS
def test_names_do_what_they_did(framework: str, launched: tuple[str, ...], request: pytest.FixtureRequest) -> None:
    python: Path = request.getfixturevalue(f"{framework}_python")
    told = output(*launched, str(python), str(PROGRAMS / f"{framework}_names.py"))
    assert told.count("all is well") == (3 if launched else 1)


@FRAMEWORKS
def test_names_do_the_same_under_mpirun(framework: str, request: pytest.FixtureRequest) -> None:
    python, mpi = request.getfixturevalue(f"{framework}_python"), environments.made(environments.OPEN_MPI)
    paths = os.pathsep.join([quiet()["PYTHONPATH"], str(environments.packages(mpi))])
    command = (mpi / "bin" / "mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "3", python)
    told = output(
        *map(str, command),
        str(PROGRAMS / f"{framework}_names.py"),
        PYTHONPATH=paths,
        OPAL_PREFIX=str(mpi),
        OMPI_MCA_mpi_yield_when_idle="1",
    )
    assert told.count("all is well") == 3
