# SPDX-License-Identifier: Apache-2.0
"""The presets with a framework, as `tide env create --preset` makes them from the package index."""

from __future__ import annotations

import os
import subprocess
from importlib.metadata import distributions
from pathlib import Path

import pytest
from tests.e2e_elastic import environments
from tests.e2e_elastic.training import PATIENCE

from springtide.local.environments import making, presets
from springtide.local.environments.environment import Environment
from springtide.local.environments.making import Recipe
from springtide.local.environments.shelf import Environments

pytestmark = pytest.mark.timeout(600)
ALLOWANCE = 4
"""Packages: Springtide's own, those of a new environment, and what newer versions need."""


@pytest.mark.parametrize("name", ["tensorflow", "pytorch"])
def test_it_holds_what_its_row_says_and_its_entrypoint_trains(name: str, tmp_path: Path) -> None:
    preset = presets.table()[name]
    made = making.make(Environments(tmp_path), Recipe.of(preset))
    packages = list(distributions(path=[str(environments.packages(Path(made.prefix)))]))
    assert abs(len(packages) - preset.packages) <= ALLOWANCE
    first, *lines = output_of_entrypoint(made).splitlines()
    assert "a stand-in that comes with Springtide" in first
    assert lines[-1].startswith("Trained ")


def output_of_entrypoint(made: Environment) -> str:
    """With the environment's variables, and its files where they lie on this machine."""
    python, program = made.entrypoint
    (file,) = (
        Path(each.source + program[len(each.target) :]) for each in made.files if program.startswith(each.target)
    )
    variables = {"PATH": f"{made.prefix}/bin:{os.environ['PATH']}", "HOME": os.environ["HOME"], **made.variables}
    command = [f"{made.prefix}/bin/{python}", str(file)]
    done = subprocess.run(
        command,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout
