# SPDX-License-Identifier: Apache-2.0
"""Removes the tracking finalizer from pods that no Job will count any more.

Their Job was deleted, has finished, or has released them; with the finalizer they could never be deleted.
"""

from __future__ import annotations

from dataclasses import dataclass

from springtide.event_loop.slices import in_slices
from springtide.kube.cache import Replaced
from springtide.kube.client import Client
from springtide.kube.controller import Controller, Result, Retry
from springtide.kube.events import EventRecorder
from springtide.kube.informer import Informers
from springtide.kube.resources import JOBS, Key, Obj
from springtide.local.controller_manager import views
from springtide.local.controller_manager.batch.job_pods import managed_elsewhere, tracked
from springtide.local.controller_manager.batch.jobs import is_finished, release
from springtide.local.controller_manager.views import PodView

COMPONENT = "job-controller"


@dataclass(frozen=True, slots=True)
class PodsOf:
    """A work item for all pods of a Job, which may be thousands: looked up once for many changes."""

    uid: str


class OrphanedPods:
    def __init__(self, informers: Informers, client: Client) -> None:
        self._client = client
        self._pods = views.pods(informers)
        self._jobs = informers.of(JOBS)
        self.controller: Controller[Key | PodsOf] = Controller("orphaned job pods", self.reconcile)
        self.controller.watches(self._pods, keys=lambda pod: [pod.key] if tracked(pod) else [])
        self.controller.reads(self._jobs)
        self._jobs.on_replace(self._job_changed)

    def _job_changed(self, change: Replaced[Obj]) -> None:
        for uid in _over(change.new) - _over(change.old) | _gone(change):
            self.controller.enqueue(PodsOf(uid))

    async def reconcile(self, work: Key | PodsOf) -> Result | None:
        if isinstance(work, PodsOf):
            await self._enqueue_pods(work.uid)
            return None
        pod = self._pods.get(work)
        if pod is None or not tracked(pod) or await self._is_waited_for(pod):
            return None
        if not await release(self._client, pod):
            raise Retry("the pod could not be released")
        return None

    async def _enqueue_pods(self, job_uid: str) -> None:
        async for pod in in_slices(self._pods.where(views.BY_CONTROLLER, job_uid)):
            if tracked(pod):
                self.controller.enqueue(pod.key)

    async def _is_waited_for(self, pod: PodView) -> bool:
        owner = pod.controller
        if owner is None:
            return False
        if not owner.is_one_of(JOBS):
            return True  # another controller's pod
        key = Key(pod.metadata.namespace, owner.name)
        job = self._jobs.get(key)
        if job is None or job["metadata"]["uid"] != owner.uid:
            # The cache of Jobs may lag behind that of pods: only the server knows whether the Job exists.
            job = await self._client.find(JOBS, key)
        if job is None or job["metadata"]["uid"] != owner.uid:
            return False
        return not _is_over(job)


def _is_over(job: Obj) -> bool:
    """Whether the Job counts no more pods; never true for a Job that another controller manages."""
    return not managed_elsewhere(job) and is_finished(job)


def _over(job: Obj | None) -> set[str]:
    return set() if job is None or not _is_over(job) else {job["metadata"]["uid"]}


def _gone(change: Replaced[Obj]) -> set[str]:
    """The uid of a Job that was deleted, or replaced by another one of its name."""
    if change.old is None:
        return set()
    uid = change.old["metadata"]["uid"]
    return set() if change.new is not None and change.new["metadata"]["uid"] == uid else {uid}


def controller(informers: Informers, client: Client, events: EventRecorder) -> Controller[Key | PodsOf]:
    return OrphanedPods(informers, client).controller
