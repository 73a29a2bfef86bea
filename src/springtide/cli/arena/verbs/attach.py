# SPDX-License-Identifier: Apache-2.0
"""`arena attach`: a shell, or another command, in a job's instance."""

from __future__ import annotations

from typing import Final

from springtide.cli.arena import job_types
from springtide.cli.arena.command_tree import Verb
from springtide.cli.arena.errors import ArenaError
from springtide.cli.arena.session import Session
from springtide.cli.arena.verbs.get import job_of
from springtide.cli.arena.wording import in_arenas_words
from springtide.cli.flags.pflag import Flag, Kind, Parsed
from springtide.cli.jobs import finding, instances
from springtide.cli.jobs.logs import attaching
from springtide.kube.client import Client


def attach(session: Session, line: Parsed) -> None:
    trainer, (name, *command) = job_types.chosen(line), line.arguments

    async def attached(client: Client) -> int:
        job = await job_of(session, client, name, trainer)
        pod = instances.instance_of(job.obj, await finding.pods(client, job), line.values["instance"])
        container = instances.container_for_command(pod, line.values["container"])
        return await attaching.attach(client, pod, container, command)

    with in_arenas_words():
        code = session.talk(attached, streams=True)
    if code:
        raise ArenaError(f"command terminated with exit code {code}")


ATTACH: Final = Verb(
    (
        job_types.TYPE,
        Flag("instance", Kind.STRING, "instance to run the command in", short="i"),
        Flag("container", Kind.STRING, "container to run the command in; without it the first one", short="c"),
    ),
    attach,
    "not set job name,please set it",
)
