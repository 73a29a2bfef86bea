# SPDX-License-Identifier: Apache-2.0
"""`tide scaleout` and `tide scalein`: Arena's verbs, for jobs of any kind, and with an answer whether it worked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from springtide.cli.connecting import Target, on_cluster
from springtide.cli.jobs.changing.scaling import Request
from springtide.cli.tide_jobs import options
from springtide.cli.tide_jobs.resizing.resizing import resize


def _options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option("--wait/--no-wait", default=True, help="Wait until it is done, and show the steps."),
        click.option("--retry", "retries", type=click.IntRange(0), default=0, help="How often a script is run again."),
        click.option(
            "-e",
            "--env",
            "variables",
            multiple=True,
            callback=options.variables,
            metavar="NAME=VALUE",
            help="A variable of the script.",
        ),
        click.option("--script", default="", metavar="PATH", help="A script in the launcher (TrainingJobs only)."),
        options.timeout_option("How long it may take; 5m, for example.  [TrainingJobs: 10m]"),
        options.type_option,
        options.job_argument,
        on_cluster(),
    ):
        command = option(command)
    return command


@click.command(epilog="Example: tide scaleout bert --count 2 --timeout 5m")
@click.option("--count", type=click.IntRange(1), default=1, metavar="N", help="How many workers more.  [default: 1]")
@_options
def scaleout(target: Target, name: str, type_: str, count: int, wait: bool, **wanted: Any) -> None:
    """Add workers to a job while it trains."""
    resize(target, name, type_, Request(f"+{count}", **wanted), wait=wait)


@click.command(epilog="Example: tide scalein bert --pod-names bert-worker-0,bert-worker-2")
@click.option("--count", type=click.IntRange(1), metavar="N", help="How many workers fewer.  [default: 1]")
@click.option(
    "--pod-names",
    "victims",
    multiple=True,
    callback=options.names,
    metavar="POD[,POD]",
    help="The workers that are removed, instead of a number of them.",
)
@_options
def scalein(target: Target, name: str, type_: str, count: int | None, wait: bool, **wanted: Any) -> None:
    """Remove workers from a job while it trains."""
    victims: tuple[str, ...] = wanted.pop("victims")
    number = count if count is not None else len(victims) or 1
    resize(target, name, type_, Request(f"-{number}", victims, **wanted), wait=wait)
