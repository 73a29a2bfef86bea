# SPDX-License-Identifier: Apache-2.0
"""The parts of Springtide installed into an environment with a Python of its own: copied, as no package index has them.

    springtide.elastic, tiderun         into every environment: a job's launcher and its ranks need them
    springtide.stand_ins                beside it: data and programs of the presets
    horovod, horovodrun                 where a preset asks for Horovod's names

An environment that has another Springtide or another Horovod, installed on request, keeps it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

import springtide

_SOURCE = Path(springtide.__path__[0])
_PARTS = ("elastic", "stand_ins")
_OLDEST = (3, 11)
_OF_THE_SYSTEM = ("etc", "home", "opt", "root", "srv", "usr", "var")
"""Directories that containers have anyway: a program's files are shown in a directory inside them."""
_HOROVOD = '''"""Horovod's names, served by Springtide: horovod.torch is springtide.elastic.horovod.torch."""

from springtide.elastic.horovod import alias as _alias

_alias.register()
__version__ = _alias.VERSION


def __getattr__(name):
    _alias.refuse(name)
'''
_COMMAND = """#!/bin/sh
'''exec' "{python}" "$0" "$@"
' '''
from springtide.elastic.tiderun import {function}

{function}()
"""


def install(directory: Path, packages: Path, *, horovod: bool) -> list[Path]:
    """Install into the environment in a directory, whose modules lie in `packages`; returns the directories of
    modules."""
    added = []
    if not has(packages, "springtide"):
        target = packages / "springtide"
        target.mkdir(parents=True)
        for file in ("__init__.py", "py.typed"):
            shutil.copyfile(_SOURCE / file, target / file)
        for part in _PARTS:
            shutil.copytree(_SOURCE / part, target / part, ignore=shutil.ignore_patterns("__pycache__"))
        command = _write_command(directory, "tiderun", "main")
        _describe(packages, "springtide", springtide.__version__, [target, command])
        added.append(target)
    if horovod and not has(packages, "horovod"):
        target = packages / "horovod"
        target.mkdir()
        (target / "__init__.py").write_text(_HOROVOD)
        command = _write_command(directory, "horovodrun", "horovodrun")
        version = f"{springtide.HOROVOD_VERSION}+springtide.{springtide.__version__}"
        _describe(packages, "horovod", version, [target, command])
        added.append(target)
    return added


def runs_on(python: str) -> bool:
    """Whether an interpreter of this version can run Springtide."""
    return version(python) >= _OLDEST


def version(python: str) -> tuple[int, ...]:
    """Major and minor version of an interpreter."""
    return tuple(int(part) for part in python.split(".")[:2])


def write_programs(directory: Path, programs: Mapping[str, str]) -> dict[str, Path]:
    """Copy stand-ins below a directory, each under its path in containers. Returns the topmost directories of
    containers that are theirs alone, with their counterparts."""
    shown = {}
    for path, module in programs.items():
        place = directory / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(_SOURCE / "stand_ins" / f"{module}.py", place)
        _, top, *rest = path.split("/")
        own = f"{top}/{rest[0]}" if top in _OF_THE_SYSTEM else top
        shown[f"/{own}"] = directory / own
    return shown


def has(packages: Path, name: str) -> bool:
    """Whether a package is installed there, or a module of its name lies there."""
    plain = name.replace("-", "_")
    return (packages / plain).exists() or any(packages.glob(f"{plain}-*.dist-info"))


def _write_command(directory: Path, name: str, function: str) -> Path:
    """Started through a shell: the path of an interpreter may be too long for a `#!` line, or hold spaces."""
    path = directory / "bin" / name
    path.write_text(_COMMAND.format(python=directory / "bin" / "python", function=function))
    path.chmod(0o755)
    return path


def _describe(packages: Path, name: str, version: str, installed: Iterable[Path]) -> None:
    """Write metadata as installers do, so that `pip list` and `tide env show` list it, and `pip uninstall` removes
    it."""
    folder = packages / f"{name}-{version}.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (folder / "INSTALLER").write_text("tide\n")
    (folder / "RECORD").touch()
    found = [file for each in (*installed, folder) for file in (each.rglob("*") if each.is_dir() else [each])]
    lines = sorted(f"{os.path.relpath(file, packages)},,\n" for file in found if file.is_file())
    (folder / "RECORD").write_text("".join(lines))
