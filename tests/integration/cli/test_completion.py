# SPDX-License-Identifier: Apache-2.0
"""TAB in a real bash, with the script that `tide completion bash` prints."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator

import pytest
from tests import terminal
from tests.integration.cli.conftest import Tide
from tests.terminal import Terminal


@pytest.fixture
def shell(tide: Tide) -> Iterator[Terminal]:
    with terminal.bash(tide.environment, tide.home) as shell:
        assert shell.run('eval "$(tide completion bash)"')[0] == 0
        yield shell


def offered(shell: Terminal, *words: str) -> list[str]:
    """What bash would choose from for the last word."""
    quoted = shlex.join(words)
    script = f"COMP_WORDS=({quoted}) COMP_CWORD={len(words) - 1} COMPREPLY=()"
    status, said = shell.run(f'({script}; _tide_completion tide; printf "offered %s\\n" "${{COMPREPLY[@]}}")')
    assert status == 0
    return [line.removeprefix("offered ").strip() for line in said.splitlines() if re.match("offered [a-z-]", line)]


def test_commands_options_and_choices(shell: Terminal) -> None:
    assert "complete -o nosort -F _tide_completion tide" in shell.run("complete -p tide")[1]
    for typed, completed in {
        "tide stat": "tide status ",
        "tide nod": "tide node ",
        "tide node uncor": "tide node uncordon ",
        "tide up --strict": "tide up --strict-resources ",
        "tide up --isolation n": "tide up --isolation none ",
        "tide example ": "tide example mpijob ",
        "tide env create --preset horovod-te": "tide env create --preset horovod-tensorflow ",
        "tide up --preset mpi,tensorflow-b": "tide up --preset mpi,tensorflow-benchmarks ",
        "tide completion f": "tide completion fish ",
    }.items():
        shell.complete(typed, completed)


def test_names_of_clusters_nodes_and_environments(tide: Tide, shell: Terminal) -> None:
    for name, port in (("first", 1), ("second", 2)):
        tide.place(name).path.mkdir(parents=True)
        tide.place(name).describe(name, port)
    (tide.home / "own-place").mkdir()
    shell.complete("tide status --name s", "tide status --name second ")
    shell.complete("tide down --data-dir own", "tide down --data-dir own-place/")
    assert offered(shell, "tide", "node", "drain", "--name", "first", "") == []  # it does not run

    tide.ok("env", "create", "vision", "--image", "vision:*")
    shell.complete("tide env show v", "tide env show vision ")

    tide.ok("up", "-d", "--port", "0", "--node", "large-a=cpu:1", "--node", "small-b=cpu:1")
    assert offered(shell, "tide", "node", "drain", "") == ["large-a", "small-b"]
    shell.complete("tide node drain s", "tide node drain small-b ")
    shell.complete("tide node cordon small-b ", "tide node cordon small-b large-a ")


@pytest.mark.parametrize(("shell", "program"), [("zsh", "zsh"), ("fish", "fish"), ("bash", "bash")])
def test_every_script_is_one_of_its_shell(tide: Tide, shell: str, program: str) -> None:
    script = tide.ok("completion", shell)
    assert f"_TIDE_COMPLETE={shell}_complete" in script
    if shutil.which(program):
        checked = subprocess.run([program, "-n"], input=script, capture_output=True, text=True, check=False)
        assert (checked.returncode, checked.stderr) == (0, "")


def test_the_shell_is_the_users_own_unless_he_says(tide: Tide) -> None:
    tide.environment["SHELL"] = "/usr/bin/zsh"
    assert tide.ok("completion") == tide.ok("completion", "zsh")
    tide.environment["SHELL"] = "/bin/tcsh"
    refused = tide.run("completion")
    assert (refused.returncode, "bash, zsh, fish" in refused.stderr) == (2, True)
