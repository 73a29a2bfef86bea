# SPDX-License-Identifier: Apache-2.0
"""Our `arena` beside Arena's own program, without a cluster: the flags of commands, and what is said of wrong ones."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest
from tests import arena

COMMANDS: Final = (
    *(f"submit {kind}" for kind in ("etjob", "mpijob", "tfjob", "pytorchjob", "deepspeedjob")),
    *("scaleout etjob", "scalein etjob", "list", "get", "logs", "delete", "top job", "top node", "attach", "prune"),
    *("data list", "whoami", "version"),
)
WRONG: Final = (
    "nope",
    "listt",
    "submit etjob",
    "submit etjob cmd",
    "submit etjob --nope",
    "submit etjob -q cmd",
    "submit etjob -q=1 cmd",
    "submit etjob --name",
    "submit etjob -e",
    "submit etjob --=x",
    "submit etjob ---x",
    "submit etjob --name=a --workers=x cmd",
    "submit etjob --name=a --workers= cmd",
    "submit etjob --name=a --workers=1.5 cmd",
    "submit etjob --name=a --workers=99999999999999999999 cmd",
    "submit etjob --name=a --gang=maybe cmd",
    'submit etjob --name=a --workers="é" cmd',
    "scaleout etjob",
    "scaleout etjob --name=x --timeout=10",
    "scaleout etjob --name=x --timeout=10y",
    "scaleout etjob --name=x --timeout=",
    "scaleout etjob --name=x -t soon",
    "list -o",
    "list --all-namespaces=x",
    "list -Ax",
    "-x list",
    "--version",
    "--loglevel=foo list",
    "logs --tail=many a",
)
DEPRECATED: Final = (
    "submit etjob --name=a --image=i --workingDir=/x --syncMode=git --dataDir=/x cmd",
    "submit tfjob --name=a --workerImage=i --ChiefCpu=1 --psPort=3 --cleanTaskPolicy=All cmd",
    "list --allNamespaces",
)
_FLAG: Final = re.compile(r"^ {2}(?:-(\w), | {4})--([\w-]+)(?: (string|int|stringArray|duration))?(?: {2,}|$)")
_DEFAULT: Final = re.compile(r"\(default (.*)\)$")
_NO_DURATION: Final = "-1ns"
_MESSAGE: Final = re.compile(r'level=error msg="(.*)"$', re.MULTILINE)


@pytest.fixture(scope="module")
def built() -> Path:
    return arena.built()


def run(program: list[str], words: str, home: Path) -> subprocess.CompletedProcess[str]:
    split = [word.strip('"') for word in words.split()]
    environment = {"HOME": str(home), "XDG_DATA_HOME": str(home), "TZ": "UTC"}
    return subprocess.run([*program, *split], env=environment, capture_output=True, text=True, timeout=60, check=False)


def ours(words: str, home: Path) -> subprocess.CompletedProcess[str]:
    return run([sys.executable, "-m", "springtide.cli.arena"], words, home)


def theirs(built: Path, words: str, home: Path) -> subprocess.CompletedProcess[str]:
    return run([str(built / "arena")], words, home)


def flags(help_text: str) -> Mapping[str, tuple[str, str, str]]:
    """By name: short form, kind, default."""
    lines = help_text.split("\nGlobal Flags:\n")[0].splitlines()
    found = [(match, line) for line in lines if (match := _FLAG.match(line))]
    return {match[2]: (match[1] or "", match[3] or "", _default(line)) for match, line in found}


def _default(line: str) -> str:
    found = _DEFAULT.search(line)
    return found[1] if found and found[1] != _NO_DURATION else ""


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_has_arenas_flags(built: Path, tmp_path: Path, command: str) -> None:
    expected = flags(theirs(built, f"{command} --help", tmp_path).stdout)
    found = flags(ours(f"{command} --help", tmp_path).stdout)
    assert found == expected
    assert len(found) > 0


@pytest.mark.parametrize("words", WRONG)
def test_what_is_wrong_is_said_in_arenas_words(built: Path, tmp_path: Path, words: str) -> None:
    expected, found = theirs(built, words, tmp_path), ours(words, tmp_path)
    assert (found.returncode, found.stdout) == (expected.returncode, expected.stdout)
    assert _MESSAGE.findall(found.stderr) == _MESSAGE.findall(expected.stderr)


@pytest.mark.parametrize("words", DEPRECATED)
def test_old_spellings_work_and_are_said_to_be_old(built: Path, tmp_path: Path, words: str) -> None:
    expected, found = theirs(built, words, tmp_path), ours(words, tmp_path)
    notices = [line for line in expected.stderr.splitlines() if "deprecated" in line]
    assert [line for line in found.stderr.splitlines() if "deprecated" in line] == notices
    assert notices
    assert "failed to create arena client" in found.stderr
