# SPDX-License-Identifier: Apache-2.0
"""`tide env`: environments, which stand in for images on the embedded cluster."""

from __future__ import annotations

from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import click

from springtide.local.environments import making
from springtide.local.environments.environment import OWN, Environment, Files
from springtide.local.environments.shelf import BusyError, Environments, default_root


@click.group()
def env() -> None:
    """Make, list and delete environments: what images stand for on the embedded cluster.

    Nothing is pulled there. A pod's image name finds an environment, and images that fit none run in the environment
    that runs tide.
    """


def _files(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[Files, ...]:
    found = []
    for value in values:
        source, colon, target = value.rpartition(":")
        if not colon or not source or not target.startswith("/"):
            raise click.BadParameter(f"{value!r}: write DIR:/absolute/path")
        found.append(Files(str(Path(source).absolute()), target))
    return tuple(found)


@env.command()
@click.argument("name")
@click.argument("more", nargs=-1, metavar="")
@click.option("--pip", "first", multiple=True, metavar="REQ...", help="Packages to install, as pip writes them.")
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
@click.option("--image", "images", multiple=True, metavar="PATTERN", help="Images it is for: 'horovod/horovod:*'.")
@click.option(
    "--files",
    multiple=True,
    callback=_files,
    metavar="DIR:/PATH",
    help="Show a directory of this machine at a path in every pod of the environment.",
)
@click.option("--workdir", default="", metavar="/PATH", help="Where its containers start.  [default: /]")
@click.option("--replace", is_flag=True, help="Make it anew; pods that run in the old one are not disturbed.")
def create(name: str, more: tuple[str, ...], first: tuple[str, ...], replace: bool, **rest: Any) -> None:
    """Make the environment NAME.

    \b
    tide env create torch --pip torch numpy --image 'pytorch/pytorch:*'
    tide env create horovod -r requirements.txt --files ./examples:/examples --workdir /examples
    """
    if more and not first:
        raise click.UsageError(f"unexpected: {' '.join(more)}\nTo install packages: --pip {' '.join(more)}")
    recipe = making.Recipe(name, (*first, *more), **rest)
    try:
        made = making.make(Environments(default_root()), recipe, replace=replace)
    except making.MakingError as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        raise click.ClickException(f"cannot write to {error.filename or default_root()}: {error.strerror}") from None
    click.echo(f"Environment {name!r} is ready: Python {made.python} in {made.prefix}")
    if not recipe.needs_python:
        click.echo("It shares the packages of the environment that runs tide; --pip gives it its own.")
    if not made.images:
        click.echo(f"No image uses it yet; say which: tide env create {name} --replace --image PATTERN ...")


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


def _joined(parts: tuple[str, ...]) -> str:
    return ", ".join(parts) or "-"


@env.command()
@click.argument("name")
def show(name: str) -> None:
    """Show one environment: where it is, what is in it, and which images it is for."""
    shelf = Environments(default_root())
    found = shelf.fallback if name == OWN else shelf.find(name)
    if found is None:
        raise click.ClickException(_unknown(name, shelf))
    click.echo(f"Name:      {found.name}\nPython:    {found.python}\nDirectory: {found.prefix}")
    click.echo(f"Images:    {'all others' if name == OWN else _joined(found.images)}")
    click.echo(f"Workdir:   {found.workdir or '/'}")
    for files in found.files:
        gone = "" if Path(files.source).is_dir() else "  (not there)"
        click.echo(f"Files:     {files.source} at {files.target}{gone}")
    click.echo("Packages:  " + "\n           ".join(_packages(found) or ["-"]))


def _packages(environment: Environment) -> list[str]:
    folders = [str(folder) for folder in Path(environment.prefix).glob("lib/python*/site-packages")]
    return sorted({f"{each.name} {each.version}" for each in distributions(path=folders)}, key=str.lower)


@env.command()
@click.argument("name")
def delete(name: str) -> None:
    """Delete the environment NAME; its images run in the next one that fits, or in tide's own."""
    shelf = Environments(default_root())
    if shelf.find(name) is None:
        raise click.ClickException(_unknown(name, shelf))
    try:
        left = shelf.remove(name)
    except BusyError:
        raise click.ClickException(f"another tide is making {name!r} right now") from None
    click.echo(f"Deleted environment {name!r}.")
    if left:
        click.echo("Pods still run in it; its files go when the next environment of that name is made or deleted.")


def _unknown(name: str, shelf: Environments) -> str:
    names = ", ".join([each.name for each in shelf.all()] + [OWN])
    return f"there is no environment {name!r}\nThere are: {names}"
