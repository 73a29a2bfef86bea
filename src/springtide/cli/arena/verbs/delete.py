# SPDX-License-Identifier: Apache-2.0
"""`arena delete`."""

from __future__ import annotations

from typing import Final

from springtide.cli.arena import job_types
from springtide.cli.arena.command_tree import Verb
from springtide.cli.arena.errors import ArenaError
from springtide.cli.arena.session import Session
from springtide.cli.arena.wording import in_arenas_words
from springtide.cli.flags.pflag import Parsed
from springtide.cli.jobs.changing import deleting
from springtide.kube.client import Client
from springtide.views.trainers import Trainer


def delete(session: Session, line: Parsed) -> None:
    """Unknown jobs are skipped, and no error, as in Arena; but the jobs after them are deleted, too."""
    trainer = job_types.chosen(line)
    with in_arenas_words():
        for name in line.arguments:
            session.talk(lambda client, name=name: _delete(session, client, name, trainer))  # type: ignore[misc]


async def _delete(session: Session, client: Client, name: str, trainer: Trainer | None) -> None:
    there = await deleting.present(client, session.namespace, name, trainer)
    if not there:
        report = session.log.error if trainer else session.log.info
        report(f"The training job '{name}' does not exist,skip to delete it")
        return
    if len(there) > 1:
        raise ArenaError(
            f"there are more than 1 training jobs with the same name {name}, please double check with "
            f"`arena list | grep {name}`. And use `arena delete {name} --type` to delete the exact one"
        )
    deleting.check_owner(await session.isolation(client), there[0])
    await deleting.delete(client, there[0])
    session.log.info(f"The training job {name} has been deleted successfully")


DELETE: Final = Verb((job_types.TYPE,), delete, "not set job name,please set it")
