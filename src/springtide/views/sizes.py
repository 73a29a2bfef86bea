# SPDX-License-Identifier: Apache-2.0
"""The size of a job, and whether it can have another one.

wanted("+1", workers(job))          the size that a user asks for
refusal(job, 9)                     why not that size, with the range that is allowed
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple

from springtide.messages import Text, text
from springtide.views import trainers
from springtide.views.states import FINISHED, state_of

Obj = Mapping[str, Any]

WORKER: Final = "worker"
VICTIM: Final = "springtide.dev/victim"
"""The annotation of pods that are removed first when a job scales in."""
SUSPENDED: Final = "job-supervisor.kube-ai.io/job-suspended"
QUEUED: Final = "scheduling.x-k8s.io/suspend"
"""Annotations by which a TrainingJob is suspended; other kinds have `runPolicy.suspend`."""
_CHANGE: Final = re.compile(r"([+-]?)([0-9]{1,9})")


class Bounds(NamedTuple):
    min: int
    max: int | None

    def holds(self, size: int) -> bool:
        return size >= self.min and (self.max is None or size <= self.max)

    @property
    def range(self) -> Text:
        if self.max is None:
            return text("at least {min}", min=self.min)
        return text("{min} to {max}", min=self.min, max=self.max)


class Way(StrEnum):
    """How a job gets another size."""

    REPLICAS = "replicas"
    """The number of replicas in its spec is changed."""
    SCALER = "scaler"
    """A ScaleOut or ScaleIn is created, which is carried out wholly or not at all."""


def worker_field(job: Obj) -> tuple[str, str]:
    """The field of the spec that has the roles, and the worker role as this job spells it; empty without workers."""
    outer = trainers.of_job(job).roles
    found = (job.get("spec") or {}).get(outer) or {}
    return outer, next((name for name in found if name.lower() == WORKER), "")


def workers(job: Obj) -> int:
    """The number of workers that the job is to have. While a scaler is in progress, its status has it."""
    status, (outer, role) = job.get("status") or {}, worker_field(job)
    _, _, scaled = str(status.get("workers") or "").partition("/")
    if status.get("currentScaler") and scaled.isdecimal():
        return int(scaled)
    if not role:
        return 0
    replicas = job["spec"][outer][role].get("replicas")
    return 1 if replicas is None else int(replicas)


def wanted(asked: str, now: int) -> int | None:
    """The size for `4`, `+1` or `-1`; None for anything else."""
    found = _CHANGE.fullmatch(asked.strip())
    if found is None:
        return None
    sign, digits = found.groups()
    number = int(digits)
    return now + number if sign == "+" else now - number if sign == "-" else number


def bounds(job: Obj) -> Bounds:
    """As the operator has stated them, or else as the spec does."""
    status, spec = job.get("status") or {}, job.get("spec") or {}
    outer, role = worker_field(job)
    own = (spec.get(outer) or {}).get(role) or {}
    policy = spec.get("elasticPolicy") or {}
    least = _first(status.get("minReplicas"), policy.get("minReplicas"), own.get("minReplicas"))
    most = _first(status.get("maxReplicas"), policy.get("maxReplicas"), own.get("maxReplicas"))
    return Bounds(1 if least is None else int(least), None if most is None else int(most))


def _first(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


class Refusal(NamedTuple):
    what: Text
    why: Text
    next: Text | None = None


def refusal(job: Obj, size: int) -> Refusal | None:
    """Why the job cannot have this size, whatever it does at the moment."""
    name, state = job["metadata"]["name"], state_of(job)
    if not worker_field(job)[1]:
        return Refusal(
            text("Job {name} cannot be resized.", name=name),
            text("it has no workers: its spec has no role Worker"),
        )
    if state in FINISHED:
        return Refusal(
            text("Job {name} cannot be resized.", name=name),
            text("it has finished: {state}", state=state),
            text(
                "start it again with that size: {command}",
                command=f"tide clone {name} NEW --workers {max(size, 1)}",
            ),
        )
    allowed = bounds(job)
    if not allowed.holds(size):
        now = workers(job)
        return Refusal(
            text("Job {name} cannot have {size} workers.", name=name, size=size),
            text("it has {now} and may have {range}", now=now, range=allowed.range),
            _nearest(name, allowed, size, now),
        )
    return None


def _nearest(name: str, allowed: Bounds, size: int, now: int) -> Text:
    nearest = max(size, allowed.min)
    nearest = nearest if allowed.max is None else min(nearest, allowed.max)
    if nearest == now:
        return text("it has the nearest size already; other bounds need a change of the job's spec")
    return text("the nearest size: {command}", command=f"tide scale {name} --workers {nearest}")


def suspended(job: Obj) -> bool:
    """Whether the job is to be suspended."""
    if trainers.of_job(job).resource == trainers.TRAINING_JOBS:
        annotations = job["metadata"].get("annotations") or {}
        return any(annotations.get(name) == "true" for name in (SUSPENDED, QUEUED))
    return bool(((job.get("spec") or {}).get("runPolicy") or {}).get("suspend"))


def way(job: Obj) -> Way:
    """A TrainingJob that runs is resized by a scaler, which states whether it succeeded. Scalers of other TrainingJobs
    would wait, or fail."""
    is_training_job = trainers.of_job(job).resource == trainers.TRAINING_JOBS
    runs = (job.get("status") or {}).get("phase") in ("Running", "Scaling")
    return Way.SCALER if is_training_job and runs and not suspended(job) else Way.REPLICAS


def unknown_victims(names: Sequence[str], workers: Iterable[Obj]) -> list[str]:
    """The names that are no workers of the job."""
    there = {pod["metadata"]["name"] for pod in workers}
    return [name for name in names if name not in there]


def replicas_patch(job: Obj, size: int) -> dict[str, Any]:
    """The merge patch that gives the job another size."""
    outer, role = worker_field(job)
    return {"spec": {outer: {role: {"replicas": size}}}}


class Scaler(NamedTuple):
    """A ScaleOut or ScaleIn that is to be created."""

    name: str
    namespace: str
    job: str
    change: int
    """More workers than 0 are added, fewer are removed."""
    victims: tuple[str, ...] = ()
    timeout: int = 0
    """Seconds; 0: the default of the kind."""
    script: str = ""
    variables: tuple[tuple[str, str], ...] = ()
    retries: int = 0

    @property
    def kind(self) -> str:
        return "ScaleOut" if self.change > 0 else "ScaleIn"

    def manifest(self) -> dict[str, Any]:
        spec: dict[str, Any] = {"selector": {"name": self.job}}
        if self.change > 0:
            spec["toAdd"] = {"count": self.change}
        elif self.victims:
            spec["toDelete"] = {"podNames": list(self.victims)}
        else:
            spec["toDelete"] = {"count": -self.change}
        if self.timeout:
            spec["timeout"] = self.timeout
        if self.script:
            spec["script"] = self.script
        if self.variables:
            spec["env"] = [{"name": name, "value": value} for name, value in self.variables]
        if self.retries:
            spec["backoffLimit"] = self.retries
        return {
            "apiVersion": "kai.alibabacloud.com/v1alpha1",
            "kind": self.kind,
            "metadata": {"name": self.name, "namespace": self.namespace},
            "spec": spec,
        }
