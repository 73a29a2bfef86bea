# SPDX-License-Identifier: Apache-2.0
"""`tide get JOB`: a job and its instances."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import click

from springtide.cli import speaking
from springtide.cli.connecting import Target, on_cluster
from springtide.cli.jobs import finding
from springtide.cli.jobs.finding import Job
from springtide.cli.jobs.tensorboard import tensorboards
from springtide.cli.jobs.tensorboard.tensorboards import Reached
from springtide.cli.tide_jobs import options
from springtide.cli.tide_jobs.output import outputs, screen
from springtide.cli.tide_jobs.output.outputs import Form, Output
from springtide.kube.client import Client
from springtide.kube.request import Scope
from springtide.kube.resources import EVENTS, PODS, Obj
from springtide.messages import text
from springtide.views import trainers
from springtide.views.events import EventView, events_of
from springtide.views.jobs import JobView, job_view
from springtide.views.pages import tide_pages, tide_tables


@click.command(
    epilog="""\b
Examples:
  tide get bert -e
  tide get bert -w
  tide get bert --live
  tide get bert -o jsonpath='{.instances[*].node}'"""
)
@on_cluster()
@options.job_argument
@options.type_option
@click.option("-e", "--events", is_flag=True, help="Show the events of the job and its instances, too.")
@click.option("-g", "--gpus", is_flag=True, help="Show the GPUs on each node, too.")
@outputs.output_option
@click.option("-w", "--watch", is_flag=True, help="Go on until the job has ended, and show changes as they happen.")
@click.option("--live", is_flag=True, help="Draw loss, throughput and workers while the job trains.")
def get(target: Target, name: str, type_: str, output: Output, **more: bool) -> None:
    """Show a job: its state and why, its progress, and its instances."""
    if (more["watch"] or more["live"]) and output.form is not Form.TABLE:
        raise click.UsageError(speaking.shown(text("-w and --live show the page: leave out -o")))
    if more["live"]:
        # Imported here because it is seldom asked for.
        from springtide.cli.tide_jobs.output.live import show_live  # noqa: PLC0415

        show_live(target, name, type_)
    elif more["watch"]:
        _watch(target, name, type_, gpus=more["gpus"])
    else:
        _once(target, name, type_, output, more)


def _once(target: Target, name: str, type_: str, output: Output, more: dict[str, bool]) -> None:
    async def asked(client: Client) -> tuple[JobView, Reached, list[EventView] | None]:
        job = await finding.find(client, target.namespace, name, type_)
        view = job_view(job.obj, await finding.pods(client, job))
        events = None
        if more["events"]:
            listing = await client.list(EVENTS, Scope(job.key.namespace))
            events = events_of(view, listing.items)
        return view, await tensorboards.reached(client, job.key), events

    view, tensorboard, events = target.talk(asked)
    now = datetime.now(UTC)
    if output.form is Form.NAME:
        speaking.document(trainers.object_name(view.kind, view.name))
    elif output.needs_documents:
        from springtide.views.pages.documents import document  # noqa: PLC0415  # mostly a page is shown

        speaking.document(outputs.written(output, [document(view, now, tensorboard.url)], listed=False))
    else:
        width = outputs.terminal_width()
        board = tensorboard.url or (_how_to_see(name) if tensorboard.exists else "")
        page = tide_pages.job_page(outputs.in_words(view), now, None, width, tensorboard=board, events=events)
        speaking.page(page)
        if more["gpus"]:
            speaking.page("\n" + tide_pages.gpus_by_node(view, width))
        if events is not None and not events:
            speaking.note(text("There are no events: they are kept for an hour."))


def _how_to_see(name: str) -> str:
    return speaking.shown(text("see it with: {command}", command=f"tide tensorboard {name}"))


def _watch(target: Target, name: str, type_: str, *, gpus: bool) -> None:
    # Imported here because it takes longer than to show a job once.
    from springtide.cli.tide_jobs.output.watching import follow  # noqa: PLC0415

    job = target.talk(lambda client: finding.find(client, target.namespace, name, type_))
    key, page = job.key, _Page(job, gpus=gpus)
    labels = trainers.of_job(job.obj).pods_selector(name)
    follow(
        target,
        [(job.resource, Scope(key.namespace, fields=f"metadata.name={name}")), (PODS, Scope(key.namespace, labels))],
        page.show,
    )


class _Page:
    """The page of a job, drawn again and again."""

    def __init__(self, job: Job, *, gpus: bool) -> None:
        self._job, self._gpus = job, gpus
        self._screen, self._last = screen.Screen(), ""

    def show(self, found: Sequence[Sequence[Obj]]) -> bool:
        (jobs, pods), now = found, datetime.now(UTC)
        obj = next((each for each in jobs if each["metadata"]["uid"] == self._job.uid), None)
        if obj is None:
            speaking.note(text("Job {name} was deleted.", name=self._job.name))
            return True
        view = outputs.in_words(job_view({"kind": self._job.resource.kind, **obj}, pods))
        if screen.is_live():
            width = outputs.terminal_width()
            parts = [tide_pages.job_page(view, now, None, width)]
            parts += ["", tide_pages.gpus_by_node(view, width)] if self._gpus else []
            self._screen.draw("\n".join(parts))
        else:
            self._print_change(view)
        return view.finished

    def _print_change(self, view: JobView) -> None:
        line = tide_tables.change_line(view)
        if line != self._last:
            speaking.page(line)
            self._last = line
