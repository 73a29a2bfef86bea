# SPDX-License-Identifier: Apache-2.0
"""`tide top job` and `tide top node`: what jobs take up, and what nodes have."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from datetime import UTC, datetime

import click

from springtide.cli import speaking
from springtide.cli.commands import CommandGroup
from springtide.cli.completion import job_names
from springtide.cli.connecting import Target, on_cluster
from springtide.cli.errors import ExitCode, Failure
from springtide.cli.jobs import finding
from springtide.cli.tide_jobs import options
from springtide.cli.tide_jobs.output import outputs, screen
from springtide.cli.tide_jobs.output.outputs import Form, Output
from springtide.kube.client import Client
from springtide.kube.request import Scope
from springtide.kube.resources import NODES, PODS, Obj
from springtide.messages import text
from springtide.views import trainers
from springtide.views.jobs import JobView, job_view
from springtide.views.pages import arena_nodes, tide_tables
from springtide.views.pages.nodes import NodeView, node_views


@click.group(cls=CommandGroup, other_words={"jobs": "job", "nodes": "node"})
def top() -> None:
    """Show what jobs take up, and what nodes have."""


@top.command(
    epilog="""\b
Examples:
  tide top job -A
  tide top job bert gpt -w"""
)
@on_cluster(all_namespaces=True)
@click.argument(
    "names",
    nargs=-1,
    metavar="[JOB]...",
    shell_complete=job_names.jobs,
    help="Names of jobs; without any, all of them.",
)
@options.only_type_option
@outputs.output_option
@click.option("-w", "--watch", is_flag=True, help="Go on, and show changes as they happen.")
def job(target: Target, names: tuple[str, ...], type_: str, output: Output, watch: bool) -> None:
    """Show the GPUs of jobs, those that ask for most first."""
    _tables_only(output, watch)
    if watch:
        _watch_jobs(target, names, type_)
        return
    jobs = target.talk(lambda client: finding.all_jobs(client, target.namespace, type_))
    views = _chosen([job_view(job.obj) for job in jobs], names, target.namespace)
    now = datetime.now(UTC)
    if output.needs_documents:
        from springtide.views.pages.documents import document  # noqa: PLC0415  # mostly a table is shown

        speaking.document(outputs.written(output, [document(view, now) for view in views], listed=True))
    elif output.form is Form.NAME:
        speaking.document("\n".join(trainers.object_name(view.kind, view.name) for view in views))
    else:
        speaking.page(_job_table(target, views))


def _job_table(target: Target, views: Sequence[JobView]) -> str:
    width, everywhere = outputs.terminal_width(), not target.namespace
    table = tide_tables.top_jobs(views, datetime.now(UTC), width, all_namespaces=everywhere)
    return f"{table}\n\n{speaking.shown(tide_tables.jobs_total(views))}"


def _node_table(views: Sequence[NodeView]) -> str:
    table = tide_tables.top_nodes(views, outputs.terminal_width())
    return f"{table}\n\n{speaking.shown(tide_tables.nodes_total(views))}"


def _chosen(views: Sequence[JobView], names: tuple[str, ...], namespace: str) -> list[JobView]:
    found = {view.name for view in views}
    for name in names:
        if name not in found:
            similar = difflib.get_close_matches(name, found, 1)
            listed = text("see all jobs with: {command}", command="tide list -A")
            hint = text("did you mean {name}?", name=similar[0]) if similar else listed
            raise finding.JobNotFound(namespace, name, hint)
    return [view for view in views if not names or view.name in names]


def _watch_jobs(target: Target, names: tuple[str, ...], type_: str) -> None:
    # Imported here because it takes longer than to show a table once.
    from springtide.cli.tide_jobs.output.watching import follow  # noqa: PLC0415

    served = target.talk(lambda client: finding.served(client, finding.kinds(type_)))
    wanted, show = trainers.by_word(type_), _Redrawn()

    def shown(found: Sequence[Sequence[Obj]]) -> bool:
        views = [
            job_view({"kind": resource.kind, **obj})
            for resource, objects in zip(served, found, strict=True)
            for obj in objects
        ]
        of_type = [view for view in views if wanted is None or view.trainer == wanted.name]
        show(_job_table(target, [view for view in of_type if not names or view.name in names]))
        return False

    follow(target, [(resource, Scope(target.namespace)) for resource in served], shown)


class _Redrawn:
    """In place on a terminal, otherwise one after another, with an empty line between them."""

    def __init__(self) -> None:
        self._screen, self._last = screen.Screen(), ""

    def __call__(self, table: str) -> None:
        if screen.is_live():
            self._screen.draw(table)
        elif table != self._last:
            speaking.page(table if not self._last else f"\n{table}")
        self._last = table


@top.command(
    epilog="""\b
Examples:
  tide top node
  tide top node gpu-1 gpu-2 -o json"""
)
@on_cluster()
@click.argument(
    "names",
    nargs=-1,
    metavar="[NODE]...",
    shell_complete=job_names.nodes,
    help="Names of nodes; without any, all of them.",
)
@outputs.output_option
@click.option("-w", "--watch", is_flag=True, help="Go on, and show changes as they happen.")
def node(target: Target, names: tuple[str, ...], output: Output, watch: bool) -> None:
    """Show the GPUs, processors and memory of nodes, and what pods take up of them."""
    _tables_only(output, watch)
    if watch:
        _watch_nodes(target, names)
        return

    async def asked(client: Client) -> tuple[list[Obj], list[Obj]]:
        return (await client.list(NODES)).items, (await client.list(PODS, _ON_NODES)).items

    views = _chosen_nodes(node_views(*target.talk(asked)), names)
    if output.form is Form.NAME:
        speaking.document("\n".join(f"node/{view.name}" for view in views))
    elif output.needs_documents:
        speaking.document(outputs.written(output, [arena_nodes.node_document(views)], listed=False))
    else:
        speaking.page(_node_table(views))


_ON_NODES = Scope(fields="spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed")


def _chosen_nodes(views: Sequence[NodeView], names: tuple[str, ...]) -> list[NodeView]:
    found = {view.name for view in views}
    for name in names:
        if name not in found:
            hint = text("the nodes are: {names}", names=", ".join(sorted(found)))
            raise Failure(text("There is no node {name}.", name=name), hint=hint, code=ExitCode.NOT_FOUND)
    return [view for view in views if not names or view.name in names]


def _watch_nodes(target: Target, names: tuple[str, ...]) -> None:
    # Imported here because it takes longer than to show a table once.
    from springtide.cli.tide_jobs.output.watching import follow  # noqa: PLC0415

    show = _Redrawn()

    def shown(found: Sequence[Sequence[Obj]]) -> bool:
        views = node_views(*found)
        show(_node_table([view for view in views if not names or view.name in names]))
        return False

    follow(target, [(NODES, Scope()), (PODS, _ON_NODES)], shown)


def _tables_only(output: Output, watch: bool) -> None:
    if watch and not output.is_table:
        raise click.UsageError(speaking.shown(text("-w shows a table: leave out -o")))
