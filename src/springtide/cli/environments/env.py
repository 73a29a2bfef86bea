# SPDX-License-Identifier: Apache-2.0
"""`tide env`: environments, which replace images on the embedded cluster."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import click

from springtide.cli.commands import CommandGroup
from springtide.cli.completion import choices
from springtide.cli.environments import presets as own_presets
from springtide.cli.places import program
from springtide.local.environments import presets
from springtide.local.environments.environment import OWN, Environment, Files
from springtide.local.environments.making import Recipe
from springtide.local.environments.shelf import BusyError, Environments, LinkError, default_root


@click.group(
    cls=CommandGroup, other_words={"remove": "delete", "rm": "delete", "ls": "list", "make": "create", "add": "create"}
)
def env() -> None:
    """Make, list and delete environments: what images stand for on the embedded cluster.

    Nothing is pulled there. A pod's image name finds an environment, and images that fit none run in the environment
    that runs tide.
    """


class _ManyPackages(click.Command):
    """Parses `--pip torch numpy` as `--pip torch --pip numpy`: click gives an option one word."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        spread: list[str] = []
        packages = False
        for word in args:
            if packages and not word.startswith("-"):
                spread += [word] if spread[-1] == "--pip" else ["--pip", word]
            else:
                packages = word.partition("=")[0] == "--pip"
                spread.append(word)
        return super().parse_args(ctx, spread)


def _patterns(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    if not all(values):
        raise click.BadParameter("it is empty, perhaps because of a variable that is not set")
    return values


def _files(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[Files, ...]:
    found = []
    for value in values:
        source, colon, target = value.rpartition(":")
        if not colon or not source or not target.startswith("/"):
            raise click.BadParameter(f"{value!r}: write DIR:/absolute/path")
        found.append(Files(str(Path(source).absolute()), target))
    return tuple(found)


def _words(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    """Parses a command in shell syntax, or as a JSON list, as in image descriptions."""
    if value is None:
        return None
    try:
        words = json.loads(value) if value.lstrip().startswith("[") else shlex.split(value)
    except ValueError as error:
        raise click.BadParameter(f"{value!r}: {error}") from None
    if not all(isinstance(word, str) for word in words):
        raise click.BadParameter(f"{value!r}: a list holds strings alone")
    return tuple(words)


def _variables(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    pairs = [value.partition("=") for value in values]
    if wrong := [value for value, (name, sign, _) in zip(values, pairs, strict=True) if not (name and sign)]:
        raise click.BadParameter(f"{wrong[0]!r}: write NAME=VALUE")
    return {name: value for name, _, value in pairs}


@env.command(cls=_ManyPackages)
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
    callback=_patterns,
    metavar="PATTERN",
    help="Images it is for: 'horovod/horovod:*'.",
)
@click.option(
    "--files",
    multiple=True,
    callback=_files,
    metavar="DIR:/PATH",
    help="Show a directory of this machine at a path in every pod of the environment.",
)
@click.option("--workdir", default="", metavar="/PATH", help="Where its containers start.  [default: /]")
@click.option(
    "--entrypoint",
    callback=_words,
    metavar="COMMAND",
    help="What containers without `command` run, before their `args`: 'python train.py', or a JSON list.",
)
@click.option(
    "--cmd",
    callback=_words,
    metavar="COMMAND",
    help="What follows the entrypoint in containers without `command` and `args`; written alike.",
)
@click.option("--env", multiple=True, callback=_variables, metavar="NAME=VALUE", help="A variable of its containers.")
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
        raise click.UsageError(f"unexpected: {' '.join(more)}\nTo install packages: --pip {' '.join(more)}")
    _reject_placeholders(name, wanted)
    shelf = Environments(default_root())
    recipe = _recipe(name, preset, image, wanted)
    if not anew and not any(wanted.values()) and (there := _there(shelf, recipe, image)):
        click.echo(there)
        return
    made = own_presets.make(shelf, recipe, replace=anew)
    click.echo(f"Environment {made.name!r} is ready: Python {made.python} in {made.prefix}")
    click.echo(_next(recipe, made))


def _reject_placeholders(name: str, wanted: dict[str, Any]) -> None:
    """Events name commands with words in capitals, for what only the user knows."""
    command = (*(wanted["entrypoint"] or ()), *(wanted["cmd"] or ()))
    given = {"PACKAGE": wanted["requirements"], "COMMAND": command, "NAME": (name,)}
    examples = {"PACKAGE": "--pip numpy", "COMMAND": "--cmd 'python train.py'", "NAME": f"{program()} env create train"}
    for word, values in given.items():
        if word in values:
            raise click.UsageError(f"{word} stands for what your program needs: write, for example, {examples[word]}")


def _recipe(name: str, preset: str | None, image: str | None, wanted: dict[str, Any]) -> Recipe:
    """The requested options, on top of a preset's."""
    given = {field: value for field, value in wanted.items() if value}
    if preset is None and image is None:
        if not name:
            raise click.UsageError("name the environment, or choose a preset: --preset PRESET, --for IMAGE")
        return Recipe(name, **given)
    if preset is not None and image is not None:
        raise click.UsageError("--preset and --for contradict each other: --for finds the preset of an image")
    base = Recipe.of(own_presets.named(preset) if preset else own_presets.for_image(image or ""), name)
    for field in ("requirements", "images"):
        given[field] = (*getattr(base, field), *given.get(field, ()))
    return replace(base, **given | {"env": {**base.env, **given.get("env", {})}})


def _there(shelf: Environments, recipe: Recipe, image: str | None) -> str:
    """The message if nothing is left to make: the image has its environment, or the preset's environment exists."""
    found = shelf.find(recipe.name)
    if image is not None and (used := shelf.made_for(image)) is not None:
        return f"Image {image} runs in environment {used.name!r} already"
    if recipe.preset is None or found is None or found.preset != recipe.preset.name:
        return ""
    return own_presets.existing(found)


def _next(recipe: Recipe, made: Environment) -> str:
    """The suggested next step."""
    if not made.images:
        return f"No image uses it yet; say which: {program()} env create {made.name} --replace --image PATTERN ..."
    if recipe.preset is not None:
        return "Pods that wait for it start by themselves; next: kubectl create -f JOB.yaml"
    if not recipe.needs_python:
        return "It shares the packages of the environment that runs tide; --pip gives it its own."
    return f"Next: create a pod or job with an image that fits {made.images[0]}"


@env.command("presets")
def list_presets() -> None:
    """List the presets: environments for well-known images that can be made without a description."""
    made = {each.preset for each in Environments(default_root()).all()}
    for preset in presets.table().values():
        state = "made" if preset.name in made else preset.cost
        click.echo(f"{preset.name}  ({state})\n  {own_presets.described(preset)}\n  images: {_joined(preset.images)}")
    click.echo(f"\nMake one: {program()} env create --preset NAME, or for an image: {program()} env create --for IMAGE")


@env.command("list")
def list_() -> None:
    """List environments and the images they are for."""
    shelf = Environments(default_root())
    rows = [("NAME", "PYTHON", "IMAGES", "PACKAGES")]
    rows += [(each.name, each.python, _joined(each.images), _joined(each.requirements)) for each in shelf.all()]
    rows.append((OWN, shelf.fallback.python, "all others", "those of tide itself"))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row in rows:
        click.echo("  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]]).rstrip())
    made = {each.preset for each in shelf.all()}
    if left := [name for name in presets.table() if name not in made]:
        click.echo(f"\nPresets that can be made: {', '.join(left)}; see them: {program()} env presets")


def _joined(parts: tuple[str, ...]) -> str:
    return ", ".join(parts) or "-"


@env.command()
@click.argument("name", shell_complete=choices.environments)
def show(name: str) -> None:
    """Show one environment: where it is, what is in it, and which images it is for."""
    shelf = Environments(default_root())
    found = shelf.fallback if name == OWN else shelf.find(name)
    if found is None:
        raise click.ClickException(_unknown(name, shelf))
    click.echo(f"Name:      {found.name}\nPython:    {found.python}\nDirectory: {found.prefix}")
    click.echo(f"Images:    {'all others' if name == OWN else _joined(found.images)}")
    click.echo(f"Workdir:   {found.workdir or '/'}")
    if found.preset:
        click.echo(f"Preset:    {found.preset}")
    for title, words in (("Entrypoint:", found.entrypoint), ("Cmd:", found.cmd)):
        if words:
            click.echo(f"{title:<10} {shlex.join(words)}")
    for variable, value in found.env.items():
        click.echo(f"Variable:  {variable}={value}")
    for files in found.files:
        gone = "" if Path(files.source).is_dir() else "  (not there)"
        click.echo(f"Files:     {files.source} at {files.target}{gone}")
    click.echo("Packages:  " + "\n           ".join(_packages(found) or ["-"]))


def _packages(environment: Environment) -> list[str]:
    folders = [str(folder) for folder in Path(environment.prefix).glob("lib/python*/site-packages")]
    return sorted({f"{each.name} {each.version}" for each in distributions(path=folders)}, key=str.lower)


@env.command()
@click.argument("name", shell_complete=choices.environments)
def delete(name: str) -> None:
    """Delete the environment NAME; its images run in the next one that fits, or in tide's own."""
    shelf = Environments(default_root())
    if shelf.find(name) is None:
        raise click.ClickException(_unknown(name, shelf))
    try:
        left = shelf.remove(name)
    except LinkError as error:
        raise click.ClickException(str(error)) from None
    except BusyError:
        raise click.ClickException(f"another tide is making {name!r} right now") from None
    click.echo(f"Deleted environment {name!r}.")
    if left:
        click.echo("Pods still run in it; its files go when the next environment of that name is made or deleted.")


def _unknown(name: str, shelf: Environments) -> str:
    names = ", ".join([each.name for each in shelf.all()] + [OWN])
    return f"there is no environment {name!r}\nThere are: {names}"
