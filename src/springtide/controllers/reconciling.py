# SPDX-License-Identifier: Apache-2.0
"""Reconciles one job: observe, plan, act. All differences between kinds are in `Served`."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from springtide.api.field_errors import FieldError
from springtide.api.job import Job
from springtide.api.kinds.conditions import finished
from springtide.api.kinds.status import JobStatus
from springtide.controllers import observing
from springtide.controllers.acting import Executor, Subject
from springtide.controllers.caches import Caches
from springtide.controllers.job_keys import JobKey
from springtide.controllers.metrics import ERROR, OK, RETRY, Metrics
from springtide.controllers.views import JobView
from springtide.jobs import engine, host_list
from springtide.jobs.actions import Inquire, Plan
from springtide.jobs.observed import Settings
from springtide.jobs.policies.managed_by import managed_elsewhere
from springtide.jobs.reporting import refusing
from springtide.jobs.scaling import turns
from springtide.jobs.served import Served
from springtide.kube import errors
from springtide.kube.controller import Result, Retry
from springtide.kube.informer import Informer
from springtide.kube.resources import Key

logger = logging.getLogger(__name__)

LARGE = 200
"""Pods of a job from which on its plan is made in a thread."""
PREDECESSOR_RETRY = timedelta(seconds=1)
"""Normally the deletion triggers a reconcile; this is the fallback."""
PREDECESSOR_PATIENCE = timedelta(seconds=10)
"""How long a job waits for its predecessor before it reports that: mostly the predecessor is deleted at once."""


def _now() -> datetime:
    return datetime.now(UTC)


class Reconciler:
    def __init__(
        self,
        served: Served,
        jobs: Informer[JobView],
        caches: Caches,
        executor: Executor,
        settings: Settings,
        metrics: Metrics,
    ) -> None:
        self._served, self._jobs, self._caches, self._executor = served, jobs, caches, executor
        self._settings, self._metrics = settings, metrics

    async def reconcile(self, key: Key) -> Result | None:
        outcome, began = ERROR, time.perf_counter()
        try:
            result = await self._reconcile(key)
            outcome = OK
        except (errors.ApiError, Retry):
            outcome = RETRY
            raise
        finally:
            self._metrics.reconciled(self._served.kind, time.perf_counter() - began, outcome)
        return result

    async def _reconcile(self, key: Key) -> Result | None:
        view = self._jobs.get(key)
        if view is None:
            self._metrics.forgotten(self._served.kind, key)
            job_key = JobKey(self._served.kind, key.namespace, key.name)
            self._caches.forget(job_key)
            self._executor.forget(job_key)
            return None
        raw = self._raw(view)
        goes = bool(raw["metadata"].get("deletionTimestamp"))
        if managed_elsewhere(raw) or (goes and not self._caches.scalers.selecting(JobKey(self._served.kind, *key))):
            return None
        wrong = self._served.errors(raw)
        if wrong:
            return None if goes else await self._refuse(raw, wrong)
        job = self._served.read(raw)
        if not goes and (remains := observing.predecessors(job, self._caches)):
            return await self._wait(raw, job, remains)
        return await self._act(raw, job.status, await self._planned(job))

    async def _planned(self, job: Job[Any]) -> Plan:
        """Plans a large job in a thread: planning is pure, and would block other jobs for too long."""
        found = observing.found(job, self._served.adapter, self._caches, self._settings)
        if size_of(found) <= LARGE:
            return self._plan(found)
        return await asyncio.to_thread(self._plan, found)

    def _plan(self, found: observing.Found) -> Plan:
        return engine.plan(observing.read(found), self._served.adapter, _now())

    async def _wait(
        self, raw: Mapping[str, Any], job: Job[Any], remains: Mapping[str, datetime | None]
    ) -> Result | None:
        now, created = _now(), job.metadata.creation_timestamp
        if finished(job.status.conditions) or created is None or now - created < PREDECESSOR_PATIENCE:
            return Result(requeue_after=PREDECESSOR_RETRY.total_seconds())
        message = host_list.remains(job.kind, remains, now)
        return await self._act(raw, job.status, host_list.waits(job.status, message, now, PREDECESSOR_RETRY))

    async def _refuse(self, raw: Mapping[str, Any], wrong: Sequence[FieldError]) -> Result | None:
        status = msgspec.convert(raw["status"], JobStatus)
        return await self._act(raw, status, refusing.refused(status, wrong, _now()))

    async def _act(self, raw: Mapping[str, Any], old: JobStatus, plan: Plan) -> Result | None:
        subject = Subject.of(raw)
        if not any(isinstance(action, Inquire) for action in plan.actions):
            self._executor.forget(subject.job)
        if not plan.actions:
            return None
        result = await self._executor.act(subject, old, plan.actions)
        for decision in plan.decisions:
            if decision.warning:
                logger.warning("%s %s: %s", self._served.kind, Key.of(raw), decision.message)
        return result

    def _raw(self, view: JobView) -> Mapping[str, Any]:
        spec = view.spec if isinstance(view.spec, Mapping) else {}
        return {
            "apiVersion": self._served.submitted_as(spec) or self._jobs.resource.api_version,
            "kind": self._served.kind,
            "metadata": view.metadata,
            "spec": spec,
            "status": view.status or {},
        }


def size_of(found: observing.Found) -> int:
    """How many replicas a plan may be about: those that exist, those that the spec asks for, and those that scalers ask
    for. A scaler itself counts as well."""
    most = found.settings.max_workers
    asked = sum(min(role.replicas, most) for role in found.job.roles.values())
    scaled = sum(
        1 + min(each.count or len(each.pod_names), most) for each in found.scalers if not turns.phase(each).ended
    )
    return max(asked + scaled, len(found.pods), len(found.scalers))
