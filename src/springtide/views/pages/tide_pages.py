# SPDX-License-Identifier: Apache-2.0
"""The page of one job, as `tide get` shows it, without a newline at the end. Labels are English, like tables' heads."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, tzinfo
from typing import Final

from springtide.views.events import EventView
from springtide.views.instances import InstanceView
from springtide.views.jobs import JobView
from springtide.views.pages.ages import human_duration, local_time, seconds
from springtide.views.pages.tables import Column, printable, table, wrapped
from springtide.views.pages.tide_tables import NOTHING

_LABEL: Final = 12
_NARROWEST: Final = 30
_LATER: Final = 10

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
    parts = wrapped(value, room) if room else [value]
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
