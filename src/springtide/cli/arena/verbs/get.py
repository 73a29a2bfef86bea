# SPDX-License-Identifier: Apache-2.0
"""`arena get`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from springtide.cli.arena import job_types, outputs
from springtide.cli.arena.command_tree import Verb
from springtide.cli.arena.session import Session
from springtide.cli.arena.wording import in_arenas_words
from springtide.cli.flags.pflag import Flag, Kind, Parsed
from springtide.cli.jobs import finding
from springtide.cli.jobs.changing.deleting import NotYours
from springtide.cli.jobs.finding import Job
from springtide.cli.jobs.tensorboard import tensorboards
from springtide.kube.client import Client
from springtide.kube.request import Scope
from springtide.kube.resources import EVENTS, Key, Obj
from springtide.views.events import EventView, events_of
from springtide.views.jobs import JobView, job_view
from springtide.views.pages import arena_tables, documents
from springtide.views.trainers import Trainer


def get(session: Session, line: Parsed) -> None:
    form, trainer = outputs.chosen(line), job_types.chosen(line)
    wants_events = line.values["events"] and form not in outputs.DOCUMENTS

    async def asked(client: Client) -> tuple[JobView, str, list[EventView] | None]:
        view = await view_of(session, client, line.arguments[0], trainer)
        tensorboard = await tensorboards.reached(client, Key(view.namespace, view.name))
        return view, tensorboard.url, await _events(client, view) if wants_events else None

    with in_arenas_words():
        view, tensorboard, events = session.talk(asked)
    now = datetime.now(UTC)
    if form in outputs.DOCUMENTS:
        outputs.show(form, documents.arena_document(view, now, tensorboard))
        return
    page = arena_tables.job_page(view, now, gpus=line.values["gpus"], tensorboard=tensorboard, events=events)
    outputs.show_page(page)


async def job_of(session: Session, client: Client, name: str, trainer: Trainer | None) -> Job:
    isolation = await session.isolation(client)
    job = await finding.find(client, session.namespace, name, trainer.name if trainer else "")
    if not isolation.shows(job.obj):
        raise NotYours(name)
    return job


async def view_of(session: Session, client: Client, name: str, trainer: Trainer | None) -> JobView:
    job = await job_of(session, client, name, trainer)
    return job_view(job.obj, await finding.pods(client, job))


async def _events(client: Client, view: JobView) -> list[EventView]:
    found: list[Obj] = (await client.list(EVENTS, Scope(view.namespace))).items
    return events_of(view, found)


GET: Final = Verb(
    (
        job_types.TYPE,
        outputs.OUTPUT,
        Flag("events", Kind.BOOL, "show the events of the job and its instances", short="e"),
        Flag("gpus", Kind.BOOL, "show the GPUs of the instances", short="g"),
    ),
    get,
    "not set job name,please set it",
)
