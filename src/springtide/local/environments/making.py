# SPDX-License-Identifier: Apache-2.0
"""Make an environment: a virtual environment in a directory of its own, then the card that names it.

A Python environment knows its own path, so it is made where it will stay; what is renamed into place is the card. A
maker that is killed leaves a directory that nothing names, and the next one sweeps it away. Making one anew puts it
into a fresh directory: pods that run in the old one do not notice.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from springtide.local.environments.environment import OWN, Environment, Files, outermost, own
from springtide.local.environments.shelf import BusyError, Environments

_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?")
_PROBE = """
import json, os, platform, sys
home = os.path.dirname(os.path.dirname(os.path.realpath(sys.executable)))
print(json.dumps([platform.python_version(), [sys.prefix, sys.base_prefix, home, *sys.path]]))
"""
Run = Callable[[Sequence[str]], int]
Probe = Callable[[Path], tuple[str, tuple[str, ...]]]
"""Which Python is in a directory, and every directory it reads from."""


class MakingError(Exception):
    """The environment could not be made; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """What somebody asked for."""

    name: str
    requirements: tuple[str, ...] = ()
    requirement_files: tuple[Path, ...] = ()
    python: str = ""
    images: tuple[str, ...] = ()
    files: tuple[Files, ...] = ()
    workdir: str = ""

    @property
    def needs_python(self) -> bool:
        """Without anything to install, an environment is the one that runs `tide` with other files."""
        return bool(self.requirements or self.requirement_files or self.python)


def _run(command: Sequence[str]) -> int:
    """In the foreground, so that the user sees what is being fetched; all of it to stderr, for it is no data."""
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=2, check=False).returncode


def _probed(directory: Path) -> tuple[str, tuple[str, ...]]:
    command = [str(directory / "bin" / "python"), "-I", "-c", _PROBE]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        raise MakingError(f"the Python in {directory} does not start: {answer.stderr.strip()}")
    version, paths = json.loads(answer.stdout)
    return version, outermost(paths)


@dataclass(frozen=True, slots=True)
class Tools:
    """How virtual environments are made on this machine."""

    uv: str
    """The path of a uv that works, or empty."""
    run: Run = _run
    probe: Probe = _probed

    @classmethod
    def found(cls) -> Tools:
        uv = shutil.which("uv") or ""
        # A version manager may have left a `uv` that only complains.
        works = uv and subprocess.run([uv, "--version"], capture_output=True, check=False).returncode == 0
        return cls(uv if works else "")

    def virtual_environment(self, directory: Path, python: str) -> None:
        interpreter = _interpreter(python, bool(self.uv))
        if self.uv:
            self._must([self.uv, "venv", "--quiet", "--python", interpreter, str(directory)], f"make {directory}")
        else:
            self._must([interpreter, "-m", "venv", str(directory)], f"make {directory}")

    def install(self, directory: Path, what: Sequence[str]) -> None:
        python = str(directory / "bin" / "python")
        if self.uv:
            command = [self.uv, "pip", "install", "--python", python, *what]
        else:
            command = [python, "-m", "pip", "install", "--disable-pip-version-check", *what]
        self._must(command, "install " + " ".join(what))

    def _must(self, command: Sequence[str], purpose: str) -> None:
        status = self.run(command)
        if status != 0:
            raise MakingError(f"cannot {purpose}: {Path(command[0]).name} ended with status {status}, see above")


def make(shelf: Environments, recipe: Recipe, *, replace: bool = False, tools: Tools | None = None) -> Environment:
    """Make what the recipe says, and put it on the shelf when it is complete."""
    _check(recipe)
    try:
        with shelf.lock(recipe.name):
            if shelf.find(recipe.name) and not replace:
                raise MakingError(
                    f"there is an environment {recipe.name!r} already\n"
                    f"Make it anew: tide env create {recipe.name} --replace ...\n"
                    f"See it: tide env show {recipe.name}"
                )
            shelf.sweep(recipe.name)
            environment = _made(shelf, recipe, tools)
            shelf.put(environment)
            shelf.sweep(recipe.name)
            return environment
    except BusyError:
        raise MakingError(f"another tide is making {recipe.name!r} right now\nTry again when it is done.") from None


def _check(recipe: Recipe) -> None:
    if not _NAME.fullmatch(recipe.name) or recipe.name == OWN:
        raise MakingError(
            f"{recipe.name!r} cannot be a name\n"
            f"Use small letters, digits, dots and dashes, 63 at most, and not {OWN!r}."
        )
    for path in (*(files.target for files in recipe.files), *filter(None, [recipe.workdir])):
        if not path.startswith("/") or ".." in path.split("/") or os.path.normpath(path) == "/":
            raise MakingError(f"{path!r} must be an absolute path inside the pod, and not / itself")
    for source in (files.source for files in recipe.files):
        if not Path(source).is_dir():
            raise MakingError(f"{source} is not a directory")
    for file in recipe.requirement_files:
        if not file.is_file():
            raise MakingError(f"{file} is not there")


def _made(shelf: Environments, recipe: Recipe, tools: Tools | None) -> Environment:
    base = _fresh(shelf.root / recipe.name, recipe, tools or Tools.found()) if recipe.needs_python else own()
    files = tuple(str(file) for file in recipe.requirement_files)
    return Environment(
        recipe.name,
        base.prefix,
        recipe.images,
        recipe.files,
        recipe.workdir,
        base.paths,
        base.python,
        (*recipe.requirements, *(f"-r {file}" for file in files)),
    )


def _fresh(place: Path, recipe: Recipe, tools: Tools) -> Environment:
    directory = place / f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
    complete = False
    try:
        tools.virtual_environment(directory, recipe.python)
        wanted = [*recipe.requirements]
        for file in recipe.requirement_files:
            wanted += ["--requirement", str(file)]
        if wanted:
            tools.install(directory, wanted)
        python, paths = tools.probe(directory)
        complete = True
        return Environment(recipe.name, str(directory), paths=paths, python=python)
    finally:
        if not complete:
            shutil.rmtree(directory, ignore_errors=True)


def _interpreter(python: str, has_uv: bool) -> str:
    if not python:
        return os.path.realpath(sys.executable)
    if has_uv or "/" in python:
        return python  # uv finds `3.12` by itself, and says so when it cannot
    name = python if python.startswith("python") else f"python{python}"
    found = shutil.which(name)
    if found is None:
        raise MakingError(f"there is no {name} on this machine\nInstall it, or install uv, which finds and fetches it.")
    return found
