# SPDX-License-Identifier: Apache-2.0
"""`tide env`: environments, which replace images on the embedded cluster."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from springtide.cli import speaking
from springtide.cli.commands import CommandGroup
from springtide.cli.completion import choices
from springtide.cli.environments import pages, parsing
from springtide.cli.environments import presets as own_presets
from springtide.cli.places import program
from springtide.local.environments import presets
from springtide.local.environments.environment import OWN, Environment
from springtide.local.environments.making import Recipe
from springtide.local.environments.shelf import BusyError, Environments, LinkError, default_root
from springtide.messages import Text, text


@click.group(
    cls=CommandGroup, other_words={"remove": "delete", "rm": "delete", "ls": "list", "make": "create", "add": "create"}
)
def env() -> None:
    """Make, list and delete environments: what images stand for on the embedded cluster.

    Nothing is pulled there. A pod's image name finds an environment, and images that fit none run in the environment
    that runs tide.
    """


@env.command(cls=parsing.ManyPackages)
@click.argument("name", required=False, default="")
@click.argument("more", nargs=-1, metavar="")
@click.option(
    "--preset",
    metavar="PRESET",
    shell_complete=choices.presets,
    help="Begin with what a preset has; see `tide env presets`.",
)
@click.option("--for", "image", metavar="IMAGE", help="The same with the preset that stands in for an image.")
@click.option("--pip", "requirements", multiple=True, metavar="REQ...", help="Packages to install, as pip writes them.")
@click.option(
    "-r",
    "--requirement",
    "requirement_files",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Install what a requirements file lists.",
)
@click.option("--python", default="", metavar="VERSION", help="Such as 3.12.  [default: the one that runs tide]")
@click.option(
    "--image",
    "images",
    multiple=True,
    callback=parsing.patterns,
    metavar="PATTERN",
    help="Images it is for: 'horovod/horovod:*'.",
)
@click.option(
    "--files",
    multiple=True,
    callback=parsing.files,
    metavar="DIR:/PATH",
    help="Show a directory of this machine at a path in every pod of the environment.",
)
@click.option("--workdir", default="", metavar="/PATH", help="Where its containers start.  [default: /]")
@click.option(
    "--entrypoint",
    callback=parsing.words_of,
    metavar="COMMAND",
    help="What containers without `command` run, before their `args`: 'python train.py', or a JSON list.",
)
@click.option(
    "--cmd",
    callback=parsing.words_of,
    metavar="COMMAND",
    help="What follows the entrypoint in containers without `command` and `args`; written alike.",
)
@click.option(
    "--env", multiple=True, callback=parsing.variables, metavar="NAME=VALUE", help="A variable of its containers."
)
@click.option("--replace", "anew", is_flag=True, help="Make it anew; pods that run in the old one are not disturbed.")
def create(name: str, more: tuple[str, ...], preset: str | None, image: str | None, anew: bool, **wanted: Any) -> None:
    """Make the environment NAME, or one of a preset.

    \b
    tide env create --preset horovod
    tide env create --for horovod/horovod:0.20.0-tf2.3.0-torch1.6.0-mxnet1.5.0-py3.7-cpu
    tide env create torch --pip torch numpy --image 'pytorch/pytorch:*'
    tide env create mine -r requirements.txt --files ./src:/src --workdir /src --entrypoint 'python train.py'
    """
    image = image.rstrip(".") if image else image  # a full stop copied from the end of a sentence
    if more:
        raise _wrong(text("unexpected: {words}\nTo install packages: --pip {words}", words=" ".join(more)))
    _reject_placeholders(name, wanted)
    shelf = Environments(default_root())
    recipe = _recipe(name, preset, image, wanted)
    if not anew and not any(wanted.values()) and (there := _there(shelf, recipe, image)):
        speaking.say(there)
        return
    made = own_presets.make(shelf, recipe, replace=anew)
    speaking.say(own_presets.ready(made))
    speaking.say(_next(recipe, made))


def _reject_placeholders(name: str, wanted: dict[str, Any]) -> None:
    """Events name commands with words in capitals, for what only the user knows."""
    command = (*(wanted["entrypoint"] or ()), *(wanted["cmd"] or ()))
    given = {"PACKAGE": wanted["requirements"], "COMMAND": command, "NAME": (name,)}
    examples = {"PACKAGE": "--pip numpy", "COMMAND": "--cmd 'python train.py'", "NAME": f"{program()} env create train"}
    for word, values in given.items():
        if word in values:
            said = text(
                "{word} stands for what your program needs: write, for example, {example}",
                word=word,
                example=examples[word],
            )
            raise _wrong(said)


def _wrong(what: Text) -> click.UsageError:
    return click.UsageError(speaking.shown(what))


def _recipe(name: str, preset: str | None, image: str | None, wanted: dict[str, Any]) -> Recipe:
    """The requested options, on top of a preset's."""
    given = {field: value for field, value in wanted.items() if value}
    if preset is None and image is None:
        if not name:
            raise _wrong(text("name the environment, or choose a preset: --preset PRESET, --for IMAGE"))
        return Recipe(name, **given)
    if preset is not None and image is not None:
        raise _wrong(text("--preset and --for contradict each other: --for finds the preset of an image"))
    base = Recipe.of(own_presets.named(preset) if preset else own_presets.for_image(image or ""), name)
    for field in ("requirements", "images"):
        given[field] = (*getattr(base, field), *given.get(field, ()))
    return replace(base, **given | {"env": {**base.env, **given.get("env", {})}})


def _there(shelf: Environments, recipe: Recipe, image: str | None) -> Text | None:
    """The message if nothing is left to make: the image has its environment, or the preset's environment exists."""
    found = shelf.find(recipe.name)
    if image is not None and (used := shelf.made_for(image)) is not None:
        return text("Image {image} runs in environment {name!r} already", image=image, name=used.name)
    if recipe.preset is None or found is None or found.preset != recipe.preset.name:
        return None
    return own_presets.existing(found)


def _next(recipe: Recipe, made: Environment) -> Text:
    """The suggested next step."""
    if not made.images:
        command = f"{program()} env create {made.name} --replace --image PATTERN ..."
        return text("No image uses it yet; say which: {command}", command=command)
    if recipe.preset is not None:
        command = "kubectl create -f JOB.yaml"
        return text("Pods that wait for it start by themselves; next: {command}", command=command)
    if not recipe.needs_python:
        return text("It shares the packages of the environment that runs tide; --pip gives it its own.")
    return text("Next: create a pod or job with an image that fits {image}", image=made.images[0])


@env.command("presets")
def list_presets() -> None:
    """List the presets: environments for well-known images that can be made without a description."""
    made = {each.preset for each in Environments(default_root()).all()}
    for preset in presets.table().values():
        said = text(
            "{name}  ({state})\n  {description}\n  images: {images}",
            name=preset.name,
            state=text("made") if preset.name in made else preset.cost,
            description=own_presets.described(preset),
            images=pages.joined(preset.images),
        )
        speaking.say(said)
    said = text(
        "\nMake one: {by_name}, or for an image: {by_image}",
        by_name=f"{program()} env create --preset NAME",
        by_image=f"{program()} env create --for IMAGE",
    )
    speaking.say(said)


@env.command("list")
def list_() -> None:
    """List environments and the images they are for."""
    shelf = Environments(default_root())
    speaking.page(pages.table(shelf.all(), shelf.fallback))
    made = {each.preset for each in shelf.all()}
    if left := [name for name in presets.table() if name not in made]:
        command = f"{program()} env presets"
        speaking.say(
            text("\nPresets that can be made: {names}; see them: {command}", names=", ".join(left), command=command)
        )


@env.command()
@click.argument("name", shell_complete=choices.environments)
def show(name: str) -> None:
    """Show one environment: where it is, what is in it, and which images it is for."""
    shelf = Environments(default_root())
    found = shelf.fallback if name == OWN else shelf.find(name)
    if found is None:
        raise _unknown(name, shelf)
    speaking.page(pages.facts(found, own=name == OWN))


@env.command()
@click.argument("name", shell_complete=choices.environments)
def delete(name: str) -> None:
    """Delete the environment NAME; its images run in the next one that fits, or in tide's own."""
    shelf = Environments(default_root())
    if shelf.find(name) is None:
        raise _unknown(name, shelf)
    try:
        left = shelf.remove(name)
    except LinkError as error:
        raise own_presets.failed(error.what) from None
    except BusyError:
        raise own_presets.failed(text("another tide is making {name!r} right now", name=name)) from None
    speaking.say(text("Deleted environment {name!r}.", name=name))
    if left:
        speaking.say(
            text("Pods still run in it; its files go when the next environment of that name is made or deleted.")
        )


def _unknown(name: str, shelf: Environments) -> click.ClickException:
    names = ", ".join([each.name for each in shelf.all()] + [OWN])
    return own_presets.failed(text("there is no environment {name!r}\nThere are: {names}", name=name, names=names))
