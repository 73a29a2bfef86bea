# SPDX-License-Identifier: Apache-2.0
"""Which environment `tide run` chooses."""

from __future__ import annotations

from pathlib import Path

import pytest

from springtide.cli.errors import Failure
from springtide.cli.jobs.changing import running
from springtide.cli.jobs.changing.run_environments import Facts, Kind, choice
from springtide.cli.jobs.changing.running import Asked, job_of, missing_program

ACTIVE, BESIDE, CONDA, OWN = "/active", "/work/.venv", "/conda/env", "/tide"


def facts(
    *environments: str, active: str = "", conda: str = "", base: bool = False, requirements: bool = False
) -> Facts:
    variables = {"VIRTUAL_ENV": active, "CONDA_PREFIX": conda, "CONDA_DEFAULT_ENV": "base" if base else "env"}
    return Facts("/work", variables, environments, requirements, OWN)


@pytest.mark.parametrize(
    ("given", "kind", "path"),
    [
        (facts(ACTIVE, BESIDE, active=ACTIVE), Kind.EXISTING, ACTIVE),
        (facts(BESIDE, active=ACTIVE), Kind.EXISTING, BESIDE),
        (facts(OWN, BESIDE, active=OWN), Kind.OWN, OWN),
        (facts(BESIDE, CONDA, conda=CONDA), Kind.EXISTING, BESIDE),
        (facts("/work/venv"), Kind.EXISTING, "/work/venv"),
        (facts(CONDA, conda=CONDA), Kind.EXISTING, CONDA),
        (facts(CONDA, conda=CONDA, base=True), Kind.OWN, OWN),
        (facts(CONDA, conda=CONDA, base=True, requirements=True), Kind.REQUIREMENTS, "/work/requirements.txt"),
        (facts(BESIDE, requirements=True), Kind.EXISTING, BESIDE),
        (facts(), Kind.OWN, OWN),
    ],
)
def test_what_is_active_comes_before_what_is_in_the_directory(given: Facts, kind: Kind, path: str) -> None:
    assert choice(given)[:2] == (kind, path)


@pytest.mark.parametrize(
    ("command", "missing"),
    [
        (("python", "train.py"), ""),
        (("python", "trian.py"), "trian.py"),
        (("/usr/bin/python3.12", "trian.py"), "trian.py"),
        (("python", "-m", "train"), ""),
        (("python",), ""),
        (("./train.sh", "x"), ""),
    ],
)
def test_a_program_that_is_not_there_is_noticed_before_the_job_is_created(
    command: tuple[str, ...], missing: str, tmp_path: Path
) -> None:
    (tmp_path / "train.py").touch()
    assert missing_program(command, tmp_path) == missing


@pytest.mark.parametrize(
    ("asked", "local", "error"),
    [
        (Asked(("python", "train.py")), False, "error: This cluster is not on this machine"),
        (Asked(("python", "train.py"), name="Bert"), True, "error: Bert cannot be the name of a job."),
        (Asked(("python", "trian.py")), True, "error: There is no trian.py in "),
        (Asked(("sh",), image="x", min=3), True, "error: --workers does not fit: 3 ≤ 2 ≤ 4 does not hold."),
    ],
)
def test_options_that_cannot_work_are_refused(asked: Asked, local: bool, error: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").touch()
    with pytest.raises(Failure) as failure:
        job_of(asked, "default", tmp_path, local=local)
    assert failure.value.lines()[0].startswith(error)
    assert failure.value.exit_code == 2


def test_the_largest_size_is_four_or_that_to_begin_with(tmp_path: Path) -> None:
    assert running.job_of(Asked(("sh",), image="x"), "default", tmp_path, local=True)[0].max == 4
    assert running.job_of(Asked(("sh",), image="x", workers=6), "default", tmp_path, local=True)[0].max == 6


def test_on_another_cluster_no_directory_is_mounted(tmp_path: Path) -> None:
    job, _ = running.job_of(Asked(("sh",), image="x"), "default", tmp_path, local=False)
    assert (job.directory, job.reaches_by_api) == ("", False)
