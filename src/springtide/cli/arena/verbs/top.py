# SPDX-License-Identifier: Apache-2.0
"""`arena top`: the GPUs of jobs and of nodes. With `--refresh` again every two seconds, until Ctrl-C."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

from springtide.cli.arena import job_types, outputs
from springtide.cli.arena.command_tree import Verb
from springtide.cli.arena.errors import ArenaError
from springtide.cli.arena.session import Session
from springtide.cli.arena.verbs.get import view_of
from springtide.cli.arena.verbs.list_jobs import EVERYWHERE, views_of
from springtide.cli.arena.wording import in_arenas_words
from springtide.cli.flags.pflag import Flag, Kind, Parsed
from springtide.kube.client import Client
from springtide.kube.resources import NODES, PODS
from springtide.views.jobs import JobView
from springtide.views.pages import arena_nodes, arena_tables, documents
from springtide.views.pages.nodes import NodeView, mode_by_word, node_views

_PAUSE: Final = 2.0
_REFRESH: Final = Flag("refresh", Kind.BOOL, "show it again every two seconds", short="r")


def _repeated(again: bool, show: Callable[[], None]) -> None:
    show()
    while again:
        time.sleep(_PAUSE)
        print("\x1b[H\x1b[2J", end="")
        show()


def jobs(session: Session, line: Parsed) -> None:
    form, trainer = outputs.chosen(line), job_types.chosen(line)
    if line.values["refresh"] and not line.arguments:
        raise ArenaError("--refresh shows one job again and again: which one?")
    everywhere, now = line.values[EVERYWHERE.name], datetime.now(UTC)
    if line.arguments:
        _repeated(line.values["refresh"], lambda: _one(session, line, form))
        return
    namespace = "" if everywhere else session.namespace
    views = session.talk(lambda client: views_of(session, client, namespace, trainer, with_pods=True))
    if form in outputs.DOCUMENTS:
        outputs.show(form, [documents.arena_document(view, now) for view in views])
    else:
        outputs.show_page(arena_tables.top_jobs(views, now, all_namespaces=everywhere))


def _one(session: Session, line: Parsed, form: str) -> None:
    async def asked(client: Client) -> JobView:
        return await view_of(session, client, line.arguments[0], job_types.chosen(line))

    with in_arenas_words():
        view = session.talk(asked)
    now = datetime.now(UTC)
    if form in outputs.DOCUMENTS:
        outputs.show(form, documents.arena_document(view, now))
    else:
        outputs.show_page(arena_tables.top_job(view, now, instance=line.values["instance"]))


def nodes(session: Session, line: Parsed) -> None:
    form = outputs.chosen(line)
    mode, named = _mode(line.values["gpu-mode"]), set(line.arguments)

    async def asked(client: Client) -> list[NodeView]:
        found = (await client.list(NODES)).items
        return node_views(found, (await client.list(PODS)).items)

    def show() -> None:
        views = [view for view in session.talk(asked) if not named or view.name in named]
        if missing := named - {view.name for view in views}:
            raise ArenaError(f"not found nodes: {', '.join(sorted(missing))}")
        shown = [view for view in views if mode is None or view.mode is mode]
        if form in outputs.DOCUMENTS:
            outputs.show(form, arena_nodes.node_document(shown))
        elif line.values["details"]:
            outputs.show_page(arena_nodes.node_details(shown))
        else:
            outputs.show_page(arena_nodes.node_list(shown, named=bool(named)))

    _repeated(line.values["refresh"], show)


def _mode(word: str) -> Any:
    found = mode_by_word(word) if word else None
    if word and found is None:
        raise ArenaError(f"unknown gpu mode {word}, it should be one of n(none), e(exclusive), t(topology), s(share)")
    return found


JOB: Final = Verb(
    (
        job_types.TYPE,
        EVERYWHERE,
        outputs.OUTPUT,
        _REFRESH,
        Flag("instance", Kind.STRING, "only this instance", short="i"),
    ),
    jobs,
)
NODE: Final = Verb(
    (
        Flag("details", Kind.BOOL, "show each node with its pods", short="d"),
        Flag("gpu-mode", Kind.STRING, "only nodes whose GPUs are given in this way: n, e, t or s", short="m"),
        Flag("metric", Kind.BOOL, "accepted and ignored: Prometheus is not asked"),
        outputs.OUTPUT,
        _REFRESH,
    ),
    nodes,
)
