# SPDX-License-Identifier: Apache-2.0
"""`tide submit -f job.yaml`: creates the objects of a manifest, and waits for its jobs on request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from springtide.cli import speaking
from springtide.cli.connecting import Target
from springtide.cli.jobs import waiting
from springtide.cli.jobs.changing import creating, manifest_files
from springtide.cli.jobs.changing.creating import Created
from springtide.cli.jobs.finding import Job
from springtide.cli.tide_jobs.output.manifest_output import DryRun, show_created
from springtide.cli.tide_jobs.output.state_lines import StateLines
from springtide.kube.client import Client
from springtide.kube.resources import Key, Obj
from springtide.messages import text


def submit_files(
    target: Target, files: tuple[str, ...], dry_run: DryRun, *, namespace: str, wait: bool, timeout: float
) -> None:
    manifests = [
        manifest_files.in_namespace(obj, target.namespace, chosen=bool(namespace)) for obj in manifest_files.read(files)
    ]
    if dry_run.by_client:
        dry_run.print_manifests(manifests)
        return
    jobs = [each for each in target.talk(lambda client: _created(client, manifests, dry_run)) if each.is_job]
    if dry_run.by_server:
        return
    if not wait:
        for each in jobs[:1]:
            name = each.obj["metadata"]["name"]
            speaking.note(text("Follow it: {command}", command=f"tide logs -f {name}"))
        return
    wait_for(target, [Job(each.resource, Key.of(each.obj), each.obj) for each in jobs], timeout)


async def _created(client: Client, manifests: list[Obj], dry_run: DryRun) -> list[Created]:
    made = await creating.create(client, manifests, show_created(dry_run), dry_run=dry_run.by_server)
    dry_run.print_manifests([each.obj for each in made])
    return made


def wait_for(target: Target, jobs: list[Job], timeout: float) -> None:
    """One after another; the first that fails ends the command with its exit code."""
    for job in jobs:
        try:
            target.talk(_waiting(job, timeout))
        except KeyboardInterrupt:
            raise waiting.not_finished(job.name) from None
        speaking.say(text("Job {name} has succeeded.", name=job.name))


def _waiting(job: Job, timeout: float) -> Callable[[Client], Awaitable[None]]:
    async def conversation(client: Client) -> None:
        await waiting.until_finished(client, job, timeout, StateLines(job.name).show)

    return conversation
