# SPDX-License-Identifier: Apache-2.0
"""Presets in `tide env create --preset`, `tide env presets` and `tide up --preset`."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable

import click

from springtide.cli.places import program
from springtide.local.environments import code_fetchers, making, operators, presets
from springtide.local.environments.environment import Environment
from springtide.local.environments.making import Recipe
from springtide.local.environments.presets import Preset
from springtide.local.environments.shelf import Environments, default_root
from springtide.local.environments.tools import MakingError


def named(name: str) -> Preset:
    found = presets.table().get(name)
    if found is None:
        raise click.ClickException(f"there is no preset {name!r}\nThere are: {', '.join(presets.table())}")
    return found


def for_image(image: str) -> Preset:
    found = presets.for_image(image)
    if found is None and (operator := operators.for_image(image)) is not None:
        raise click.ClickException(
            f"image {image!r} needs no environment\n"
            f"It is an image of {operator.name}, whose pods do nothing here: {operator.facts}"
        )
    if found is None and code_fetchers.for_image(image) is not None:
        raise click.ClickException(
            f"image {image!r} needs no environment\n"
            "A stand-in for it is built in: pods of this image fetch code with the git of this machine"
        )
    if found is None:
        known = ", ".join(dict.fromkeys(pattern for each in presets.table().values() for pattern in each.images))
        raise click.ClickException(
            f"no preset stands in for image {image!r}; there are presets for {known}\n"
            f"Make an environment of your own: {program()} env create NAME --pip PACKAGE --image {shlex.quote(image)}"
        )
    return found


def make(shelf: Environments, recipe: Recipe, *, replace: bool = False) -> Environment:
    """Makes the environment, and announces its cost before any download."""
    if recipe.preset is not None and (replace or shelf.find(recipe.name) is None):
        for line in plan(recipe, recipe.preset):
            click.echo(line)
    try:
        return making.make(shelf, recipe, replace=replace)
    except MakingError as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        raise click.ClickException(f"cannot write to {error.filename or shelf.root}: {error.strerror}") from None


def plan(recipe: Recipe, preset: Preset) -> list[str]:
    """The environment to be made, and its cost."""
    more = [word for word in recipe.requirements if word not in preset.requirements]
    files = [f"-r {file}" for file in recipe.requirement_files]
    more += files
    beyond = f", and what {', '.join(more)} takes" if more else ""
    lines = [
        f"Making environment {recipe.name!r}: {described(preset)}",
        f"  images:    {', '.join(recipe.images)}",
        f"  packages:  {', '.join([*recipe.requirements, *files, *preset.alone])}",
        f"  takes:     {preset.cost}{beyond}",
    ]
    if preset.programs:
        lines.append(f"  stand-ins: {', '.join(preset.programs)}")
    return lines


def described(preset: Preset) -> str:
    language = next((os.environ[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if os.environ.get(name)), "")
    return preset.description_zh if language.startswith("zh") else preset.description


def existing(environment: Environment) -> str:
    """For a preset whose environment exists."""
    again = f"{program()} env create --preset {environment.preset} --replace"
    return f"Environment {environment.name!r} of this preset exists already; to make it anew: {again}"


def prepare(names: Iterable[str]) -> None:
    """Makes the missing environments of these presets."""
    chosen = [named(name) for name in names]
    shelf = Environments(default_root())
    for preset in chosen:
        found = shelf.find(preset.name)
        if found is None:
            made = make(shelf, Recipe.of(preset))
            click.echo(f"Environment {made.name!r} is ready: Python {made.python} in {made.prefix}")
        elif found.preset == preset.name:
            click.echo(existing(found))
        else:
            raise click.ClickException(
                f"environment {preset.name!r} was not made from the preset of that name\n"
                f"Make it anew: {program()} env create --preset {preset.name} --replace"
            )
