# SPDX-License-Identifier: Apache-2.0
"""`arena attach`: a shell, or another command, in a job's instance."""

from __future__ import annotations

from typing import Final

from springtide.cli.arena import job_types
from springtide.cli.arena.command_tree import Verb
from springtide.cli.arena.errors import ArenaError
from springtide.cli.arena.get import view_of
from springtide.cli.arena.logs import chosen
from springtide.cli.arena.pflag import Flag, Kind, Parsed
from springtide.cli.arena.session import Session
from springtide.cli.arena.wording import in_arenas_words
from springtide.cli.jobs import terminal
from springtide.kube.client import Client
from springtide.kube.resources import PODS, Key
from springtide.views.trainers import Trainer

_SHELL: Final = "sh"


def attach(session: Session, line: Parsed) -> None:
    trainer, (name, *command) = job_types.chosen(line), line.arguments
    named, container = line.values["instance"], line.values["container"]

    async def attached(client: Client) -> int:
        pod, default = await _instance(session, client, name, trainer, named)
        return await terminal.run(client, pod, container or default, command or [_SHELL])

    with in_arenas_words():
        code = session.talk(attached, streams=True)
    if code:
        raise ArenaError(f"command terminated with exit code {code}")


async def _instance(session: Session, client: Client, job: str, trainer: Trainer | None, named: str) -> tuple[Key, str]:
    """The pod, and its first container."""
    view = await view_of(session, client, job, trainer)
    if not view.instances:
        raise ArenaError(f"can not attach the training job {job}, because it has no instances")
    instance = chosen(view, named)
    if instance.phase in ("Succeeded", "Failed"):
        raise ArenaError(f"cannot exec into a container in a completed pod; current phase is {instance.phase}")
    key = Key(view.namespace, instance.name)
    pod = await client.get(PODS, key)
    return key, pod["spec"]["containers"][0]["name"]


ATTACH: Final = Verb(
    (
        job_types.TYPE,
        Flag("instance", Kind.STRING, "instance to run the command in", short="i"),
        Flag("container", Kind.STRING, "container to run the command in; without it the first one", short="c"),
    ),
    attach,
    "not set job name,please set it",
)
