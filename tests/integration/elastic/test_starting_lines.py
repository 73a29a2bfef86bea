# SPDX-License-Identifier: Apache-2.0
"""What starts agents on other hosts, read by a shell."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from springtide.elastic.launcher.agent_commands import AgentCommands, Call

CALL = Call(("10.0.0.1",), 4242, (3, 4), ("abc", "def"))
AGENT = "-P -m springtide.elastic.agent --connect 10.0.0.1:4242 --workers 3,4"


@pytest.mark.parametrize("kubexec", [True, False])
def test_a_shell_understands_it(tmp_path: Path, kubexec: bool) -> None:
    tool = tmp_path / "python7"
    tool.write_text('#!/bin/sh\necho "$PATH|$PYTHONPATH|$*"\n')
    tool.chmod(0o755)
    run = AgentCommands(kubexec, None, None, "/nonexistent", "python7", {"PATH": str(tmp_path), "PYTHONPATH": "/it's"})
    line = run.elsewhere("a", CALL)[-1]
    shell = subprocess.run(
        ["/bin/sh", "-c", line], env={"PATH": os.defpath}, capture_output=True, text=True, check=True
    )
    order = f"{os.defpath}:{tmp_path}" if kubexec else f"{tmp_path}:{os.defpath}"
    tokens = " --announce-tokens" if kubexec else ""
    assert shell.stdout == f"{order}|/it's|{AGENT}{tokens}\n"
