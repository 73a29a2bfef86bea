# SPDX-License-Identifier: Apache-2.0
"""What runs inside training processes needs nothing but Python, and reaches for nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import springtide

SOURCES = Path(springtide.__file__).parents[1]


def bare(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """In an interpreter that finds no installed package."""
    program = f"import sys; sys.path.append({str(SOURCES)!r}); {code}"
    return subprocess.run([sys.executable, "-I", "-S", "-c", program, *arguments], capture_output=True, text=True)


def test_launcher_agent_and_library_load_without_any_package() -> None:
    ended = bare("import springtide.elastic, springtide.elastic.launcher.command, springtide.elastic.agent")
    assert (ended.returncode, ended.stderr) == (0, "")


def test_the_command_line_works_without_any_package() -> None:
    ended = bare("from springtide.elastic.launcher import command; command.main()", "--version")
    assert (ended.returncode, ended.stdout) == (0, f"tiderun {springtide.__version__}\n")
