# SPDX-License-Identifier: Apache-2.0
"""What `tide up` suggests works word for word, typed into an interactive shell right then."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest
from tests import terminal
from tests.docs import pages

BIN = Path(sys.executable).parent


def suggested(said: str) -> list[str]:
    """Commands stand alone on indented lines."""
    return [line.strip() for line in said.replace("\r", "").splitlines() if line.startswith("  ")]


@pytest.mark.timeout(240)
@pytest.mark.skipif(not pages.TOOLS, reason="needs kubectl: make test-docs")
def test_every_command_that_tide_up_suggests_works(home: Path) -> None:
    environment = {"HOME": str(home), "PATH": f"{BIN}:{pages.TOOLS}:{os.environ['PATH']}"}
    with terminal.bash(environment, home) as shell:
        status, said = shell.run("tide up -d --port 0")
        assert status == 0, said
        commands = suggested(said)
        assert [line for line in commands if "mpijob" in line]
        for command in commands:
            endless = command.endswith(" -w")
            status, said = shell.run(command, until=r"Running +2/2" if endless else "", timeout=120)
            assert endless or status == 0, said  # Ctrl-C is no success
        assert "of 200, loss " in said
        assert ", 3 workers" in said
        assert "learned y = " in said
        for introduction in ("Or add it to your own kubeconfig", "Stop it with"):
            (command,) = re.findall(f"{introduction}: (.*)", shell.shown.replace("\r", ""))
            status, said = shell.run(command)
            assert status == 0, said


@pytest.mark.timeout(120)
def test_a_tide_that_is_not_on_the_path_is_suggested_by_its_path(home: Path) -> None:
    with terminal.bash({"HOME": str(home), "PATH": "/usr/bin:/bin"}, home) as shell:
        status, said = shell.run(f"{BIN}/tide up -d --port 0")
        assert status == 0, said
        (example,) = (line for line in suggested(said) if "example mpijob" in line)
        assert example.startswith(f"{BIN}/tide example")
        assert "kind: MPIJob" in shell.run(example.partition("|")[0])[1]
        (down,) = re.findall("Stop it with: (.*)", said.replace("\r", ""))
        assert shell.run(down)[0] == 0
