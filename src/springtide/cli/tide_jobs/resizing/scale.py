# SPDX-License-Identifier: Apache-2.0
"""`tide scale JOB --workers 4|+1|-1`: gives a job of any kind another number of workers."""

from __future__ import annotations

import click

from springtide.cli.connecting import Target, on_cluster
from springtide.cli.jobs.changing.scaling import Request
from springtide.cli.tide_jobs import options
from springtide.cli.tide_jobs.resizing.resizing import resize


@click.command(
    epilog="""\b
Examples:
  tide scale bert --workers 4
  tide scale bert --workers +1 --timeout 5m
  tide scale bert --workers -1 --pod-names bert-worker-0"""
)
@on_cluster()
@options.job_argument
@options.type_option
@click.option("--workers", required=True, metavar="N|+N|-N", help="The number of workers, or its change.")
@click.option(
    "--pod-names",
    "victims",
    multiple=True,
    callback=options.names,
    metavar="POD[,POD]",
    help="The workers that are removed.  [default: those that are cheapest to lose]",
)
@options.timeout_option("How long to wait at most; 5m, for example.  [default: without end]")
@click.option("--wait/--no-wait", default=True, help="Wait until the workers train, and show the steps.")
def scale(target: Target, name: str, type_: str, workers: str, victims: tuple[str, ...], **more: object) -> None:
    """Give a job another number of workers while it trains."""
    request = Request(workers, victims, timeout=float(str(more["timeout"])))
    resize(target, name, type_, request, wait=bool(more["wait"]))
