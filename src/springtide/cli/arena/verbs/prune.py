# SPDX-License-Identifier: Apache-2.0
"""`arena prune`. Unlike Arena's, it deletes no job that still waits, or that trains while it is scaled."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from springtide.cli.arena import outputs
from springtide.cli.arena.command_tree import Verb
from springtide.cli.arena.errors import ArenaError
from springtide.cli.arena.session import Session
from springtide.cli.flags.pflag import Flag, Kind, Parsed
from springtide.cli.jobs.changing import deleting, pruning
from springtide.cli.jobs.changing.pruning import Old
from springtide.kube.client import Client
from springtide.views.pages.ages import short_duration
from springtide.views.trainers import by_word


def prune(session: Session, line: Parsed) -> None:
    since = line.values["since"]
    if "since" not in line.given:
        raise ArenaError(
            "you need to specify the relative duration live time of the job that need to be cleaned by --since. "
            "Like --since 10h"
        )
    namespace = "" if line.values["all-namespaces"] else session.namespace

    async def pruned(client: Client) -> int:
        isolation = await session.isolation(client)
        old = await pruning.old_jobs(client, namespace, since, datetime.now(UTC))
        shown = [each for each in old if isolation.shows(each.found.obj)]
        for each in shown:
            outputs.show_page(f"Delete {each.view.trainer} {each.view.name} with Age {short_duration(each.age)} \n")
            await _delete(client, each)
        return len(shown)

    if not session.talk(pruned):
        print("No job need to be deleted")


async def _delete(client: Client, old: Old) -> None:
    for there in await deleting.present(client, old.view.namespace, old.view.name, by_word(old.view.trainer)):
        await deleting.delete(client, there)


PRUNE: Final = Verb(
    (
        Flag("all-namespaces", Kind.BOOL, "in all namespaces", short="A"),
        Flag("since", Kind.DURATION, "age from which a job is deleted, as 5s, 2m, or 3h", short="s"),
    ),
    prune,
)
