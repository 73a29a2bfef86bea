# SPDX-License-Identifier: Apache-2.0
"""Creating an environment: a virtual environment in a directory of its own, then the card that refers to it.

A Python environment contains its own path, so it is created at its final place; only the card is renamed into place. A
killed process leaves a directory without a card, which the next one removes. Replacing an environment creates a new
directory: pods that run in the old one are not affected.
"""

from __future__ import annotations

import os
import re
import secrets
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from springtide.local.environments import bundle, empty_libraries
from springtide.local.environments.environment import OWN, Environment, Files, own
from springtide.local.environments.presets import Preset
from springtide.local.environments.shelf import NAME, BusyError, Environments, LinkError
from springtide.local.environments.tools import (
    WHEELS_ONLY,
    WITHOUT_DEPENDENCIES,
    MakingError,
    Probed,
    Tools,
    being_made,
)
from springtide.messages import text

_LONGEST_PATTERN = 512
"""Characters; names of images are shorter, and long patterns are slow to match."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """What the user asked for."""

    name: str
    requirements: tuple[str, ...] = ()
    requirement_files: tuple[Path, ...] = ()
    python: str = ""
    images: tuple[str, ...] = ()
    files: tuple[Files, ...] = ()
    workdir: str = ""
    entrypoint: tuple[str, ...] = ()
    cmd: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    preset: Preset | None = None

    @classmethod
    def of(cls, preset: Preset, name: str = "") -> Recipe:
        """The recipe of a preset, under its own name or another."""
        return cls(
            name or preset.name,
            preset.requirements,
            images=preset.images,
            workdir=preset.workdir,
            entrypoint=preset.entrypoint,
            cmd=preset.cmd,
            env=preset.variables,
            preset=preset,
        )

    @property
    def is_preset_alone(self) -> bool:
        """Whether only a preset's requirements are installed; these are all available as wheels."""
        own = self.preset.requirements if self.preset else None
        return own == self.requirements and not self.requirement_files

    @property
    def needs_python(self) -> bool:
        """Without anything to install, the Python of the environment that runs `tide` is used, with other files."""
        return bool(self.requirements or self.requirement_files or self.python)


def make(shelf: Environments, recipe: Recipe, *, replace: bool = False, tools: Tools | None = None) -> Environment:
    """Create the environment of a recipe, and publish it when it is complete."""
    _check(recipe)
    try:
        with shelf.lock(recipe.name):
            if shelf.find(recipe.name) and not replace:
                said = text(
                    "there is an environment {name!r} already\nMake it anew: {making}\nSee it: {showing}",
                    name=recipe.name,
                    making=f"tide env create {recipe.name} --replace ...",
                    showing=f"tide env show {recipe.name}",
                )
                raise MakingError(said)
            shelf.sweep(recipe.name)
            environment = _made(shelf, recipe, tools)
            shelf.put(environment)
            shelf.sweep(recipe.name)
            return environment
    except LinkError as error:
        raise MakingError(error.what) from None
    except BusyError:
        raise MakingError(being_made(recipe.name)) from None


def _check(recipe: Recipe) -> None:
    if not NAME.fullmatch(recipe.name) or recipe.name == OWN:
        said = text(
            "{name} cannot be a name\nUse small letters, digits, dots and dashes, 63 at most, and not {own!r}.",
            name=_short(recipe.name),
            own=OWN,
        )
        raise MakingError(said)
    for pattern in recipe.images:
        if len(pattern) > _LONGEST_PATTERN or not pattern.isprintable() or " " in pattern:
            said = text(
                "{pattern} cannot be a pattern of images\nUse at most {most} printable characters without spaces.",
                pattern=_short(pattern),
                most=_LONGEST_PATTERN,
            )
            raise MakingError(said)
    for path in (*(files.target for files in recipe.files), *filter(None, [recipe.workdir])):
        if not path.startswith("/") or ".." in path.split("/") or os.path.normpath(path) == "/":
            raise MakingError(text("{path!r} must be an absolute path inside the pod, and not / itself", path=path))
    for source in (files.source for files in recipe.files):
        if not Path(source).is_dir():
            raise MakingError(text("{path} is not a directory", path=source))
    for file in recipe.requirement_files:
        if not file.is_file():
            raise MakingError(text("{path} is not there", path=file))


def _short(given: str) -> str:
    return repr(given if len(given) <= _LONGEST_PATTERN else f"{given[:_LONGEST_PATTERN]}…")


def _made(shelf: Environments, recipe: Recipe, tools: Tools | None) -> Environment:
    base = _fresh(shelf.root / recipe.name, recipe, tools or Tools.found()) if recipe.needs_python else own()
    files = tuple(str(file) for file in recipe.requirement_files)
    return Environment(
        recipe.name,
        base.prefix,
        recipe.images,
        (*base.files, *recipe.files),
        recipe.workdir,
        base.paths,
        base.python,
        (*recipe.requirements, *(f"-r {file}" for file in files)),
        recipe.entrypoint,
        recipe.cmd,
        dict(recipe.env),
        recipe.preset.name if recipe.preset else "",
        datetime.now(UTC).isoformat(timespec="milliseconds"),
    )


def _fresh(place: Path, recipe: Recipe, tools: Tools) -> Environment:
    directory = place / f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
    complete = False
    try:
        tools.virtual_environment(directory, recipe.python)
        if recipe.preset is not None:
            _check_python(tools.probe(directory).version, recipe.preset)
        wanted = [*recipe.requirements]
        for file in recipe.requirement_files:
            wanted += ["--requirement", str(file)]
        if wanted:
            tools.install(directory, [*wanted, *([WHEELS_ONLY] if recipe.is_preset_alone else [])])
        found = tools.probe(directory)
        if recipe.preset is not None:
            _add_alone(directory, found, recipe.preset, tools)
        files = _add_own(directory, found, recipe, tools)
        complete = True
        return Environment(recipe.name, str(directory), files=files, paths=found.paths, python=found.version)
    finally:
        if not complete:
            shutil.rmtree(directory, ignore_errors=True)


def _check_python(version: str, preset: Preset) -> None:
    if not bundle.runs_on(version):
        said = text("preset {name!r} needs Python 3.11 or newer, not {version}", name=preset.name, version=version)
        raise MakingError(said)
    newest = preset.newest_python
    if newest and bundle.version(version) > bundle.version(newest):
        said = text(
            "preset {name!r} needs Python {newest} or older, not {version}: for newer ones "
            "some of its packages have no wheels\nChoose another that this machine has: {option}",
            name=preset.name,
            newest=newest,
            version=version,
            option=f"--python {newest}",
        )
        raise MakingError(said)


def _add_alone(directory: Path, found: Probed, preset: Preset, tools: Tools) -> None:
    """Install what a preset wants without the packages that it requires. What is installed already stays: `--pip
    torch` installs PyTorch with its libraries for GPUs."""
    missing = [each for each in preset.alone if not bundle.has(found.packages, re.split("[^A-Za-z0-9_-]", each)[0])]
    if missing:
        tools.install(directory, [*missing, WHEELS_ONLY, WITHOUT_DEPENDENCIES])
    linked = [found.packages / library for library in preset.linked]
    if lacking := empty_libraries.supply(linked):
        packages = [word for each in missing for word in ("--pip", each)]
        whole = shlex.join(["tide", "env", "create", "--preset", preset.name, *packages])
        said = text(
            "{library} of preset {name!r} does not load here, it lacks {lacking}\n"
            "Install all that it requires, which is much more to fetch: {command}",
            library=linked[0].name,
            name=preset.name,
            lacking=", ".join(lacking),
            command=whole,
        )
        raise MakingError(said)


def _add_own(directory: Path, found: Probed, recipe: Recipe, tools: Tools) -> tuple[Files, ...]:
    """Install the parts of Springtide; returns the files to mount into containers."""
    if bundle.runs_on(found.version):
        names = recipe.preset is not None and recipe.preset.horovod
        if added := bundle.install(directory, found.packages, horovod=names):
            tools.compile(directory, added)
    shown = bundle.write_programs(directory / "files", recipe.preset.programs if recipe.preset else {})
    return tuple(Files(str(source), target, copied=True) for target, source in shown.items())
