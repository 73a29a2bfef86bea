# SPDX-License-Identifier: Apache-2.0
"""The light presets as they are made: what is in them runs without a cluster, too."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e import environments
from tests.programs import clusters as embedded
from tests.programs import wheels
from tests.programs.world import Cluster

from springtide.local.environments import presets
from springtide.local.environments.environment import Environment
from springtide.local.environments.shelf import Environments

pytestmark = pytest.mark.timeout(300)

LIGHT = [presets.table()[name] for name in ("horovod", "mpi")]
"""Those of the documents are made by test_documents, too."""
PROGRAM = Path(__file__).parent / "files" / "horovod_names.py"
TOGETHER = ("mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "3")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """One that was started with presets, twice."""
    names = ",".join(preset.name for preset in LIGHT)
    with embedded.public_folder() as public, embedded.running(public, "--no-nodes") as found:
        environments.offer(found, wheels.PRESETS)
        found.tide.ok("down")
        said = found.tide.run("up", "-d", "--no-nodes", "--preset", names)
        assert said.returncode == 0, said
        assert [f"Environment {preset.name!r} is ready" in said.stdout for preset in LIGHT] == [True] * len(LIGHT)
        found.tide.ok("down")
        again = found.tide.ok("up", "-d", "--no-nodes", "--preset", names)
        assert again.count("exists already") == len(LIGHT)
        yield found


@pytest.fixture(params=[preset.name for preset in LIGHT])
def made(request: pytest.FixtureRequest, cluster: Cluster) -> Environment:
    return environment(cluster, request.param)


def environment(cluster: Cluster, name: str) -> Environment:
    found = Environments(cluster.tide.home / ".local/share/springtide/environments").find(name)
    assert found is not None
    return found


def run(made: Environment, *command: str | Path, fails: bool = False, **variables: str) -> str:
    """As in a container: with the environment's PATH and its variables, and nothing of ours."""
    words = {"PATH": f"{made.prefix}/bin:/usr/bin:/bin", "HOME": "/nowhere", **made.variables, **variables}
    done = subprocess.run([*map(str, command)], env=words, capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode != 0) == fails, done
    return done.stdout + done.stderr


def test_it_holds_what_its_row_says(made: Environment, cluster: Cluster) -> None:
    preset = presets.table()[made.name]
    shown = cluster.tide.ok("env", "show", made.name).partition("Packages:")[2].split("\n")
    ours = {"springtide", "horovod"} if preset.horovod else {"springtide"}
    of_venv = {"pip", "setuptools"}  # where there is no uv to make the environment
    names = {line.split()[0] for line in shown if line.strip()} - of_venv
    assert ours < names
    assert len(names - ours) == preset.packages
    assert [files.target for files in made.files] == sorted({f"/{path.split('/')[1]}" for path in preset.programs})
    assert "Springtide" in run(made, "python", "-c", "import springtide; print(springtide.__doc__)")
    assert "tiderun" in run(made, "tiderun", "--version")
    assert "Open MPI" in run(made, "mpirun", "--version")


def test_horovods_command_line_says_whose_it_is(cluster: Cluster) -> None:
    made = environment(cluster, "horovod")
    assert "horovodrun of Springtide" in run(made, "horovodrun", "--version")
    assert "--no-such is not an option of horovodrun" in run(made, "horovodrun", "--no-such", fails=True)
    said = run(made, "horovodrun", "-np", "2", "-H", "localhost:2", "python", "-c", "print('here')")
    assert sorted(re.findall(r"\[.*\]<stdout>:here", said)) == ["[0]<stdout>:here", "[1]<stdout>:here"]


def test_horovods_names_work_under_mpirun(cluster: Cluster) -> None:
    """Ranks, sums, copies and an elastic state, among three ranks and in the words of Horovod's programs."""
    said = run(environment(cluster, "horovod"), *TOGETHER, "python", PROGRAM)
    assert sorted(re.findall(r"^rank \d .*", said, re.MULTILINE)) == [
        f"rank {rank} of 3: mean 1.0, sum 3.0, root's 1, state 7.0, steps 4" for rank in range(3)
    ]


def test_a_rank_that_fails_ends_the_others(cluster: Cluster) -> None:
    said = run(environment(cluster, "horovod"), *TOGETHER, "python", PROGRAM, "1", fails=True)
    assert "RuntimeError: rank 1 was asked to fail" in said


def test_the_names_of_a_framework_that_is_not_there_say_what_has_it(cluster: Cluster) -> None:
    said = run(environment(cluster, "horovod"), "python", "-c", "import horovod.tensorflow", fails=True)
    assert "horovod.tensorflow needs TensorFlow" in said
    assert "tide env create --preset horovod-tensorflow" in said
