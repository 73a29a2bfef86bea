# SPDX-License-Identifier: Apache-2.0
"""What `tide` shows of jobs and nodes: tables and pages that fit a terminal, without a newline at the end.

Heads and labels are English in every language: users search for them, and scripts read them.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, tzinfo
from typing import Final, NamedTuple

from springtide.api.quantity import Quantity
from springtide.views.ages import human_duration, local_time, seconds
from springtide.views.events import EventView
from springtide.views.instances import InstanceView
from springtide.views.jobs import JobView
from springtide.views.nodes import NodeView
from springtide.views.tables import Column, printable, table

NOTHING: Final = "-"
_LABEL: Final = 12
_NARROWEST: Final = 30
_LATER: Final = 10


class _Cell(NamedTuple):
    column: Column
    shown: Callable[[JobView, datetime], str]


_NAMESPACE: Final = _Cell(Column("NAMESPACE", rank=1, shrinks=True), lambda view, now: view.namespace)
_LIST: Final = (
    _Cell(Column("NAME", shrinks=True), lambda view, now: view.name),
    _Cell(Column("STATE"), lambda view, now: "Deleting" if view.deleting else view.state),
    _Cell(Column("WORKERS", rank=2), lambda view, now: view.workers),
    _Cell(Column("GPUS", rank=4), lambda view, now: _gpus(view)),
    _Cell(Column("TRAINER", rank=6), lambda view, now: view.trainer),
    _Cell(Column("DURATION", rank=3), lambda view, now: human_duration(view.duration(now))),
    _Cell(Column("NODE", rank=5, shrinks=True), lambda view, now: view.node or NOTHING),
)
_WIDE: Final = (
    _Cell(Column("BOUNDS", rank=7), lambda view, now: view.bounds or NOTHING),
    _Cell(Column("STEP", rank=8), lambda view, now: _step(view)),
    _Cell(Column("LOSS", rank=8), lambda view, now: _loss(view)),
    _Cell(Column("PRIORITY", rank=9, shrinks=True), lambda view, now: view.priority or NOTHING),
    _Cell(Column("AGE", rank=9), lambda view, now: human_duration(view.age(now))),
    _Cell(Column("EXPLANATION", rank=10, shrinks=True), lambda view, now: view.explanation or NOTHING),
)


def list_columns(*, all_namespaces: bool = False, wide: bool = False) -> list[Column]:
    return [cell.column for cell in _cells(all_namespaces, wide)]


def list_row(view: JobView, now: datetime, *, all_namespaces: bool = False, wide: bool = False) -> list[str]:
    return [cell.shown(view, now) for cell in _cells(all_namespaces, wide)]


def _cells(all_namespaces: bool, wide: bool) -> tuple[_Cell, ...]:
    return (*((_NAMESPACE,) if all_namespaces else ()), *_LIST, *(_WIDE if wide else ()))


def job_list(
    views: Iterable[JobView],
    now: datetime,
    width: int | None = None,
    *,
    all_namespaces: bool = False,
    wide: bool = False,
) -> str:
    """`width` is that of the terminal; None: everything is shown."""
    rows = [list_row(view, now, all_namespaces=all_namespaces, wide=wide) for view in views]
    return table(list_columns(all_namespaces=all_namespaces, wide=wide), rows, width)


def _gpus(view: JobView) -> str:
    """Those that it has of those that it asks for."""
    if not view.requested_gpus:
        return NOTHING
    return f"{view.allocated_gpus}/{view.requested_gpus}"


def _step(view: JobView) -> str:
    return NOTHING if view.progress is None or view.progress.step is None else str(view.progress.step)


def _loss(view: JobView) -> str:
    return NOTHING if view.progress is None else view.progress.loss or NOTHING


_INSTANCES: Final = (
    Column("INSTANCE", shrinks=True, differs_at_end=True),
    Column("STATUS"),
    Column("READY", rank=3),
    Column("RESTARTS", rank=5),
    Column("AGE", rank=2),
    Column("GPUS", rank=4),
    Column("NODE", rank=1, shrinks=True),
)
_EVENTS: Final = (
    Column("LAST", rank=3),
    Column("TYPE", rank=2),
    Column("REASON", rank=1),
    Column("OBJECT", rank=4, shrinks=True),
    Column("MESSAGE", shrinks=True),
)


def job_page(
    view: JobView,
    now: datetime,
    zone: tzinfo | None = None,
    width: int | None = None,
    *,
    tensorboard: str = "",
    events: Sequence[EventView] | None = None,
) -> str:
    """`tide get`. `events` of the job and its instances; None: they were not asked for."""
    facts = [
        ("Name", view.name),
        ("Namespace", view.namespace),
        ("State", view.state + (", being deleted" if view.deleting else "")),
        ("", printable(view.explanation)),
        ("Trainer", view.trainer),
        ("Workers", view.workers + (f", {view.bounds} allowed" if view.bounds else "")),
        ("GPUs", f"{view.allocated_gpus} of {view.requested_gpus}" if view.requested_gpus else NOTHING),
        ("Priority", view.priority or NOTHING),
        ("Progress", _progress(view, now)),
        ("Created", _moment(view.created, now, zone)),
        ("Started", _moment(view.started, now, zone)),
        ("Ended", _moment(view.ended, now, zone)),
        ("Duration", human_duration(view.duration(now))),
        ("Model", f"{view.model_name} {view.model_version}".strip()),
        ("TensorBoard", tensorboard),
    ]
    lines = [line for label, value in facts if value for line in _fact(label, value, width)]
    if view.instances:
        lines += ["", table(_INSTANCES, [_instance(each, now) for each in view.instances], width)]
    if events:
        lines += ["", table(_EVENTS, [_event(each, now) for each in events], width)]
    return "\n".join(lines)


def _fact(label: str, value: str, width: int | None) -> list[str]:
    """A long value goes on in the next lines."""
    head = f"{label}:" if label else ""
    indent = " " * (_LABEL + 1)
    room = max(width - len(indent), _NARROWEST) if width is not None else None
    parts = textwrap.wrap(value, room, break_long_words=False, break_on_hyphens=False) if room else [value]
    return [f"{head.ljust(_LABEL)} {parts[0]}", *(indent + part for part in parts[1:])]


def _progress(view: JobView, now: datetime) -> str:
    progress = view.progress
    if progress is None:
        return ""
    parts = [
        f"step {progress.step}" if progress.step is not None else "",
        f"loss {progress.loss}" if progress.loss else "",
        f"{progress.ranks} rank{'s' * (progress.ranks != 1)}" if progress.ranks is not None else "",
    ]
    said = ", ".join(part for part in parts if part)
    age = seconds(progress.updated, now)
    late = f" ({human_duration(age)} ago)" if age > _LATER and said else ""
    return said + late


def _moment(moment: datetime | None, now: datetime, zone: tzinfo | None) -> str:
    return f"{local_time(moment, zone)} ({human_duration(seconds(moment, now))} ago)" if moment is not None else ""


def _instance(instance: InstanceView, now: datetime) -> list[str]:
    return [
        instance.name,
        instance.status,
        instance.ready,
        str(instance.restarts),
        human_duration(instance.age(now)),
        str(instance.gpus or NOTHING),
        instance.node or NOTHING,
    ]


def _event(event: EventView, now: datetime) -> list[str]:
    many = f" (x{event.count})" if event.count > 1 else ""
    age = human_duration(seconds(event.last, now))
    return [age + many, event.type, event.reason, f"{event.kind.lower()}/{event.name}", event.message]


def change_line(view: JobView) -> str:
    """What a line is printed for where a page cannot be drawn anew."""
    parts = (view.state, f"workers {view.workers}", printable(view.explanation))
    return "  ".join(part for part in parts if part)


_GPUS_BY_NODE: Final = (
    Column("NODE", shrinks=True),
    Column("NODE IP", rank=1),
    Column("GPUS"),
    Column("INSTANCES", shrinks=True),
)


def gpus_by_node(view: JobView, width: int | None = None) -> str:
    """Where the GPUs are that the job takes up."""
    by_node: dict[tuple[str, str], list[InstanceView]] = {}
    for each in view.instances:
        if each.allocated_gpus:
            by_node.setdefault((each.node, each.node_ip), []).append(each)
    rows = [
        [
            node,
            address or NOTHING,
            str(sum(each.allocated_gpus for each in held)),
            ", ".join(each.name for each in held),
        ]
        for (node, address), held in sorted(by_node.items())
    ]
    return table(_GPUS_BY_NODE, rows, width)


_TOP_JOBS: Final = (
    Column("NAME", shrinks=True),
    Column("STATE"),
    Column("WORKERS", rank=2),
    Column("GPUS(ALLOCATED)", rank=1),
    Column("GPUS(REQUESTED)", rank=1),
    Column("DURATION", rank=3),
    Column("NODE", rank=4, shrinks=True),
)


def top_jobs(views: Iterable[JobView], now: datetime, width: int | None = None, *, all_namespaces: bool = False) -> str:
    """Those that ask for most GPUs first. The totals are of those that have not finished."""
    ordered = sorted(views, key=lambda view: -view.requested_gpus)
    rows = [
        [
            *([view.namespace] if all_namespaces else []),
            view.name,
            view.state,
            view.workers,
            str(view.allocated_gpus),
            str(view.requested_gpus),
            human_duration(view.duration(now)),
            view.node or NOTHING,
        ]
        for view in ordered
    ]
    going = [view for view in ordered if not view.finished]
    taken, asked = sum(each.allocated_gpus for each in going), sum(each.requested_gpus for each in going)
    columns = (*((_NAMESPACE.column,) if all_namespaces else ()), *_TOP_JOBS)
    return f"{table(columns, rows, width)}\n\nGPUs of all jobs: {taken} allocated, {asked} requested"


_NODES: Final = (
    Column("NAME", shrinks=True),
    Column("STATUS"),
    Column("ROLE", rank=5),
    Column("GPUS", rank=1),
    Column("UNHEALTHY", rank=4),
    Column("CPU", rank=2),
    Column("MEMORY", rank=2),
    Column("PODS", rank=3),
)
_GIB: Final = 2**30


def top_nodes(views: Sequence[NodeView], width: int | None = None) -> str:
    """What pods take up of each node, and of all."""
    rows = [
        [
            view.name,
            view.status,
            view.role or NOTHING,
            f"{view.allocated_gpus:g}/{view.gpus:g}" if view.gpus else NOTHING,
            f"{view.unhealthy_gpus:g}" if view.unhealthy_gpus else NOTHING,
            "/".join(map(_cores, view.cpu)),
            "/".join(map(_gib, view.memory)) + "Gi",
            str(view.pods),
        ]
        for view in views
    ]
    taken, total = sum(view.allocated_gpus for view in views), sum(view.gpus for view in views)
    share = f" ({100 * taken / total:.1f}%)" if total else ""
    return f"{table(_NODES, rows, width)}\n\nGPUs of all nodes: {taken:g} allocated of {total:g}{share}"


def _cores(amount: Quantity) -> str:
    return f"{amount.milli / 1000:g}"


def _gib(amount: Quantity) -> str:
    return f"{amount.value / _GIB:.1f}".removesuffix(".0")
