# SPDX-License-Identifier: Apache-2.0
"""`tide suspend JOB` and `tide resume JOB`."""

from __future__ import annotations

import click

from springtide.cli import speaking
from springtide.cli.connecting import Target, on_cluster
from springtide.cli.jobs import finding
from springtide.cli.jobs.changing import suspending
from springtide.cli.tide_jobs import options
from springtide.kube.client import Client
from springtide.messages import Text, text


@click.command(epilog="Example: tide suspend bert --wait")
@on_cluster()
@options.job_argument
@options.type_option
@click.option("--wait/--no-wait", default=False, help="Wait until its pods have ended.")
@options.timeout_option("How long to wait at most; 2m, for example.  [default: without end]")
def suspend(target: Target, name: str, type_: str, wait: bool, timeout: float) -> None:
    """Stop a job's pods, and keep the job. It goes on from its last checkpoint when it is resumed."""

    async def conversation(client: Client) -> Text:
        job = await finding.find(client, target.namespace, name, type_)
        changed = await suspending.suspend(client, job)
        if wait:
            await suspending.until_stopped(client, job, timeout)
            return text("Job {name} is suspended and has no pods.", name=name)
        if not changed:
            return text("Job {name} is suspended already.", name=name)
        return text("Job {name} is being suspended.", name=name)

    speaking.say(target.talk(conversation))
    speaking.note(text("Resume it: {command}", command=f"tide resume {name}"))


@click.command(epilog="Example: tide resume bert")
@on_cluster()
@options.job_argument
@options.type_option
def resume(target: Target, name: str, type_: str) -> None:
    """Start a suspended job again, from its last checkpoint if it has one."""

    async def conversation(client: Client) -> Text:
        job = await finding.find(client, target.namespace, name, type_)
        if await suspending.resume(client, job):
            return text("Job {name} is resumed.", name=name)
        return text("Job {name} is not suspended.", name=name)

    speaking.say(target.talk(conversation))
