# SPDX-License-Identifier: Apache-2.0
"""What Horovod's names do, in runs that are not elastic: among three ranks, and in one process without a launcher."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.e2e_elastic.training import PATIENCE, quiet

pytestmark = pytest.mark.timeout(400)
PROGRAMS = Path(__file__).parent / "programs"
LAUNCHED = (sys.executable, "-m", "springtide.elastic.launcher", "-np", "3")


def output(*command: str) -> str:
    found = subprocess.run(
        command, env={"PATH": "/usr/bin:/bin", **quiet()}, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout


@pytest.mark.parametrize("launched", [(), LAUNCHED], ids=["one", "three"])
@pytest.mark.parametrize("framework", ["torch", "tensorflow"])
def test_names_do_what_they_did(framework: str, launched: tuple[str, ...], request: pytest.FixtureRequest) -> None:
    python: Path = request.getfixturevalue(f"{framework}_python")
    told = output(*launched, str(python), str(PROGRAMS / f"{framework}_names.py"))
    assert told.count("all is well") == (3 if launched else 1)
