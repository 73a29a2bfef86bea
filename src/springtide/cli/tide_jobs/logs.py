# SPDX-License-Identifier: Apache-2.0
"""`tide logs JOB`: the logs of all pods of a job, merged by time."""

from __future__ import annotations

import math
import os
import re
from datetime import datetime
from typing import Any

import click

from springtide.cli import printing, speaking
from springtide.cli.completion import job_names
from springtide.cli.connecting import Target, on_cluster
from springtide.cli.durations import Duration
from springtide.cli.errors import ExitCode, Failure
from springtide.cli.jobs import finding
from springtide.cli.jobs.logs import following
from springtide.cli.jobs.logs.following import JobLogs
from springtide.cli.jobs.logs.log_reading import Wish
from springtide.cli.tide_jobs import options
from springtide.cli.tide_jobs.output.log_output import LogOutput
from springtide.kube.client import Client
from springtide.messages import text
from springtide.views.logs.log_sources import Wanted


def _pattern(ctx: click.Context, param: click.Parameter, value: str) -> re.Pattern[bytes] | None:
    try:
        return re.compile(os.fsencode(value)) if value else None
    except re.error as error:
        said = text("{value!r} is no regular expression: {error}", value=value, error=str(error))
        raise click.BadParameter(speaking.shown(said)) from None


def _moment(ctx: click.Context, param: click.Parameter, value: str) -> str:
    if not value:
        return ""
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        said = text("{value!r} is no time; write it like 2026-01-31T12:00:00Z", value=value)
        raise click.BadParameter(speaking.shown(said))
    return value


@click.command(
    epilog="""\b
Examples:
  tide logs bert                       all pods, merged by time
  tide logs bert -f --tail 10          the last lines of each, and all new
  tide logs bert --rank 3 --grep loss
  tide logs bert -i bert-worker-0 --previous"""
)
@on_cluster()
@options.job_argument
@options.type_option
@click.option("-f", "--follow", is_flag=True, help="Go on until the job has finished.")
@click.option("--rank", type=click.IntRange(0), default=None, metavar="N", help="Only the output of this rank.")
@click.option("--grep", "pattern", default="", callback=_pattern, metavar="REGEX", help="Only lines that match.")
@click.option("--since", type=Duration(), default=0.0, metavar="SPAN", help="Only lines this young: 30s, 5m, 2h.")
@click.option("--since-time", default="", callback=_moment, metavar="TIME", help="Only lines since then (RFC 3339).")
@click.option("-t", "--tail", type=click.IntRange(-1), default=-1, metavar="N", help="The last lines of each pod.")
@click.option("-p", "--previous", is_flag=True, help="Of the attempts before the last restart.")
@click.option("--timestamps", is_flag=True, help="Show when each line was written.")
@click.option(
    "-i",
    "--instance",
    default="",
    metavar="POD",
    shell_complete=job_names.pods,
    help="Only this pod, which may have been removed.",
)
@click.option("-c", "--container", default="", metavar="NAME", help="This container.  [default: the one that trains]")
def logs(target: Target, name: str, type_: str, **given: Any) -> None:
    """Show what a job's pods print, as one log.

    Logs of pods that were removed are shown too, where the cluster keeps them: an embedded one does.
    """
    if given["since"] and given["since_time"]:
        raise click.UsageError(speaking.shown(text("--since and --since-time exclude each other.")))
    if given["follow"] and given["previous"]:
        said = text("--follow and --previous exclude each other: earlier attempts have ended.")
        raise click.UsageError(speaking.shown(said))
    wish = Wish(
        wanted=Wanted(given["instance"], given["container"], given["rank"]),
        follow=given["follow"],
        previous=given["previous"],
        tail=given["tail"] if given["tail"] >= 0 else None,
        since_seconds=max(math.ceil(given["since"]), 1) if given["since"] else None,
        since_time=given["since_time"],
        pattern=given["pattern"],
    )
    output = LogOutput(timestamps=given["timestamps"])
    try:
        target.talk(lambda client: _show(client, target.namespace, name, type_, wish, output), streams=True)
    except BrokenPipeError:  # the reader has seen enough, as in `tide logs bert | head`
        printing.let_go()


async def _show(client: Client, namespace: str, name: str, type_: str, wish: Wish, output: LogOutput) -> None:
    try:
        job = await finding.find(client, namespace, name, type_)
    except Failure as failure:
        deleted = failure.exit_code == ExitCode.NOT_FOUND and not type_
        if deleted and await following.show_deleted(client, namespace, name, wish, output):
            return
        raise
    await JobLogs(client, job, wish, output).show()
