# SPDX-License-Identifier: Apache-2.0
"""`tide list`: the jobs of a namespace, of all kinds."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import click

from springtide.cli import speaking
from springtide.cli.connecting import Target, on_cluster
from springtide.cli.jobs import finding
from springtide.cli.tide_jobs import options
from springtide.cli.tide_jobs.output import outputs, screen
from springtide.cli.tide_jobs.output.outputs import Form, Output
from springtide.kube.client import Client
from springtide.kube.request import Scope
from springtide.kube.resources import Obj
from springtide.messages import Text, text
from springtide.views import trainers
from springtide.views.jobs import JobView, job_view, newest_first
from springtide.views.pages import tide_tables
from springtide.views.pages.tables import Rows


@click.command(
    "list",
    epilog="""\b
Examples:
  tide list -A
  tide list -T pytorchjob -o wide
  tide list -w
  tide list -o jsonpath='{range [*]}{.name}{"\\t"}{.state}{"\\n"}{end}'""",
)
@on_cluster(all_namespaces=True)
@options.only_type_option
@outputs.output_option
@click.option("-w", "--watch", is_flag=True, help="Go on, and show changes as they happen.")
def list_(target: Target, type_: str, output: Output, watch: bool) -> None:
    """Show the jobs of a namespace, the newest first."""
    if watch and not output.is_table:
        raise click.UsageError(speaking.shown(text("-w shows a table: leave out -o, or ask for -o wide")))
    listing = _Listing(target, output)
    views = target.talk(lambda client: _views(client, target, type_, with_pods=output.needs_documents))
    if output.needs_documents:
        from springtide.views.pages.documents import document  # noqa: PLC0415  # most lists are tables

        speaking.document(outputs.written(output, [document(view, listing.now()) for view in views], listed=True))
    elif output.form is Form.NAME:
        for view in views:
            speaking.document(trainers.object_name(view.kind, view.name))
    elif watch:
        listing.watch(type_)
    elif views:
        speaking.page(listing.table(views))
    else:
        speaking.note(_none(target.namespace))


def _none(namespace: str) -> Text:
    if not namespace:
        return text("There are no jobs in any namespace.")
    return text("There are no jobs in namespace {namespace}.", namespace=namespace)


async def _views(client: Client, target: Target, type_: str, *, with_pods: bool) -> list[JobView]:
    """What the table shows stands in the jobs' status."""
    jobs = await finding.all_jobs(client, target.namespace, type_)
    if not with_pods:
        return newest_first(job_view(job.obj) for job in jobs)
    pods = await finding.pods_of_all(client, target.namespace)
    return newest_first(job_view(job.obj, pods.get(job.key, ())) for job in jobs)


class _Listing:
    """The table, once or again and again."""

    def __init__(self, target: Target, output: Output) -> None:
        self._target = target
        self._everywhere, self._wide = not target.namespace, output.form is Form.WIDE
        self._screen = screen.Screen()
        self._rows = Rows(tide_tables.list_columns(all_namespaces=self._everywhere, wide=self._wide))
        self._seen: dict[str, JobView] = {}

    @staticmethod
    def now() -> datetime:
        return datetime.now(UTC)

    def table(self, views: Sequence[JobView]) -> str:
        width = outputs.terminal_width()
        views = [outputs.in_words(view) for view in views] if self._wide else views
        return tide_tables.job_list(views, self.now(), width, all_namespaces=self._everywhere, wide=self._wide)

    def watch(self, type_: str) -> None:
        # Imported here because it takes longer than a list.
        from springtide.cli.tide_jobs.output.watching import follow  # noqa: PLC0415

        kinds = finding.kinds(type_)
        served = self._target.talk(lambda client: finding.served(client, kinds))
        wanted = trainers.by_word(type_)

        def shown(found: Sequence[Sequence[Obj]]) -> bool:
            views = newest_first(
                job_view({"kind": resource.kind, **obj})
                for resource, objects in zip(served, found, strict=True)
                for obj in objects
            )
            views = [view for view in views if wanted is None or view.trainer == wanted.name]
            if screen.is_live():
                self._screen.draw(self.table(views))
            else:
                self._print_changes(views)
            return False

        follow(self._target, [(resource, Scope(self._target.namespace)) for resource in served], shown)

    def _print_changes(self, views: Sequence[JobView]) -> None:
        """A line for each job that is new or looks different now."""
        now = self.now()
        for view in views:
            if self._seen.get(view.uid) != view:
                row = tide_tables.list_row(view, now, all_namespaces=self._everywhere, wide=self._wide)
                speaking.page(self._rows.line(row))
        self._seen = {view.uid: view for view in views}
