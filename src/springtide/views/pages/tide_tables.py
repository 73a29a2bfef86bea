# SPDX-License-Identifier: Apache-2.0
"""What `tide` shows of jobs and nodes: tables that fit a terminal, without a newline at the end.

Heads and labels are English in every language: users search for them, and scripts read them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from springtide.api.quantity import Quantity
from springtide.messages import Text, text
from springtide.views.jobs import JobView
from springtide.views.pages.ages import human_duration
from springtide.views.pages.nodes import NodeView
from springtide.views.pages.tables import Column, printable, table

NOTHING: Final = "-"


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


def change_line(view: JobView) -> str:
    """What a line is printed for where a page cannot be drawn anew."""
    parts = (view.state, f"workers {view.workers}", printable(view.explanation))
    return "  ".join(part for part in parts if part)


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
    """Those that ask for most GPUs first."""
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
    columns = (*((_NAMESPACE.column,) if all_namespaces else ()), *_TOP_JOBS)
    return table(columns, rows, width)


def jobs_total(views: Sequence[JobView]) -> Text:
    """Of those that have not finished."""
    going = [view for view in views if not view.finished]
    taken, asked = sum(each.allocated_gpus for each in going), sum(each.requested_gpus for each in going)
    return text("GPUs of all jobs: {taken} allocated, {asked} requested", taken=taken, asked=asked)


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
    """What pods take up of each node."""
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
    return table(_NODES, rows, width)


def nodes_total(views: Sequence[NodeView]) -> Text:
    taken, total = sum(view.allocated_gpus for view in views), sum(view.gpus for view in views)
    share = f" ({100 * taken / total:.1f}%)" if total else ""
    figures = {"taken": f"{taken:g}", "total": f"{total:g}", "share": share}
    return text("GPUs of all nodes: {taken} allocated of {total}{share}", **figures)


def _cores(amount: Quantity) -> str:
    return f"{amount.milli / 1000:g}"


def _gib(amount: Quantity) -> str:
    return f"{amount.value / _GIB:.1f}".removesuffix(".0")
