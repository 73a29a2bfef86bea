# SPDX-License-Identifier: Apache-2.0
"""`tide prune`: deletes old jobs that have finished."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import click

from springtide.cli import speaking
from springtide.cli.connecting import Target, on_cluster
from springtide.cli.durations import Duration
from springtide.cli.jobs import users
from springtide.cli.jobs.changing import deleting, pruning
from springtide.cli.jobs.changing.pruning import Old
from springtide.cli.tide_jobs import options
from springtide.cli.tide_jobs.output import asking, outputs
from springtide.kube.client import Client
from springtide.messages import text
from springtide.views import trainers
from springtide.views.pages import tide_tables


@click.command(
    epilog="""\b
Examples:
  tide prune --since 3d --dry-run        which jobs it would delete
  tide prune --since 12h -A --yes"""
)
@on_cluster(all_namespaces=True)
@click.option("--since", type=Duration(), required=True, metavar="SPAN", help="Made so long ago: 12h, 3d.")
@click.option("--dry-run", is_flag=True, help="Delete nothing: show which jobs it would be.")
@options.yes_option
def prune(target: Target, since: float, dry_run: bool, yes: bool) -> None:
    """Delete jobs that have finished, with everything that was made for them. On a terminal it asks first."""
    old = target.talk(lambda client: _old_jobs(client, target, since))
    if not old:
        speaking.note(text("No finished job is that old."))
        return
    now = datetime.now(UTC)
    if dry_run or (not yes and asking.can_ask()):
        views = [each.view for each in old]
        shown = tide_tables.job_list(views, now, outputs.terminal_width(), all_namespaces=not target.namespace)
        click.echo(shown, err=not dry_run)
    if dry_run:
        return
    if asking.can_ask():
        asking.confirm(text("Delete these {number} jobs?", number=len(old)), yes=yes)
    target.talk(lambda client: _delete(client, old))


async def _old_jobs(client: Client, target: Target, since: float) -> list[Old]:
    """Those that the user may delete: in some namespaces that is his own."""
    old = await pruning.old_jobs(client, target.namespace, since, datetime.now(UTC))
    isolations = {
        namespace: await users.isolation_of(client, target.connection, namespace, users.ARENA_NAMESPACE)
        for namespace in {each.view.namespace for each in old}
    }
    return [each for each in old if isolations[each.view.namespace].shows(each.found.obj)]


async def _delete(client: Client, old: Sequence[Old]) -> None:
    for _, view, _ in old:
        for there in await deleting.present(client, view.namespace, view.name, trainers.by_word(view.trainer)):
            await deleting.delete(client, there)
        speaking.say(text("Job {name} is deleted.", name=view.name))
