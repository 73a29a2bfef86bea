# SPDX-License-Identifier: Apache-2.0
"""What Arena prints of jobs for people: the full texts of `list`, `get` and `top job`, each with its last newline.

Heads, order and padding are Arena's; where its numbers are wrong ours are right: the age of each instance, the duration
of a job that has succeeded, the GPUs of a job that was resized.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, tzinfo
from itertools import groupby
from typing import Final

from springtide.views.events import EventView
from springtide.views.instances import InstanceView
from springtide.views.jobs import JobView
from springtide.views.pages.ages import local_time, seconds, short_duration
from springtide.views.pages.documents import NOTHING
from springtide.views.pages.tables import tabwriter

_COLUMNS: Final = ("NAME", "STATUS", "TRAINER", "DURATION", "GPU(Requested)", "GPU(Allocated)", "NODE")
_TOP_COLUMNS: Final = ("NAME", "STATUS", "TRAINER", "AGE", "GPU(Requested)", "GPU(Allocated)", "NODE")
_HOLDS_GPUS: Final = ("PENDING", "RUNNING")
_INSTANCES: Final = (
    "  NAME\tSTATUS\tAGE\tIS_CHIEF\tGPU(Requested)\tNODE",
    "  ----\t------\t---\t--------\t--------------\t----",
)
_GPUS: Final = (
    "  INSTANCE\tNODE(IP)\tGPU(Requested)\tGPU(IndexId)\tGPU(DutyCycle)\tGPU Memory(Used/Total)",
    "  --------\t--------\t--------------\t------------\t--------------\t----------------------",
)
_TOP_INSTANCES: Final = (
    "  NAME\tSTATUS\tGPU(Request)\tNODE\tGPU(DeviceIndex)\tGPU(DutyCycle)\tGPU_MEMORY(Used/Total)",
    "  ----\t------\t------------\t----\t----------------\t--------------\t---------------",
)
_EVENTS: Final = ("  SOURCE\tTYPE\tAGE\tMESSAGE", "  ------\t----\t---\t-------")


def job_list(views: Iterable[JobView], now: datetime, *, all_namespaces: bool = False) -> str:
    """`arena list`, in the order given."""
    lines = ["\t".join((*(["NAMESPACE"] if all_namespaces else []), *_COLUMNS))]
    for view in views:
        allocated = str(view.allocated_gpus) if view.arena_status in _HOLDS_GPUS else NOTHING
        lines.append(_row(view, now, allocated, all_namespaces))
    return tabwriter("\n".join(lines) + "\n")


def _row(view: JobView, now: datetime, allocated: str, all_namespaces: bool) -> str:
    cells = (
        view.name,
        view.arena_status,
        view.trainer.upper(),
        short_duration(view.duration(now)),
        str(view.requested_gpus),
        allocated,
        view.node_ip or NOTHING,
    )
    return "\t".join((*([view.namespace] if all_namespaces else []), *cells))


def job_page(
    view: JobView,
    now: datetime,
    zone: tzinfo | None = None,
    *,
    gpus: bool = False,
    tensorboard: str = "",
    events: Sequence[EventView] | None = None,
) -> str:
    """`arena get`. `events` of the job and its instances; None: they were not asked for."""
    lines = _header(view, now, zone)
    models = (("ModelName", view.model_name), ("ModelVersion", view.model_version))
    lines += [f"{name}:\t{value}" for name, value in models if value]
    lines += ["", "Instances:", *_INSTANCES, *(_instance(each, now) for each in view.instances)]
    if gpus and not view.succeeded:
        lines += _gpu_block(view)
    if tensorboard:
        lines += ["", "Tensorboard:", "  Your tensorboard will be available on: ", f"  {tensorboard}"]
    if events is not None:
        lines += ["", "Events:", *_events(events, now)]
    return tabwriter("\n".join(lines) + "\n")


def _header(view: JobView, now: datetime, zone: tzinfo | None) -> list[str]:
    return [
        f"Name:\t{view.name}",
        f"Status:\t{view.arena_status}",
        f"Namespace:\t{view.namespace}",
        f"Priority:\t{view.priority or NOTHING}",
        f"Trainer:\t{view.trainer.upper()}",
        f"Duration:\t{short_duration(view.duration(now))}",
        f"CreateTime:\t{local_time(view.created, zone)}",
        f"EndTime:\t{local_time(view.ended, zone)}",
    ]


def _instance(instance: InstanceView, now: datetime) -> str:
    cells = (
        f"  {instance.name}",
        instance.status,
        short_duration(instance.duration(now)),
        str(instance.is_chief).lower(),
        str(instance.gpus),
        NOTHING if instance.pending else instance.node or NOTHING,
    )
    return "\t".join(cells)


def _gpu_block(view: JobView) -> list[str]:
    requested = sum(each.gpus for each in view.instances)
    if not requested:
        return []
    allocated = sum(each.gpus for each in view.instances if each.status == "Running")
    rows = (
        "\t".join((f"  {each.name}", _node_ip(each), str(each.gpus), NOTHING, NOTHING, NOTHING))
        for each in view.instances
    )
    return ["", "GPUs:", *_GPUS, *rows, "", f"  Allocated/Requested GPUs of Job: {allocated}/{requested}"]


def _node_ip(instance: InstanceView) -> str:
    return NOTHING if instance.pending else instance.node_ip


def _events(events: Sequence[EventView], now: datetime) -> list[str]:
    if not events:
        return ["  No events for resources"]
    lines = list(_EVENTS)
    for _, group in groupby(events, key=lambda event: (event.kind, event.name)):
        lines += [_event(each, now) for each in group]
        lines.append("")
    return lines


def _event(event: EventView, now: datetime) -> str:
    source, age = f"  {event.kind.lower()}/{event.name}", short_duration(seconds(event.last, now))
    return f"{source}\t{event.type}\t{age}\t[{event.reason}] {event.message}"


def top_jobs(views: Iterable[JobView], now: datetime, *, all_namespaces: bool = False) -> str:
    """`arena top job`: those with most GPUs first, and totals of those that run."""
    ordered = sorted(views, key=lambda view: -view.requested_gpus)
    lines = ["\t".join((*(["NAMESPACE"] if all_namespaces else []), *_TOP_COLUMNS))]
    lines += [_row(view, now, str(view.allocated_gpus), all_namespaces) for view in ordered]
    running = [view for view in ordered if view.arena_status == "RUNNING"]
    allocated, requested = sum(each.allocated_gpus for each in running), sum(each.requested_gpus for each in running)
    lines += ["", f"Total Allocated/Requested GPUs of Training Jobs: {allocated}/{requested}"]
    return tabwriter("\n".join(lines) + "\n")


def top_job(view: JobView, now: datetime, zone: tzinfo | None = None, *, instance: str = "") -> str:
    """`arena top job JOB`, of one instance if it is named."""
    shown = (each for each in view.instances if instance in ("", each.name))
    rows = (
        "\t".join((f"  {each.name}", each.status, str(each.gpus), _node_ip(each), NOTHING, NOTHING, NOTHING))
        for each in shown
    )
    total = f"  Allocated/Requested GPUs of Job: {view.allocated_gpus}/{view.requested_gpus}"
    return tabwriter(
        "\n".join([*_header(view, now, zone), "", "Instances:", *_TOP_INSTANCES, *rows, "", "GPUs:", total]) + "\n"
    )
