# SPDX-License-Identifier: Apache-2.0
"""Options and arguments that several commands on jobs have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from springtide.cli import speaking
from springtide.cli.completion import job_names
from springtide.cli.durations import Duration
from springtide.messages import text

F = TypeVar("F", bound=Callable[..., Any])


def job_argument(command: F) -> F:
    return click.argument("name", metavar="JOB", shell_complete=job_names.jobs, help="Name of the job.")(command)


def job_arguments(command: F) -> F:
    """Any number, also none."""
    return click.argument("names", nargs=-1, metavar="[JOB]...", shell_complete=job_names.jobs, help="Names of jobs.")(
        command
    )


def _of_types(help_: str) -> Callable[[F], F]:
    return click.option("-T", "--type", "type_", default="", metavar="TYPE", shell_complete=job_names.types, help=help_)


type_option = _of_types("Type of the job, where two have one name: mpijob.")
only_type_option = _of_types("Jobs of one type only, such as mpijob.")


def files_option(*, required: bool) -> Callable[[F], F]:
    return click.option(
        "-f",
        "--filename",
        "files",
        multiple=True,
        required=required,
        metavar="FILE",
        shell_complete=job_names.files,
        help="A manifest; - is stdin.",
    )


def yes_option(command: F) -> F:
    return click.option("-y", "--yes", is_flag=True, help="Do not ask.")(command)


def timeout_option(what: str) -> Callable[[F], F]:
    return click.option("--timeout", type=Duration(), default=0.0, metavar="SPAN", help=what)


def variables(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Of options like NAME=VALUE."""
    pairs = [value.partition("=") for value in values]
    for value, (name, sign, _) in zip(values, pairs, strict=True):
        if not name or not sign:
            raise click.BadParameter(speaking.shown(text("{value!r}: write NAME=VALUE", value=value)))
    return tuple((name, value) for name, _, value in pairs)


def names(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Of an option that may be repeated, and may name several at once: a,b."""
    return tuple(dict.fromkeys(name for value in values for name in value.replace(",", " ").split()))
