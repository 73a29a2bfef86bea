# SPDX-License-Identifier: Apache-2.0
"""The host list in each form there is; `sh` reads what is a script."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from springtide.jobs.parts import host_files


def sh(tmp_path: Path, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    path = tmp_path / "script.sh"
    path.write_text(script)
    return subprocess.run(["sh", str(path), *arguments], capture_output=True, text=True)


def test_a_host_file_has_a_line_for_every_host() -> None:
    assert host_files.hostfile(["a", "b"], 2, " slots=") == "a slots=2\nb slots=2\n"
    assert host_files.hostfile([], 2, ":") == ""


def test_hosts_are_discovered_with_their_slots(tmp_path: Path) -> None:
    assert sh(tmp_path, host_files.discover_hosts(["a", "b"], 4)).stdout == "a:4\nb:4\n"


def test_nothing_is_discovered_by_failing(tmp_path: Path) -> None:
    assert sh(tmp_path, host_files.discover_hosts([], 4)).returncode == 1


@pytest.mark.parametrize(
    ("given", "asked", "code"), [("uid", "uid", 0), ("uid", "other", 1), ("", "uid", 1), ("", "", 1)]
)
def test_a_host_list_is_for_one_launcher(tmp_path: Path, given: str, asked: str, code: int) -> None:
    assert sh(tmp_path, host_files.hosts_given(given), asked).returncode == code


def test_commands_run_in_the_container_that_is_named() -> None:
    assert " --container 'a b' -- " in host_files.kubexec("a b")
    assert "--container" not in host_files.kubexec("")
