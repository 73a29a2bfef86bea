# SPDX-License-Identifier: Apache-2.0
"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from springtide.cli.places import DEFAULT_NAME, data_dir
from springtide.local.datadir import DataDir

Command = Callable[..., Any]


def which_cluster(command: Command) -> Command:
    """`--name` and `--data-dir`: which of the clusters on this machine is meant."""
    command = click.option(
        "--data-dir", type=click.Path(file_okay=False, path_type=Path), help="Directory of the cluster's files."
    )(command)
    return click.option("--name", default=DEFAULT_NAME, show_default=True, help="Name of the cluster.")(command)


def directory(name: str, given: Path | None) -> DataDir:
    return DataDir(data_dir(name, given))


def must_run(name: str, given: Path | None) -> DataDir:
    """The cluster's directory, or an error that says how to start it."""
    place = directory(name, given)
    if not place.is_running():
        option = f" --name {name}" if name != DEFAULT_NAME else f" --data-dir {given}" if given else ""
        raise click.ClickException(f"no cluster runs in {place.path}\nStart it with: tide up -d{option}")
    return place
