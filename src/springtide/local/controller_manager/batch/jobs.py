# SPDX-License-Identifier: Apache-2.0
"""Batch Job: pods that run to completion, a given number of times.

`job_plan` decides, `job_accounting` counts; this module observes and acts. Two caches may lag behind this controller's
own writes, and both would make it start too many pods: the cache of pods (see `pod_control.Expectations`) and the cache
of Jobs, whose status holds the counts. A Job is therefore not reconciled before its last write is in the cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial

from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.controller import Controller, Result, Retry
from springtide.kube.events import EventRecorder
from springtide.kube.informer import Informers
from springtide.kube.request import Patch
from springtide.kube.resources import JOBS, PODS, Key, Obj
from springtide.local.controller_manager import conditions, views
from springtide.local.controller_manager.batch import job_accounting
from springtide.local.controller_manager.batch.job_backoff import NO_FAILURES
from springtide.local.controller_manager.batch.job_endings import COMPLETE, FAILED
from springtide.local.controller_manager.batch.job_plan import Plan, conclude, plan
from springtide.local.controller_manager.batch.job_pods import TRACKING, managed_elsewhere, new_pod, tracked
from springtide.local.controller_manager.batch.job_tally import Observed
from springtide.local.controller_manager.selection.label_postings import selected
from springtide.local.controller_manager.selection.ownership import Keeper
from springtide.local.controller_manager.selection.selectors import Labelled, Selectors
from springtide.local.controller_manager.status_writes import LOOK_AGAIN, OwnWrites, write_status
from springtide.local.controller_manager.timestamps import Clock, utc_now
from springtide.local.controller_manager.views import PodView
from springtide.local.controller_manager.workloads.pod_control import Outcome, PodControl, belonging, in_slices

COMPONENT = "job-controller"
_WORKERS = 5


class Jobs:
    def __init__(self, informers: Informers, client: Client, events: EventRecorder, clock: Clock = utc_now) -> None:
        self._client, self._events, self._clock = client, events, clock
        self._pods = views.pods(informers)
        self._jobs = informers.of(JOBS)
        self._selectors = Selectors(self._jobs)
        self._keeper = Keeper(client, JOBS, PODS, belonging, finalizer=TRACKING)
        self._control = PodControl(client, events, JOBS, self._pods)
        self._writes = OwnWrites()
        self._known: dict[Key, _Memory] = {}
        self.controller: Controller[Key | Labelled] = Controller("jobs", self.reconcile, workers=_WORKERS)
        self.controller.watches(self._jobs)
        self.controller.watches(self._pods, keys=self._affected)

    def _affected(self, pod: PodView) -> Sequence[Key | Labelled]:
        """The Job that manages a pod, or those that may adopt it."""
        if pod.controller is not None:
            return views.managed_by(JOBS)(pod)
        return self._selectors.lookups(pod.metadata.namespace, pod.metadata.labels)

    async def reconcile(self, work: Key | Labelled) -> Result | None:
        if isinstance(work, Key):
            return await self._reconcile(work)
        for key in await self._selectors.selecting(work):
            self.controller.enqueue(key)
        return None

    async def _reconcile(self, key: Key) -> Result | None:
        job = self._jobs.get(key)
        if job is None or is_finished(job):
            self._forget(key)
            return None
        if managed_elsewhere(job):
            return None
        memory = self._remember(key, job)
        if not self._writes.shown_by(job):
            return Result(requeue_after=LOOK_AGAIN)
        observed = await self._observe(job, memory)
        now = self._clock()
        decided = plan(observed, now)
        outcome = await self._act(job, decided, now)
        await self._account(observed, decided, outcome, memory)
        memory.backoff = decided.backoff
        if outcome.error is not None:
            raise Retry(outcome.error.message) from outcome.error
        return Result(requeue_after=self._next_look(job, decided, now))

    # Memory

    def _remember(self, key: Key, job: Obj) -> _Memory:
        uid = job["metadata"]["uid"]
        memory = self._known.get(key)
        if memory is None or memory.uid != uid:
            self._forget(key)
            memory = self._known[key] = _Memory(uid)
        return memory

    def _forget(self, key: Key) -> None:
        self._writes.forget(key)
        memory = self._known.pop(key, None)
        if memory is not None:
            self._control.expectations.forget(memory.uid)

    # Observing

    async def _observe(self, job: Obj, memory: _Memory) -> Observed:
        metadata = job["metadata"]
        selector = await self._selectors.of(job)
        # Before the pods are read: they include everything that the cache shows by now.
        settled = not self._control.expectations.wait(metadata["uid"], self._clock())
        found = [
            *self._pods.where(views.BY_CONTROLLER, metadata["uid"]),
            *selected(self._pods, views.UNMANAGED, metadata["namespace"], selector),
        ]
        claimed = await self._keeper.claim(job, selector, found)
        memory.released &= {pod.uid for pod in claimed if tracked(pod)}
        return Observed(job, tuple(claimed), settled, memory.backoff, frozenset(memory.released))

    # Acting

    async def _act(self, job: Obj, decided: Plan, now: datetime) -> Outcome:
        if decided.create:
            return await self._control.create(job, [new_pod(job, wanted) for wanted in decided.create], now)
        if not decided.delete:
            return Outcome()
        if decided.ending is None:
            # Deleted on purpose: neither a success nor a failure.
            await self._release(decided.delete)
        return await self._control.delete(job, decided.delete, now)

    async def _account(self, observed: Observed, decided: Plan, outcome: Outcome, memory: _Memory) -> None:
        now = self._clock()
        job = observed.job
        concluded = conclude(decided, observed, outcome, now)
        if concluded.event is not None:
            self._events.normal(job, *concluded.event)
        entry = job_accounting.enter(observed, decided, concluded, now)
        written = self._writes.note(await write_status(self._client, JOBS, job, entry.status))
        released = await self._release(entry.release)
        memory.released |= released
        status, ending = job_accounting.close(entry, written.get("status") or {}, released, now)
        written = self._writes.note(await write_status(self._client, JOBS, written, status))
        if ending is not None:
            self._announce(written, ending)
        if len(released) < len(entry.release):
            raise Retry("not every finished pod could be released")

    async def _release(self, pods: tuple[PodView, ...]) -> frozenset[str]:
        """Removes the tracking finalizer from pods; the uids of those that have none now."""
        done = await in_slices(pods, partial(release, self._client))
        return frozenset(pod.uid for pod, released in zip(pods, done, strict=True) if released)

    def _announce(self, job: Obj, ending: Obj) -> None:
        if ending["type"] != COMPLETE:
            self._events.warning(job, ending["reason"], ending["message"])
            return
        completions = job["spec"].get("completions")
        if completions is not None and job["status"].get("succeeded", 0) > completions:
            message = "Too many succeeded pods running after completion count reached"
            self._events.warning(job, "TooManySucceededPods", message)
        self._events.normal(job, "Completed", "Job completed")

    def _next_look(self, job: Obj, decided: Plan, now: datetime) -> float | None:
        waiting = self._control.expectations.wait(job["metadata"]["uid"], now) or None
        return min((wait for wait in (waiting, decided.look_again) if wait is not None), default=None)


class _Memory:
    """State of a running Job beyond the cache."""

    def __init__(self, uid: str) -> None:
        self.uid = uid
        self.backoff = NO_FAILURES
        self.released: set[str] = set()


def is_finished(job: Obj) -> bool:
    found = (job.get("status") or {}).get("conditions") or ()
    return conditions.is_true(found, COMPLETE) or conditions.is_true(found, FAILED)


async def release(client: Client, pod: PodView) -> bool:
    """Removes the tracking finalizer from a pod; whether it has none now."""
    if not tracked(pod):
        return True
    patch = {"metadata": {"uid": pod.uid, "$deleteFromPrimitiveList/finalizers": [TRACKING]}}
    try:
        await client.patch(PODS, pod.key, patch, Patch.STRATEGIC)
    except errors.NotFound:
        return True
    except (errors.Conflict, errors.ServerError, errors.Unreachable):
        return False
    return True


def controller(informers: Informers, client: Client, events: EventRecorder) -> Controller[Key | Labelled]:
    return Jobs(informers, client, events).controller
