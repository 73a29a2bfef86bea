# SPDX-License-Identifier: Apache-2.0
"""`arena list`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from springtide.cli.arena import job_types, outputs
from springtide.cli.arena.command_tree import Verb
from springtide.cli.arena.session import Session
from springtide.cli.flags.pflag import Flag, Kind, Parsed
from springtide.cli.jobs import finding
from springtide.kube.client import Client
from springtide.views.jobs import JobView, job_view, newest_first
from springtide.views.pages import arena_tables, documents
from springtide.views.trainers import Trainer

EVERYWHERE: Final = Flag("all-namespaces", Kind.BOOL, "in all namespaces", short="A", old_names=("allNamespaces",))


def list_jobs(session: Session, line: Parsed) -> None:
    form, trainer = outputs.chosen(line), job_types.chosen(line)
    everywhere = line.values[EVERYWHERE.name]
    namespace = "" if everywhere else session.namespace
    with_pods = form in outputs.DOCUMENTS
    views = session.talk(lambda client: views_of(session, client, namespace, trainer, with_pods=with_pods))
    now = datetime.now(UTC)
    if with_pods:
        outputs.show(form, [documents.arena_document(view, now) for view in views])
    else:
        outputs.show_page(arena_tables.job_list(views, now, all_namespaces=everywhere))


async def views_of(
    session: Session, client: Client, namespace: str, trainer: Trainer | None, *, with_pods: bool
) -> list[JobView]:
    """Without pods a job's status says what is shown."""
    isolation = await session.isolation(client)
    found = await finding.all_jobs(client, namespace, trainer.name if trainer else "")
    shown = [job for job in found if isolation.shows(job.obj)]
    if not with_pods:
        return newest_first(job_view(job.obj) for job in shown)
    pods = await finding.pods_of_all(client, namespace)
    return newest_first(job_view(job.obj, pods.get(job.key, ())) for job in shown)


LIST: Final = Verb((job_types.TYPE, EVERYWHERE, outputs.OUTPUT), list_jobs)
