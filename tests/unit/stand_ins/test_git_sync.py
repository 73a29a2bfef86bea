# SPDX-License-Identifier: Apache-2.0
"""git-sync's stand-in fetches with this machine's git, and understands git-sync's variables."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = [sys.executable, "-P", "-m", "springtide.stand_ins.git_sync"]


def git(directory: Path, *arguments: str) -> str:
    who = {f"GIT_{part}_{field}": "me@example.com" for part in ("AUTHOR", "COMMITTER") for field in ("NAME", "EMAIL")}
    environment = {**os.environ, **who, "GIT_CONFIG_GLOBAL": os.devnull}
    command = ["git", "-c", "init.defaultBranch=main", *arguments]
    done = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """With two branches, and two commits on the first one."""
    work = tmp_path / "work"
    work.mkdir()
    git(work, "init", "-q")
    for content in ("first", "second"):
        (work / "train.py").write_text(content)
        git(work, "add", "train.py")
        git(work, "commit", "-qm", content)
    git(work, "checkout", "-qb", "dev")
    (work / "train.py").write_text("of dev")
    git(work, "commit", "-qam", "of dev")
    git(work, "checkout", "-q", "main")
    git(tmp_path, "clone", "-q", "--bare", "work", "code.git")
    return tmp_path / "code.git"


def fetched(repository: Path, root: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    asked = {"REPO": str(repository), "ROOT": str(root), "DEST": "code", "ONE_TIME": "true", **variables}
    environment = {**os.environ, **{f"GIT_SYNC_{name}": value for name, value in asked.items()}}
    return subprocess.run(PROGRAM, env=environment, capture_output=True, text=True, timeout=50, check=False)


@pytest.mark.parametrize(
    ("variables", "content"),
    [
        ({}, "second"),
        ({"BRANCH": "dev"}, "of dev"),
        ({"REV": "HEAD~1"}, "first"),
        ({"BRANCH": "dev", "DEPTH": "1"}, "of dev"),
        ({"SUBMODULES": "off"}, "second"),
    ],
)
def test_it_fetches_what_the_variables_say(
    repository: Path, tmp_path: Path, variables: dict[str, str], content: str
) -> None:
    done = fetched(repository, tmp_path / "root", **variables)
    assert done.returncode == 0, done
    assert done.stdout.startswith("git-sync: a stand-in that comes with Springtide, for git-sync 3.")
    assert (tmp_path / "root" / "code" / "train.py").read_text() == content


def test_an_attempt_that_was_killed_and_one_that_was_complete_are_replaced(repository: Path, tmp_path: Path) -> None:
    for name in (".code.new", "code"):
        (tmp_path / "root" / name).mkdir(parents=True)
        (tmp_path / "root" / name / "half").write_text("")
    assert fetched(repository, tmp_path / "root").returncode == 0
    assert sorted(os.listdir(tmp_path / "root")) == ["code"]
    assert sorted(os.listdir(tmp_path / "root" / "code")) == [".git", "train.py"]


def test_what_git_says_about_a_failure_is_in_the_log(tmp_path: Path) -> None:
    done = fetched(tmp_path / "nowhere", tmp_path / "root")
    assert done.returncode == 1
    assert "nowhere' does not exist" in done.stderr
    assert done.stderr.endswith("git-sync: git clone failed with code 128\n")


def test_no_password_is_printed(tmp_path: Path) -> None:
    address = "https://me:secret@localhost:1/code.git"
    done = fetched(Path("unused"), tmp_path, REPO=address, USERNAME="me", PASSWORD="hidden")
    assert done.returncode == 1
    assert "https://localhost:1/code.git" in done.stdout
    assert "secret" not in done.stdout + done.stderr
    assert "hidden" not in done.stdout + done.stderr


def test_without_a_repository_or_git_it_says_what_to_do(tmp_path: Path) -> None:
    assert "GIT_SYNC_REPO is not set" in fetched(Path(), tmp_path, REPO="").stderr
    environment = {"GIT_SYNC_REPO": "/srv/code", "PATH": str(tmp_path)}
    done = subprocess.run(PROGRAM, env=environment, capture_output=True, text=True, timeout=50, check=False)
    assert "apt-get install git" in done.stderr
