# SPDX-License-Identifier: Apache-2.0
"""Pods that wait to be counted by a Job which will not count them any more lose their finalizer.

Their Job is gone, is over, or has let them go; without this they could never be deleted.
"""

from __future__ import annotations

from springtide.kube.client import Client
from springtide.kube.controller import Controller, Result, Retry
from springtide.kube.events import EventRecorder
from springtide.kube.informer import Informers
from springtide.kube.resources import JOBS, Key, Obj
from springtide.local.upkeep import views
from springtide.local.upkeep.batch.job_pods import managed_elsewhere, tracked
from springtide.local.upkeep.batch.jobs import is_finished, release
from springtide.local.upkeep.views import PodView

COMPONENT = "job-controller"


class OrphanedPods:
    def __init__(self, informers: Informers, client: Client) -> None:
        self._client = client
        self._pods = views.pods(informers)
        self._jobs = informers.of(JOBS)
        self.controller: Controller[Key] = Controller("orphaned job pods", self.reconcile)
        self.controller.watches(self._pods, keys=lambda pod: [pod.key] if tracked(pod) else [])
        self.controller.watches(self._jobs, keys=self._waiting_pods)

    def _waiting_pods(self, job: Obj) -> list[Key]:
        pods = self._pods.where(views.BY_CONTROLLER, job["metadata"]["uid"])
        return [pod.key for pod in pods if tracked(pod)]

    async def reconcile(self, key: Key) -> Result | None:
        pod = self._pods.get(key)
        if pod is None or not tracked(pod) or await self._is_waited_for(pod):
            return None
        if not await release(self._client, pod):
            raise Retry("the pod could not be released")
        return None

    async def _is_waited_for(self, pod: PodView) -> bool:
        owner = pod.controller
        if owner is None:
            return False
        if not owner.is_one_of(JOBS):
            return True  # not for us to judge
        key = Key(pod.metadata.namespace, owner.name)
        job = self._jobs.get(key)
        if job is None or job["metadata"]["uid"] != owner.uid:
            # The cache of Jobs may lag behind that of pods: only the server knows that there is none.
            job = await self._client.find(JOBS, key)
        if job is None or job["metadata"]["uid"] != owner.uid:
            return False
        return managed_elsewhere(job) or not is_finished(job)


def controller(informers: Informers, client: Client, events: EventRecorder) -> Controller[Key]:
    return OrphanedPods(informers, client).controller
