# SPDX-License-Identifier: Apache-2.0
"""`tide restart JOB`: starts a job again, whether it has finished or not."""

from __future__ import annotations

from contextlib import suppress

import click

from springtide.cli import speaking
from springtide.cli.connecting import Target, on_cluster
from springtide.cli.errors import Failure
from springtide.cli.jobs import finding
from springtide.cli.jobs.changing import restarting
from springtide.cli.jobs.changing.restarting import Recreation
from springtide.cli.jobs.finding import Job
from springtide.cli.tide_jobs import options
from springtide.cli.tide_jobs.output.asking import confirm
from springtide.kube.client import Client
from springtide.messages import Text, text
from springtide.views import sizes
from springtide.views.states import FINISHED, state_of


@click.command(epilog="Example: tide restart bert --yes")
@on_cluster()
@options.job_argument
@options.type_option
@options.yes_option
@options.timeout_option("How long its pods may take to end; 2m, for example.  [default: without end]")
def restart(target: Target, name: str, type_: str, yes: bool, timeout: float) -> None:
    """Start a job again: from its last checkpoint, or anew if it has finished."""

    async def looked_up(client: Client) -> Job:
        return await finding.find(client, target.namespace, name, type_)

    job = target.talk(looked_up)
    finished = state_of(job.obj) in FINISHED
    confirm(_question(job, finished=finished), yes=yes)

    speaking.say((_anew if finished else _again)(target, job, timeout))
    speaking.note(text("Follow it: {command}", command=f"tide logs -f {name}"))


def _anew(target: Target, job: Job, timeout: float) -> Text:
    recreation = Recreation(job, timeout)
    try:
        target.talk(recreation.run)
    except (Failure, KeyboardInterrupt):
        if recreation.has_lost:
            raise recreation.loss() from None
        raise
    return text("Job {name} is created anew.", name=job.name)


def _again(target: Target, job: Job, timeout: float) -> Text:
    try:
        target.talk(lambda client: restarting.again(client, job, timeout))
    except (Failure, KeyboardInterrupt):
        if not sizes.suspended(job.obj):
            with suppress(Failure):  # the first one counts
                target.talk(lambda client: restarting.resumed(client, job))
        raise
    return text("Job {name} starts again.", name=job.name)


def _question(job: Job, *, finished: bool) -> Text:
    if finished:
        return text(
            "Create {job} anew? It has finished ({state}); its pods and their logs are deleted.",
            job=job.title,
            state=state_of(job.obj),
        )
    return text("Restart {job}? What it has trained since its last checkpoint is lost.", job=job.title)
