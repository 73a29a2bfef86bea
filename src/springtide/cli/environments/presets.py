# SPDX-License-Identifier: Apache-2.0
"""Presets in `tide env create --preset`, `tide env presets` and `tide up --preset`."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

import click

from springtide.cli import speaking
from springtide.cli.places import program
from springtide.local.environments import code_fetchers, making, operators, presets
from springtide.local.environments.environment import Environment
from springtide.local.environments.making import Recipe
from springtide.local.environments.presets import Preset
from springtide.local.environments.shelf import Environments, default_root
from springtide.local.environments.tools import MakingError
from springtide.messages import Language, Text, text


def named(name: str) -> Preset:
    found = presets.table().get(name)
    if found is None:
        names = ", ".join(presets.table())
        raise failed(text("there is no preset {name!r}\nThere are: {names}", name=name, names=names))
    return found


def failed(what: Text) -> click.ClickException:
    return click.ClickException(speaking.shown(what))


def for_image(image: str) -> Preset:
    found = presets.for_image(image)
    if found is None and (operator := operators.for_image(image)) is not None:
        said = text(
            "image {image!r} needs no environment\nIt is an image of {name}, whose pods do nothing here: {facts}",
            image=image,
            name=operator.name,
            facts=operator.facts,
        )
        raise failed(said)
    if found is None and code_fetchers.for_image(image) is not None:
        said = text(
            "image {image!r} needs no environment\n"
            "A stand-in for it is built in: pods of this image fetch code with the git of this machine",
            image=image,
        )
        raise failed(said)
    if found is None:
        known = ", ".join(dict.fromkeys(pattern for each in presets.table().values() for pattern in each.images))
        said = text(
            "no preset stands in for image {image!r}; there are presets for {known}\n"
            "Make an environment of your own: {command}",
            image=image,
            known=known,
            command=f"{program()} env create NAME --pip PACKAGE --image {shlex.quote(image)}",
        )
        raise failed(said)
    return found


def make(shelf: Environments, recipe: Recipe, *, replace: bool = False) -> Environment:
    """Makes the environment, and announces its cost before any download."""
    if recipe.preset is not None and (replace or shelf.find(recipe.name) is None):
        for line in plan(recipe, recipe.preset):
            speaking.say(line)
    try:
        return making.make(shelf, recipe, replace=replace)
    except MakingError as error:
        raise failed(error.what) from None
    except OSError as error:
        path = error.filename or shelf.root
        raise failed(text("cannot write to {path}: {why}", path=path, why=error.strerror)) from None


def plan(recipe: Recipe, preset: Preset) -> list[Text]:
    """The environment to be made, and its cost."""
    more = [word for word in recipe.requirements if word not in preset.requirements]
    files = [f"-r {file}" for file in recipe.requirement_files]
    more += files
    packages = ", ".join([*recipe.requirements, *files, *preset.alone])
    takes = preset.cost
    if more:
        takes = text("{cost}, and what {more} takes", cost=takes, more=", ".join(more))
    lines = [
        text("Making environment {name!r}: {description}", name=recipe.name, description=described(preset)),
        text("  images:    {images}", images=", ".join(recipe.images)),
        text("  packages:  {packages}", packages=packages),
        text("  takes:     {cost}", cost=takes),
    ]
    if preset.programs:
        lines.append(text("  stand-ins: {programs}", programs=", ".join(preset.programs)))
    return lines


def described(preset: Preset) -> str:
    return preset.description_zh if speaking.language() is Language.CHINESE else preset.description


def ready(made: Environment) -> Text:
    return text(
        "Environment {name!r} is ready: Python {python} in {path}",
        name=made.name,
        python=made.python,
        path=made.prefix,
    )


def existing(environment: Environment) -> Text:
    """For a preset whose environment exists."""
    again = f"{program()} env create --preset {environment.preset} --replace"
    return text(
        "Environment {name!r} of this preset exists already; to make it anew: {command}",
        name=environment.name,
        command=again,
    )


def prepare(names: Iterable[str]) -> None:
    """Makes the missing environments of these presets."""
    chosen = [named(name) for name in names]
    shelf = Environments(default_root())
    for preset in chosen:
        found = shelf.find(preset.name)
        if found is None:
            made = make(shelf, Recipe.of(preset))
            speaking.say(ready(made))
        elif found.preset == preset.name:
            speaking.say(existing(found))
        else:
            said = text(
                "environment {name!r} was not made from the preset of that name\nMake it anew: {command}",
                name=preset.name,
                command=f"{program()} env create --preset {preset.name} --replace",
            )
            raise failed(said)
