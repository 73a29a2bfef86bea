# SPDX-License-Identifier: Apache-2.0
"""The options of `tide up` about nodes, and their values."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

from springtide.cli.speaking import shown
from springtide.local.supervisor.nodes.node_specs import EXAMPLE, SpecError, parse
from springtide.local.supervisor.settings import Nodes
from springtide.messages import text


@dataclass(frozen=True, slots=True)
class Asked:
    nodes: Nodes | None
    """None for an API server alone."""
    arguments: list[str]
    """The same options for another `tide up`."""


_OPTIONS = (
    click.option(
        "--node",
        "specs",
        multiple=True,
        metavar="SPEC",
        help=f"Cut a node out of this machine, such as {EXAMPLE}; may be repeated.  [default: one for all of it]",
    ),
    click.option("--strict-resources", is_flag=True, help="Let no node take more CPU and memory requests than it has."),
    click.option(
        "--fake-gpus",
        type=click.IntRange(0, 1024),
        metavar="N",
        help="Give every node without GPUs of its own N imaginary ones, to try things out.",
    ),
    click.option(
        "--scheduler-name",
        "scheduler_names",
        multiple=True,
        metavar="NAME",
        help="Also schedule pods that ask for the scheduler NAME; may be repeated.",
    ),
    click.option(
        "--isolation",
        type=click.Choice(["auto", "none"]),
        default="auto",
        show_default=True,
        help="Give pods namespaces where this machine allows it, or none: then they share its network and files.",
    ),
    click.option("--no-nodes", is_flag=True, help="Run an API server alone: nothing schedules or runs pods."),
)


def which_nodes(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds these options to a command, which gets their values as argument `asked`."""

    @functools.wraps(command)
    def with_asked(*args: Any, **options: Any) -> Any:
        about_nodes = {name: options.pop(name) for name in _NAMES}
        return command(*args, asked=_asked(**about_nodes), **options)

    for option in reversed(_OPTIONS):
        with_asked = option(with_asked)
    return with_asked


_NAMES = ("specs", "strict_resources", "fake_gpus", "scheduler_names", "isolation", "no_nodes")


def _asked(specs: tuple[str, ...], no_nodes: bool, **how: Any) -> Asked:
    if no_nodes:
        if specs:
            raise click.UsageError(shown(text("--no-nodes and --node contradict each other")))
        return Asked(None, ["--no-nodes"])
    try:
        wanted = tuple(parse(spec) for spec in specs)
    except SpecError as error:
        raise click.UsageError(f"--node: {error}") from None
    names = [node["metadata"]["name"] for node in wanted]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise click.UsageError(shown(text("--node: there are two nodes named {name!r}", name=twice)))
    arguments = [f"--node={spec}" for spec in specs]
    arguments += ["--strict-resources"] if how["strict_resources"] else []
    arguments += [] if how["fake_gpus"] is None else [f"--fake-gpus={how['fake_gpus']}"]
    arguments += [f"--scheduler-name={name}" for name in how["scheduler_names"]]
    arguments += [f"--isolation={how['isolation']}"]
    return Asked(Nodes(wanted, **how), arguments)
