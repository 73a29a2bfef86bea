# SPDX-License-Identifier: Apache-2.0
"""One job from what is to what is wanted: observe, plan, act. It knows no kind: what differs is in `Served`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from springtide.api.field_errors import FieldError
from springtide.api.kinds.run_policy import managed_elsewhere
from springtide.api.kinds.status import JobStatus
from springtide.controllers import observing
from springtide.controllers.acting import Hands, Subject
from springtide.controllers.caches import Caches
from springtide.controllers.kinds import Served
from springtide.controllers.views import JobView
from springtide.jobs import engine, refusing
from springtide.jobs.actions import Plan
from springtide.jobs.observed import Settings
from springtide.kube.controller import Result
from springtide.kube.informer import Informer
from springtide.kube.resources import Key

PREDECESSOR_RETRY = 1.0
"""Seconds; its deletion is seen, this is for the case that it was not."""


def _wall_clock() -> datetime:
    return datetime.now(UTC)


class Reconciler:
    def __init__(
        self,
        served: Served,
        jobs: Informer[JobView],
        caches: Caches,
        hands: Hands,
        settings: Settings,
        clock: Callable[[], datetime] = _wall_clock,
    ) -> None:
        self._served, self._jobs, self._caches, self._hands = served, jobs, caches, hands
        self._settings, self._clock = settings, clock

    async def reconcile(self, key: Key) -> Result | None:
        view = self._jobs.get(key)
        if view is None:
            return None
        raw = self._raw(view)
        if managed_elsewhere(raw) or raw["metadata"].get("deletionTimestamp"):
            return None
        errors = self._served.errors(raw, 0)
        if errors:
            return await self._refuse(raw, errors)
        job = self._served.read(raw)
        if observing.predecessors(job, self._caches):
            return Result(requeue_after=PREDECESSOR_RETRY)
        observed = observing.observed(job, self._caches, self._settings)
        plan = engine.plan(observed, self._served.adapter, self._clock())
        return await self._act(raw, job.status, plan)

    async def _refuse(self, raw: Mapping[str, Any], errors: Sequence[FieldError]) -> Result | None:
        status = msgspec.convert(raw["status"], JobStatus)
        return await self._act(raw, status, refusing.refused(status, errors, self._clock()))

    async def _act(self, raw: Mapping[str, Any], old: JobStatus, plan: Plan) -> Result | None:
        if not plan.actions:
            return None
        return await self._hands.act(Subject.of(raw), old, plan.actions)

    def _raw(self, view: JobView) -> Mapping[str, Any]:
        spec = view.spec if isinstance(view.spec, Mapping) else {}
        return {
            "apiVersion": self._served.submitted_as(spec) or self._jobs.resource.api_version,
            "kind": self._served.kind,
            "metadata": view.metadata,
            "spec": spec,
            "status": view.status or {},
        }
