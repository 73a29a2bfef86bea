# SPDX-License-Identifier: Apache-2.0
"""The chosen cluster of a command: the options `--name` and `--data-dir`, and their values."""

from __future__ import annotations

import difflib
import functools
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from springtide.cli import places
from springtide.cli.cluster.data_directories import kernel_problem, length_problem, root_problem, with_advice
from springtide.cli.speaking import shown
from springtide.local.access import trust
from springtide.local.datadir import DataDir
from springtide.messages import Text, text

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class Chosen:
    """The chosen cluster of this machine."""

    name: str
    place: DataDir
    flags: str
    """Flags that make another command address the same cluster."""

    def command(self, words: str) -> str:
        """The shell's command for `tide` with these words, on the same cluster."""
        return f"{places.program()} {words}{self.flags}"

    def is_running(self) -> bool:
        return self.place.is_running()

    def state(self) -> Text:
        """The state of a cluster that does not run; a mistyped name must not look like a stopped cluster."""
        if self.place.is_being_deleted():
            return text("is partly deleted; finish it with: {command}", command=self.command("delete --cluster"))
        if self.place.last():
            return text("is stopped")
        path = self.place.path
        if similar := difflib.get_close_matches(self.name, places.cluster_names(), 1):
            return text("has never been started in {path}; did you mean {similar!r}?", path=path, similar=similar[0])
        return text("has never been started in {path}", path=path)

    def must_run(self) -> None:
        if not self.is_running():
            raise click.ClickException(
                shown(
                    text(
                        "cluster {name!r} {state}\nStart it with: {command}",
                        name=self.name,
                        state=self.state(),
                        command=self.command("up -d"),
                    )
                )
            )


def which_cluster(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the two options to a command, which gets the `Chosen` cluster as first argument."""

    @functools.wraps(command)
    def with_chosen(*args: Any, name: str | None, data_dir: Path | None, **options: Any) -> Any:
        return command(usable(name, data_dir), *args, **options)

    return cluster_choice(with_chosen)


def usable(name: str | None, data_dir: Path | None) -> Chosen:
    """The cluster of these options; an error for a directory that holds none, or may be another user's."""
    cluster = chosen(name, data_dir)
    if why := kernel_problem(cluster.place.path):
        raise click.ClickException(shown(with_advice(why, "--data-dir DIR")))
    try:
        trust.check(cluster.place.path)
    except trust.UntrustedError as error:
        raise click.ClickException(str(error)) from None
    return cluster


def cluster_choice(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the two options to a command, which gets their values."""
    # Imported here because the module imports this one to find the chosen cluster.
    from springtide.cli.completion import choices  # noqa: PLC0415

    command = click.option(
        "--data-dir",
        type=_Directory(),
        metavar="DIR",
        shell_complete=choices.directories,
        help="Directory of the cluster's files, instead of one found by name.",
    )(command)
    return click.option(
        "--name",
        metavar="NAME",
        callback=_valid,
        shell_complete=choices.clusters,
        help=f"Name of the cluster, to tell several apart.  [default: {places.DEFAULT_NAME}, or the directory's name]",
    )(command)


def chosen(name: str | None, data_dir: Path | None) -> Chosen:
    """The cluster of these options. A directory stores its cluster's name, which need not be repeated."""
    if data_dir is None:
        flags = f" --name {name}" if name and name != places.DEFAULT_NAME else ""
        name = name or places.DEFAULT_NAME
        return Chosen(name, DataDir(places.clusters() / name), flags)
    flags = f" --name {name}" if name else ""  # the directory may store another name
    place = DataDir(data_dir.absolute())
    last = _last_name(place)
    name = name or last or _named_after(place.path)
    return Chosen(name, place, f"{flags} --data-dir {shlex.quote(str(data_dir))}")


def _named_after(directory: Path) -> str:
    """Clusters in their own directories need distinct names, by which kubeconfig entries are distinguished."""
    name = re.sub("[^a-z0-9]+", "-", directory.name.lower())[:63].strip("-")
    return name or places.DEFAULT_NAME


def _last_name(place: DataDir) -> str | None:
    try:
        last = place.last()
    except PermissionError:
        return None  # commands that need more than the name report the error
    return last.name if last else None


class _Directory(click.Path):
    """A path that can exist. Commands that create files check whether it can hold a cluster."""

    def __init__(self) -> None:
        super().__init__(readable=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not str(value):
            self.fail(shown(text("it is empty, perhaps because of a variable that is not set")), param, ctx)
        path = Path(value).absolute()
        if why := length_problem(path) or root_problem(path):
            self.fail(why, param, ctx)
        return super().convert(value, param, ctx)


def _valid(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    if value is not None and not _NAME.fullmatch(value):
        raise click.BadParameter(shown(text("use small letters, digits and dashes, 63 at most")))
    return value
