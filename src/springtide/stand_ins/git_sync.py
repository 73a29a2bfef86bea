# SPDX-License-Identifier: Apache-2.0
"""Stands in for the image git-sync, version 3: this machine's git fetches a repository into a directory.

GIT_SYNC_REPO, GIT_SYNC_BRANCH, GIT_SYNC_REV     what; by default the repository's own branch, and its end
GIT_SYNC_DEPTH, GIT_SYNC_SUBMODULES              how much: all, with submodules, unless they say less
GIT_SYNC_ROOT, GIT_SYNC_DEST                     into which directory
GIT_SYNC_USERNAME, GIT_SYNC_PASSWORD             never in an argument, where other users would see them
GIT_SYNC_ONE_TIME, GIT_SYNC_WAIT                 once, or over and over
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

CREDENTIALS = '!f() { echo "username=$GIT_SYNC_USERNAME"; echo "password=$GIT_SYNC_PASSWORD"; }; f'
NO_GIT = (
    "git is not on this machine, and images are not pulled. "
    "Install it: apt-get install git, or the package of your system that has it"
)
INTRODUCTION = (
    "git-sync: a stand-in that comes with Springtide, for git-sync 3. It fetches {repository} into {target} with the "
    "git of this machine."
)


def main(variables: Mapping[str, str]) -> None:
    repository = _option(variables, "REPO", "")
    if not repository:
        sys.exit("git-sync: GIT_SYNC_REPO is not set, and says what to fetch")
    if shutil.which("git") is None:
        sys.exit(f"git-sync: {NO_GIT}")
    root = Path(_option(variables, "ROOT", str(Path.home() / "git")))
    name = repository.rstrip("/").rpartition("/")[2].removesuffix(".git")
    target = root / _option(variables, "DEST", name)
    print(INTRODUCTION.format(repository=_without_password(repository), target=target), flush=True)
    fetch(repository, target, variables)
    while not _is_true(_option(variables, "ONE_TIME", "")):
        time.sleep(float(_option(variables, "WAIT", "1")))
        refresh(target, variables)


def fetch(repository: str, target: Path, variables: Mapping[str, str]) -> None:
    """The target exists once it is complete: what an attempt left that was killed is replaced."""
    draft = target.with_name(f".{target.name}.new")
    shutil.rmtree(draft, ignore_errors=True)
    draft.parent.mkdir(parents=True, exist_ok=True)
    branch, depth = _option(variables, "BRANCH", ""), _option(variables, "DEPTH", "0")
    options = [f"--branch={branch}"] if branch else []
    options += [f"--depth={depth}"] if depth != "0" else []
    _git(variables, draft.parent, "clone", *options, "--", repository, str(draft))
    _settle(draft, _option(variables, "REV", "HEAD"), variables)
    shutil.rmtree(target, ignore_errors=True)
    draft.rename(target)


def refresh(target: Path, variables: Mapping[str, str]) -> None:
    _git(variables, target, "fetch", "--quiet")
    revision = _option(variables, "REV", "HEAD")
    _settle(target, "@{upstream}" if revision == "HEAD" else revision, variables)


def _settle(directory: Path, revision: str, variables: Mapping[str, str]) -> None:
    _git(variables, directory, "reset", "--hard", "--quiet", revision, "--")
    submodules = _option(variables, "SUBMODULES", "recursive")
    if submodules != "off":
        recursive = ["--recursive"] if submodules == "recursive" else []
        _git(variables, directory, "submodule", "--quiet", "update", "--init", *recursive)


def _git(variables: Mapping[str, str], directory: Path, *arguments: str) -> None:
    """Ends this program where git fails, which has said why."""
    helper = ["-c", f"credential.helper={CREDENTIALS}"] if _option(variables, "USERNAME", "") else []
    environment = {**variables, "GIT_TERMINAL_PROMPT": "0"}  # nobody is there to type a password
    done = subprocess.run(["git", *helper, *arguments], cwd=directory, env=environment, check=False)
    if done.returncode:
        sys.exit(f"git-sync: git {arguments[0]} failed with code {done.returncode}")


def _option(variables: Mapping[str, str], name: str, default: str) -> str:
    return variables.get(f"GIT_SYNC_{name}") or default


def _is_true(value: str) -> bool:
    return value.lower() in ("1", "t", "true")


def _without_password(repository: str) -> str:
    """An address may name an account, `https://me:secret@example.com/code`, and logs are read by others."""
    scheme, separator, rest = repository.partition("://")
    account, at, place = rest.partition("@")
    return f"{scheme}{separator}{place}" if separator and at and "/" not in account else repository


if __name__ == "__main__":
    main(os.environ)
