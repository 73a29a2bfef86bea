# SPDX-License-Identifier: Apache-2.0
"""`tide attach JOB`: a shell, or another command, in a pod of a job."""

from __future__ import annotations

import click

from springtide.cli.completion import job_names
from springtide.cli.connecting import Target, on_cluster
from springtide.cli.jobs import finding, instances
from springtide.cli.jobs.logs import attaching
from springtide.cli.tide_jobs import options
from springtide.kube.client import Client


@click.command(
    epilog="""\b
Examples:
  tide attach bert                     a shell in the chief's pod
  tide attach bert -- nvidia-smi
  tide attach bert -i bert-worker-0 -- bash""",
)
@on_cluster()
@options.job_argument
@options.type_option
@click.option(
    "-i",
    "--instance",
    default="",
    metavar="POD",
    shell_complete=job_names.pods,
    help="The pod.  [default: the only one, or the chief]",
)
@click.option("-c", "--container", default="", metavar="NAME", help="The container.  [default: the one that trains]")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, help="With its arguments.")
def attach(target: Target, name: str, type_: str, instance: str, container: str, command: tuple[str, ...]) -> None:
    """Run a command in a pod of a job, with a terminal; a shell if none is given.

    The exit code is that of the command.
    """

    async def attached(client: Client) -> int:
        job = await finding.find(client, target.namespace, name, type_)
        pod = instances.instance_of(job.obj, await finding.pods(client, job), instance)
        chosen = instances.container_for_command(pod, container)
        return await attaching.attach(client, pod, chosen, command)

    click.get_current_context().exit(target.talk(attached, streams=True))
