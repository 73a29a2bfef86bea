# SPDX-License-Identifier: Apache-2.0
"""Deletes finished Jobs after `ttlSecondsAfterFinished`.

The Job is read from the server before the deletion, because the user may just have raised the limit.
"""

from __future__ import annotations

from datetime import datetime

from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.controller import Controller, Result
from springtide.kube.events import EventRecorder
from springtide.kube.informer import Informers
from springtide.kube.request import DeleteOptions
from springtide.kube.resources import JOBS, Key, Obj
from springtide.local.controller_manager.batch.job_endings import COMPLETE, FAILED
from springtide.local.controller_manager.timestamps import Clock, read, utc_now

COMPONENT = "ttl-after-finished-controller"


def time_left(job: Obj, now: datetime) -> float | None:
    """Seconds until the Job is deleted, or None without a limit."""
    limit = job["spec"].get("ttlSecondsAfterFinished")
    if limit is None or "deletionTimestamp" in job["metadata"]:
        return None
    for condition in (job.get("status") or {}).get("conditions") or ():
        if condition["type"] in (COMPLETE, FAILED) and condition["status"] == "True":
            return float(limit - (now - read(condition["lastTransitionTime"])).total_seconds())
    return None


class FinishedJobs:
    def __init__(self, informers: Informers, client: Client, clock: Clock = utc_now) -> None:
        self._client, self._clock = client, clock
        self._jobs = informers.of(JOBS)
        self.controller: Controller[Key] = Controller("finished jobs", self.reconcile)
        self.controller.watches(self._jobs)

    async def reconcile(self, key: Key) -> Result | None:
        job = self._jobs.get(key)
        left = None if job is None else time_left(job, self._clock())
        if left is None or left > 0:
            return Result(requeue_after=left)
        fresh = await self._client.find(JOBS, key)
        left = None if fresh is None else time_left(fresh, self._clock())
        if fresh is None or left is None or left > 0:
            return Result(requeue_after=left)
        try:
            await self._client.delete(JOBS, key, DeleteOptions("Foreground", uid=fresh["metadata"]["uid"]))
        except errors.NotFound:
            return None
        return None


def controller(informers: Informers, client: Client, events: EventRecorder) -> Controller[Key]:
    return FinishedJobs(informers, client).controller
