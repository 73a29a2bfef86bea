# SPDX-License-Identifier: Apache-2.0
"""Scaling a TrainingJob: the checks before, and the ScaleOut or ScaleIn that the operator carries out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from springtide.cli.errors import Failure
from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.resources import Key, Obj, Resource
from springtide.manifests.last_applied import with_last_applied
from springtide.messages import text
from springtide.views.jobs import JobView

_TRIES: Final = 60


class Direction(Enum):
    OUT = Resource("kai.alibabacloud.com", "v1alpha1", "scaleouts", "ScaleOut")
    IN = Resource("kai.alibabacloud.com", "v1alpha1", "scaleins", "ScaleIn")

    @property
    def word(self) -> str:
        """As after `arena`."""
        return self.value.kind.lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaling:
    direction: Direction
    count: int = 1
    timeout: int = 0
    """Seconds; 0: the operator's own."""
    retry: int = 0
    script: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)
    pod_names: tuple[str, ...] = ()
    """For scaling in: which workers; empty: the operator chooses `count` of them."""


class NotScalable(Failure):
    """The job is not in a state in which it can be scaled."""

    def __init__(self, name: str, status: str) -> None:
        what = text("The job {name} is {status} and cannot be scaled.", name=name, status=status)
        super().__init__(what, hint=text("only a job that runs can be scaled"))
        self.name, self.status = name, status


class OutOfBounds(Failure):
    def __init__(self, direction: Direction, current: int, wanted: int, bound: int) -> None:
        if direction is Direction.OUT:
            what = text("{wanted} workers are more than the job's maximum, {bound}.", wanted=wanted, bound=bound)
        else:
            what = text("{wanted} workers are fewer than the job's minimum, {bound}.", wanted=wanted, bound=bound)
        super().__init__(what, text("it has {current} workers now", current=current))
        self.direction = direction


class TooFew(Failure):
    def __init__(self, count: int) -> None:
        super().__init__(text("{count} is no number of workers to add or take; it has to be at least 1.", count=count))


def check(view: JobView, scaling: Scaling) -> None:
    """NotScalable, OutOfBounds, TooFew."""
    if scaling.count < 1:
        raise TooFew(scaling.count)
    if view.arena_status not in ("RUNNING", "SCALING"):
        raise NotScalable(view.name, view.arena_status)
    count = len(scaling.pod_names) or scaling.count
    if scaling.direction is Direction.OUT:
        wanted, bound = view.size + count, view.max_size
        beyond = bound is not None and wanted > bound
    else:
        wanted, bound = view.size - count, view.min_size or 1
        beyond = wanted < bound
    if beyond and bound is not None:
        raise OutOfBounds(scaling.direction, view.size, wanted, bound)


def scaler(job: Key, name: str, scaling: Scaling) -> Obj:
    amount = {"podNames": list(scaling.pod_names)} if scaling.pod_names else {"count": scaling.count}
    spec: Obj = {
        "selector": {"name": job.name},
        "script": scaling.script,
        ("toAdd" if scaling.direction is Direction.OUT else "toDelete"): amount,
    }
    if scaling.variables:
        spec["env"] = [{"name": each, "value": value} for each, value in sorted(scaling.variables.items())]
    if scaling.retry:
        spec["backoffLimit"] = scaling.retry
    if scaling.timeout:
        spec["timeout"] = scaling.timeout
    return {**scaling.direction.value.describe(Key(job.namespace, name)), "spec": spec}


async def create(client: Client, job: Key, scaling: Scaling, now: int) -> Obj:
    """Named as Arena does it, after the job and the second; a second that is taken is skipped."""
    for second in range(now, now + _TRIES):
        obj = with_last_applied(scaler(job, f"{job.name}-{second}", scaling))
        try:
            return await client.create(
                scaling.direction.value, obj, query={"fieldManager": "kubectl-client-side-apply"}
            )
        except errors.AlreadyExists:
            continue
    raise Failure(text("The job {name} is scaled too often.", name=job.name))
