# SPDX-License-Identifier: Apache-2.0
"""A job as it is shown: the same view for the command line, under both its names, for the console and for the SDK.

    job_view(job)               from the object alone, for lists: what they show stands in the job's status
    job_view(job, pods)         with its instances; of these pods those count that are the job's own

Objects are plain mappings as the API server returns them, and need `kind`. Views know no clock: what depends on the
time is a method that takes it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from springtide.api import gpus
from springtide.views import trainers
from springtide.views.instances import InstanceView, instances
from springtide.views.pages.ages import instant, seconds
from springtide.views.states import FINISHED, SUCCEEDED, arena_status, state_of, when

Obj = Mapping[str, Any]

NOWHERE: Final = ("", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far training has come, as the program last reported it."""

    step: int | None
    loss: str
    ranks: int | None
    """The number of ranks that train together."""
    updated: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobView:
    kind: str
    trainer: str
    """etjob, deepspeedjob, mpijob, tfjob or pytorchjob."""
    namespace: str
    name: str
    uid: str
    state: str
    """One of the ten words of `springtide.views.states`."""
    arena_status: str
    """Arena's word for it."""
    explanation: str
    created: datetime | None
    started: datetime | None
    """When it was started, or resumed."""
    ended: datetime | None
    """When it succeeded or failed."""
    requested_gpus: int
    allocated_gpus: int
    node: str
    """The node of the chief; empty while it has none, or is pending."""
    node_ip: str
    priority: str
    """The name of its PriorityClass; empty if it has none."""
    workers: str
    """The workers that train, of those that are wanted, as in 3/4."""
    size: int
    """The number of workers that are wanted."""
    min_size: int | None
    max_size: int | None
    progress: Progress | None
    model_name: str
    model_version: str
    deleting: bool
    counts_from_start: bool
    instances: tuple[InstanceView, ...] = ()

    @property
    def finished(self) -> bool:
        return self.state in FINISHED

    @property
    def succeeded(self) -> bool:
        return self.state == SUCCEEDED

    @property
    def chief(self) -> InstanceView | None:
        return next((each for each in self.instances if each.is_chief), None)

    @property
    def bounds(self) -> str:
        """As in 1-8; empty without bounds."""
        if self.min_size is None and self.max_size is None:
            return ""
        return f"{self.min_size or 1}-{'' if self.max_size is None else self.max_size}"

    def duration(self, now: datetime) -> float:
        """Seconds, up to the end of a job that has ended. Arena counts TFJobs and PyTorchJobs from their start."""
        return seconds(self.started if self.counts_from_start else self.created, self.ended or now)

    def age(self, now: datetime) -> float:
        """Seconds since its creation."""
        return seconds(self.created, now)


def job_view(job: Obj, pods: Iterable[Obj] | None = None) -> JobView:
    """`pods` may be all pods of the namespace. None: they have not been asked for."""
    metadata, status, trainer = job["metadata"], job.get("status") or {}, trainers.of_job(job)
    found = instances(job, pods) if pods is not None else ()
    labels, state, size = trainers.labels(job), state_of(job), _size(job)
    node, node_ip = _place(found) if pods is not None else _stated_place(status)
    return JobView(
        kind=job["kind"],
        trainer=trainer.name,
        namespace=metadata.get("namespace", ""),
        name=metadata["name"],
        uid=metadata.get("uid", ""),
        state=state,
        arena_status=arena_status(job, state),
        explanation=status.get("explanation") or "",
        created=instant(metadata.get("creationTimestamp")),
        started=instant(status.get("startTime")),
        ended=(instant(status.get("completionTime")) or when(job, state)) if state in FINISHED else None,
        requested_gpus=_requested_gpus(job, size),
        allocated_gpus=sum(each.allocated_gpus for each in found) if pods is not None else _stated_gpus(job),
        node=node,
        node_ip=node_ip,
        priority=_priority(job),
        workers=status.get("workers") or f"{_active(status).get('worker', 0)}/{size}",
        size=size,
        min_size=_bound(job, "minReplicas"),
        max_size=_bound(job, "maxReplicas"),
        progress=_progress(status),
        model_name=labels.get("modelName", ""),
        model_version=labels.get("modelVersion", ""),
        deleting=metadata.get("deletionTimestamp") is not None,
        counts_from_start=trainer.counts_from_start,
        instances=found,
    )


def job_views(jobs: Iterable[Obj], pods: Iterable[Obj] | None = None) -> list[JobView]:
    """The views of many jobs. `pods` are those of all of them, and may be others, too."""
    if pods is None:
        return [job_view(job) for job in jobs]
    by_job: dict[tuple[str, str], list[Obj]] = defaultdict(list)
    for pod in pods:
        for name in trainers.job_names(pod):
            by_job[pod["metadata"].get("namespace", ""), name].append(pod)
    return [job_view(job, by_job[job["metadata"].get("namespace", ""), job["metadata"]["name"]]) for job in jobs]


def newest_first(views: Iterable[JobView]) -> list[JobView]:
    """Arena's order; jobs of one moment by name."""
    named = sorted(views, key=lambda view: (view.namespace, view.name))
    return sorted(named, key=lambda view: view.created.timestamp() if view.created else 0.0, reverse=True)


def _size(job: Obj) -> int:
    """While a scaler is in progress its size counts, not that of the spec; the status has it."""
    _, slash, wanted = ((job.get("status") or {}).get("workers") or "").partition("/")
    if slash and wanted.isascii() and wanted.isdigit():
        return int(wanted)
    return next((_replicas(role) for name, role in trainers.roles(job) if name == "worker"), 0)


def _replicas(role: Obj) -> int:
    given = role.get("replicas")
    return given if isinstance(given, int) else 1


def _requested_gpus(job: Obj, size: int) -> int:
    counts = {name: size if name == "worker" else _replicas(role) for name, role in trainers.roles(job)}
    return sum(each * counts[name] for name, each in _gpus_of_roles(job).items())


def _gpus_of_roles(job: Obj) -> dict[str, int]:
    """The GPUs of one pod of each role."""
    return {name: gpus.of_job((role.get("template") or {}).get("spec") or {}) for name, role in trainers.roles(job)}


def _stated_gpus(job: Obj) -> int:
    """Of a job of another operator, the GPUs of the pods that run."""
    status = job.get("status") or {}
    if status.get("placement") is not None or status.get("state"):
        return (status.get("placement") or {}).get("gpus") or 0
    counts = _active(status)
    return sum(each * counts.get(name, 0) for name, each in _gpus_of_roles(job).items() if each)


def _active(status: Obj) -> dict[str, int]:
    found = (status.get("replicaStatuses") or {}).items()
    return {name.lower(): (counts or {}).get("active") or 0 for name, counts in found}


def _place(found: Iterable[InstanceView]) -> tuple[str, str]:
    return next(((each.node, each.node_ip) for each in found if each.is_chief and not each.pending), NOWHERE)


def _stated_place(status: Obj) -> tuple[str, str]:
    found = status.get("placement") or {}
    return found.get("node") or "", found.get("hostIP") or ""


def _priority(job: Obj) -> str:
    chief = trainers.chief_role(job)
    ordered = sorted(trainers.roles(job), key=lambda role: role[0] != chief)
    specs = [(role.get("template") or {}).get("spec") or {} for _, role in ordered]
    given: str = next((spec["priorityClassName"] for spec in specs if spec.get("priorityClassName")), "")
    policy = ((job.get("spec") or {}).get("runPolicy") or {}).get("schedulingPolicy") or {}
    return given or policy.get("priorityClass") or ""


def _bound(job: Obj, field: str) -> int | None:
    """Before the operator has read the job, the bounds of its spec."""
    stated = (job.get("status") or {}).get(field)
    if stated is None:
        worker = next((role for name, role in trainers.roles(job) if name == "worker"), {})
        stated = worker.get(field, ((job.get("spec") or {}).get("elasticPolicy") or {}).get(field))
    return stated if isinstance(stated, int) else None


def _progress(status: Obj) -> Progress | None:
    found = status.get("progress")
    if not found:
        return None
    return Progress(
        step=found.get("step"),
        loss=found.get("loss") or "",
        ranks=found.get("ranks"),
        updated=instant(found.get("updateTime")),
    )
