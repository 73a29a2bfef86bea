# SPDX-License-Identifier: Apache-2.0
"""Creating virtual environments: with uv where it is installed, else with the standard library and pip."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from springtide.local.environments.environment import outermost
from springtide.local.environments.pip_settings import uv_variables
from springtide.messages import Language, Text, shown, text

WHEELS_ONLY = "--only-binary=:all:"
"""For packages that must not be built on this machine."""
WITHOUT_DEPENDENCIES = "--no-deps"
"""For packages that are used without some of those that they require."""
_PROBE = """
import json, os, platform, sys, sysconfig
home = os.path.dirname(os.path.dirname(os.path.realpath(sys.executable)))
paths = [sys.prefix, sys.base_prefix, home, *sys.path]
print(json.dumps([platform.python_version(), paths, sysconfig.get_path("purelib")]))
"""
Run = Callable[[Sequence[str]], int]


class Probed(NamedTuple):
    """The Python in a directory."""

    version: str
    paths: tuple[str, ...]
    """Every directory it reads from."""
    packages: Path
    """The directory that packages are installed into."""


Probe = Callable[[Path], Probed]


class MakingError(Exception):
    """The environment could not be created; the message gives the reason and a remedy."""

    def __init__(self, what: Text) -> None:
        super().__init__(shown(what, Language.ENGLISH))
        self.what = what


def being_made(name: str) -> Text:
    return text("another tide is making {name!r} right now\nTry again when it is done.", name=name)


def _run(command: Sequence[str], more: Mapping[str, str] | None = None) -> int:
    """Run in the foreground, so that the user sees the progress; all output goes to stderr, as it is no data.

    `more` is added to the command's environment.
    """
    environ = {**os.environ, **(more or {})}
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=2, env=environ, check=False).returncode


def _probed(directory: Path) -> Probed:
    command = [str(directory / "bin" / "python"), "-I", "-c", _PROBE]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        why = answer.stderr.strip()
        raise MakingError(text("the Python in {path} does not start: {why}", path=directory, why=why))
    version, paths, packages = json.loads(answer.stdout)
    return Probed(version, outermost(paths), Path(packages))


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools of this machine."""

    uv: str
    """The path of a working uv, or empty."""
    run: Run = _run
    probe: Probe = _probed

    @classmethod
    def found(cls) -> Tools:
        uv = shutil.which("uv") or ""
        # A version manager may have left a `uv` that only prints an error.
        works = uv and subprocess.run([uv, "--version"], capture_output=True, check=False).returncode == 0
        return cls(uv, partial(_run, more=uv_variables(os.environ))) if works else cls("")

    def virtual_environment(self, directory: Path, python: str) -> None:
        interpreter = _interpreter(python, bool(self.uv))
        if self.uv:
            self._must(
                [self.uv, "venv", "--quiet", "--python", interpreter, str(directory)],
                text("make {path}", path=directory),
            )
        else:
            self._must([interpreter, "-m", "venv", str(directory)], text("make {path}", path=directory))

    def install(self, directory: Path, what: Sequence[str]) -> None:
        python = str(directory / "bin" / "python")
        if self.uv:
            # Compiled once, here: containers see the environment read-only, and each would compile it again.
            command = [self.uv, "pip", "install", "--compile-bytecode", "--python", python, *what]
        else:
            command = [python, "-m", "pip", "install", "--disable-pip-version-check", *what]
        packages = " ".join(word for word in what if word not in (WHEELS_ONLY, WITHOUT_DEPENDENCIES))
        self._must(command, text("install {packages}", packages=packages), self._without_network())

    def compile(self, directory: Path, modules: Sequence[Path]) -> None:
        names = [str(each) for each in modules]
        purpose = text("compile {files}", files=" ".join(names))
        self._must([str(directory / "bin" / "python"), "-m", "compileall", "-q", *names], purpose)

    def _must(self, command: Sequence[str], purpose: Text, advice: Text | None = None) -> None:
        status = self.run(command)
        if status != 0:
            why = text(
                "cannot {purpose}: {program} ended with status {status}, see above",
                purpose=purpose,
                program=Path(command[0]).name,
                status=status,
            )
            raise MakingError(text("{why}\n{advice}", why=why, advice=advice) if advice else why)

    def _without_network(self) -> Text:
        index, offline, links = (
            ("UV_DEFAULT_INDEX", "UV_OFFLINE", "UV_FIND_LINKS")
            if self.uv
            else ("PIP_INDEX_URL", "PIP_NO_INDEX", "PIP_FIND_LINKS")
        )
        return text(
            "Where the package index cannot be reached: connect this machine to it, or set "
            "{index} to a mirror, or {links} to a directory of wheels.",
            index=f"{index}=URL",
            links=f"{links}=DIR {offline}=1",
        )


def _interpreter(python: str, has_uv: bool) -> str:
    if not python:
        return os.path.realpath(sys.executable)
    if has_uv or "/" in python:
        return python  # uv finds `3.12` by itself, or reports that it cannot
    name = python if python.startswith("python") else f"python{python}"
    found = shutil.which(name)
    if found is None:
        said = text(
            "there is no {name} on this machine\nInstall it, or install uv, which finds and fetches it.", name=name
        )
        raise MakingError(said)
    return found
