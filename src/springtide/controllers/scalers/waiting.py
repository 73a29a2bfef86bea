# SPDX-License-Identifier: Apache-2.0
"""Scalers whose job does not exist: they wait for it, and fail if it does not appear, or if it has been deleted.

As soon as the job exists it is reconciled with its scalers, and nothing here concerns them any more. A failure is
final, so it is written only if the API server, and not only the cache, lacks the job.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from springtide.controllers.job_keys import JobKey
from springtide.controllers.scalers.acting import ScalerExecutor
from springtide.controllers.scalers.cache import ScalerKey, Scalers
from springtide.controllers.views import JobView, ScalerView
from springtide.jobs.actions import ScalerEvent
from springtide.jobs.scaling import orphans
from springtide.jobs.scaling.orphans import Reference
from springtide.kube.client import Client
from springtide.kube.controller import Result
from springtide.kube.informer import Informer
from springtide.kube.resources import Key

RECHECK: Final = 5.0
"""Seconds until the cache should have a job that only the API server had."""


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class ScaledJobs:
    """The cache of the jobs of a kind, and what writes to their scalers."""

    informer: Informer[JobView]
    executor: ScalerExecutor


class ScalersWithoutJob:
    def __init__(
        self,
        client: Client,
        scalers: Scalers,
        jobs: Mapping[str, ScaledJobs],
        clock: Callable[[], datetime] = _now,
    ) -> None:
        """`jobs` by their kind."""
        self._client, self._scalers, self._jobs, self._clock = client, scalers, jobs, clock

    async def reconcile(self, key: ScalerKey) -> Result | None:
        found = self._scalers.find(key)
        if found is None:
            return None
        scaler, view = found
        job = self._scalers.job_of(key.kind, view)
        jobs = self._jobs[job.kind]
        if _is_its_job(jobs.informer.get(Key(job.namespace, job.name)), view):
            return None
        plan = orphans.plan(scaler, Reference(job.kind, job.name), _owner(view), self._clock())
        if plan.failure and await self._exists(job, view):
            return Result(requeue_after=RECHECK)
        if plan.status is not None:
            await jobs.executor.write_status(job.namespace, scaler, plan.status)
        if plan.failure:
            jobs.executor.tell(job.namespace, ScalerEvent(scaler, "Warning", plan.reason, plan.failure))
        return Result(requeue_after=plan.again.total_seconds()) if plan.again is not None else None

    async def _exists(self, job: JobKey, view: ScalerView) -> bool:
        if not job.name:
            return False
        found = await self._client.find(self._jobs[job.kind].informer.resource, Key(job.namespace, job.name))
        return found is not None and _is_its_job(JobView(found["metadata"]), view)


def _is_its_job(job: JobView | None, view: ScalerView) -> bool:
    """Whether the scaler is for this job of the selected name: it is for any such job, or for that of its owner
    reference."""
    controller = view.metadata.controlling
    return job is not None and (controller is None or controller.get("uid") == job.metadata["uid"])


def _owner(view: ScalerView) -> Reference | None:
    controller: Mapping[str, Any] | None = view.metadata.controlling
    if controller is None:
        return None
    return Reference(str(controller.get("kind", "")), str(controller.get("name", "")))
