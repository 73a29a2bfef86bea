# SPDX-License-Identifier: Apache-2.0
"""The environment of `tide run` on the embedded cluster: the one that is active, that of the directory, or a new one.

Each directory has an environment of its own, with an image of its own name. It uses an existing environment, or is made
from the directory's requirements.txt.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple

from springtide.cli import speaking
from springtide.cli.errors import ExitCode, Failure
from springtide.local.environments import adopting, making
from springtide.local.environments.making import Recipe
from springtide.local.environments.shelf import Environments, default_root
from springtide.local.environments.tools import MakingError
from springtide.manifests.kinds.directory_job import name_of
from springtide.messages import Text, text

_REQUIREMENTS: Final = "requirements.txt"
_USUAL: Final = (".venv", "venv")
_CONDA_BASE: Final = "base"
_HASH_LENGTH: Final = 6


class Kind(StrEnum):
    EXISTING = "existing"
    REQUIREMENTS = "requirements"
    OWN = "own"


class Choice(NamedTuple):
    kind: Kind
    path: str
    """Of the environment, or of the requirements file."""
    why: Text


@dataclass(frozen=True, slots=True)
class Facts:
    """What the choice depends on."""

    directory: str
    variables: Mapping[str, str]
    environments: tuple[str, ...]
    """Paths that are Python environments, of those that are asked about."""
    has_requirements: bool
    own: str
    """The environment that runs `tide`."""


def choice(facts: Facts) -> Choice:
    """What the user has activated comes first, then what is in the directory."""
    active, conda = facts.variables.get("VIRTUAL_ENV", ""), facts.variables.get("CONDA_PREFIX", "")
    beside = [f"{facts.directory}/{name}" for name in _USUAL]
    is_base = facts.variables.get("CONDA_DEFAULT_ENV") == _CONDA_BASE
    candidates = [
        (active, text("the active virtual environment {path}", path=active)),
        *((path, text("the virtual environment of this directory, {path}", path=path)) for path in beside),
        ("" if is_base else conda, text("the active conda environment {path}", path=conda)),
    ]
    for path, why in candidates:
        if path and path in facts.environments:
            return Choice(Kind.OWN if path == facts.own else Kind.EXISTING, path, why)
    if facts.has_requirements:
        path = f"{facts.directory}/{_REQUIREMENTS}"
        return Choice(Kind.REQUIREMENTS, path, text("an environment made from {path}", path=path))
    return Choice(Kind.OWN, facts.own, text("the environment that runs tide, {path}", path=facts.own))


def gathered(directory: Path, variables: Mapping[str, str]) -> Facts:
    asked = [variables.get("VIRTUAL_ENV", ""), variables.get("CONDA_PREFIX", "")]
    asked += [str(directory / name) for name in _USUAL]
    found = tuple(path for path in asked if path and adopting.is_environment(Path(path)))
    own = next((path for path in found if adopting.is_own(Path(path))), sys.prefix)
    return Facts(str(directory), variables, found, (directory / _REQUIREMENTS).is_file(), own)


class Prepared(NamedTuple):
    image: str
    """The image that stands for the environment."""
    description: Text


def prepare(directory: Path, named: str = "") -> Prepared:
    """The environment of jobs of this directory, or the one of this name. Failure if it cannot be made."""
    shelf, name = Environments(default_root()), _name(directory)
    image = f"tide-run/{name}:1"
    try:
        if named:
            return _shared(shelf, named, name, image)
        chosen = choice(gathered(directory, os.environ))
        match chosen.kind:
            case Kind.EXISTING:
                adopting.adopt(shelf, name, Path(chosen.path), image)
            case Kind.REQUIREMENTS:
                _install(shelf, name, Path(chosen.path), image)
            case Kind.OWN:
                adopting.share(shelf, shelf.fallback, name, image)
    except (MakingError, OSError) as error:
        said = speaking.shown(error.what) if isinstance(error, MakingError) else str(error)
        what, _, more = said.partition("\n")
        raise Failure(
            text("The environment of this directory cannot be made."),
            text("{why}", why=what),
            text("{why}", why=more) if more else text("choose another: {option}", option="--environment NAME"),
        ) from None
    return Prepared(image, chosen.why)


def _shared(shelf: Environments, named: str, name: str, image: str) -> Prepared:
    found = shelf.find(named)
    if found is None:
        names = ", ".join(each.name for each in shelf.all()) or "-"
        raise Failure(
            text("There is no environment {name}.", name=named),
            hint=text("there are: {names}; make one: {command}", names=names, command=f"tide env create {named} …"),
            code=ExitCode.NOT_FOUND,
        )
    adopting.share(shelf, found, name, image)
    return Prepared(image, text("environment {name}", name=named))


def _install(shelf: Environments, name: str, requirements: Path, image: str) -> None:
    """Made anew when the file is newer than the environment."""
    found = shelf.find(name)
    wanted = (f"-r {requirements}",)
    if found is not None and found.requirements == wanted and found.images == (image,):
        made = (Path(found.prefix) / "pyvenv.cfg").stat().st_mtime
        if made >= requirements.stat().st_mtime:
            return
    making.make(shelf, Recipe(name, requirement_files=(requirements,), images=(image,)), replace=True)


def _name(directory: Path) -> str:
    """Distinct for two directories of one name."""
    digest = hashlib.sha256(os.fsencode(directory)).hexdigest()[:_HASH_LENGTH]
    return f"run-{name_of(directory.name)}-{digest}"
