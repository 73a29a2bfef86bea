# SPDX-License-Identifier: Apache-2.0
"""The operator: caches, one controller per kind of job, events, and leader election.

Caches are filled before the operator is elected, so that a new leader continues at once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Sequence
from functools import partial

from springtide.controllers import prerequisites
from springtide.controllers.acting import Executor
from springtide.controllers.background import Background
from springtide.controllers.caches import Caches, by_job, made_by
from springtide.controllers.inquiring import Inquirer
from springtide.controllers.job_keys import JobKey
from springtide.controllers.leaving import is_evicted
from springtide.controllers.metrics import Figures, Metrics, figures, is_accepted
from springtide.controllers.options import Options
from springtide.controllers.reconciling import Reconciler
from springtide.controllers.scalers.acting import ScalerExecutor
from springtide.controllers.scalers.cache import ScalerKey
from springtide.controllers.scalers.reading import has_ended
from springtide.controllers.scalers.scripts import Scripts
from springtide.controllers.scalers.waiting import ScaledJobs, ScalersWithoutJob
from springtide.controllers.serving import serve
from springtide.controllers.views import JobView, PodView, ScalerView
from springtide.controllers.webhook.webhook import judging
from springtide.jobs.observed import Settings
from springtide.jobs.registry import SERVED
from springtide.jobs.served import Served
from springtide.kube import config
from springtide.kube.cache import Replaced
from springtide.kube.client import Client
from springtide.kube.controller import Controller
from springtide.kube.counting import Counted
from springtide.kube.events import EventRecorder
from springtide.kube.http_transport import HttpTransport
from springtide.kube.informer import Informer, Informers
from springtide.kube.leader import LeaderElector
from springtide.kube.limiting import Bucket, Limited
from springtide.kube.resources import Key, Resource
from springtide.kube.transport import Transport

logger = logging.getLogger(__name__)

LEASE = "mpi-operator"
_EVENT_SENDERS = 4


async def run(options: Options) -> None:
    """Runs until cancelled. MissingError if the kinds are not defined, ApiError if the API server does not answer or
    rejects."""
    metrics = Metrics()
    connection = await config.discover(options.kubeconfig, options.context)
    transport = Counted(HttpTransport(connection), metrics.requested)
    async with Client(transport) as client:
        served = await prerequisites.defined(client, chosen(options.kinds), named=bool(options.kinds))
        for kind, resource in served:
            await prerequisites.require_rights(client, kind, resource, options.namespace)
        await prerequisites.require_groups(client, options.gang_scheduler)
        operator = Operator(Client(_limited(transport, options)), options, served, metrics)
        async with serve(options, operator.ready, metrics), judging(client, options, [kind for kind, _ in served]):
            await operator.run()


def chosen(kinds: Sequence[str]) -> list[Served]:
    """The kinds of these names; all for none."""
    return [each for each in SERVED if not kinds or each.kind in kinds]


def _limited(transport: Transport, options: Options) -> Transport:
    return Limited(transport, Bucket(options.qps, options.burst)) if options.qps else transport


class Operator:
    def __init__(
        self,
        client: Client,
        options: Options,
        served: list[tuple[Served, Resource]],
        metrics: Metrics | None = None,
    ) -> None:
        self._client, self._options, self._metrics = client, options, metrics or Metrics()
        self._informers = Informers(client)
        makes = made_by(kind.definition for kind, _ in served)
        kinds = [kind.kind for kind, _ in served] if len(served) < len(SERVED) else ()
        scalers = {kind.kind: kind.definition.scalers for kind, _ in served if kind.definition.scalers}
        self._caches = Caches(self._informers, options.namespace, options.gang_scheduler, makes, kinds, scalers)
        scripts = Scripts(client, self._caches.pods, self._caches.scalers.runs, self._look_again)
        self._background = Background(Inquirer(client, self._caches, self._look_again), scripts)
        self._recorders: list[EventRecorder] = []
        self._scaled: dict[str, ScaledJobs] = {}
        """What is needed for scalers without a job, by the kind of job."""
        self._controllers = {kind.kind: self._controller(kind, resource) for kind, resource in served}
        self._without_job = self._for_scalers_without_job() if self._scaled else None
        self._news: frozenset[tuple[str, str]] = frozenset()
        for informer in self._caches.made:
            informer.on_change(self._look_again, keys=by_job)
        self._caches.nodes.on_change(self._node_changed)
        self._caches.pods.on_replace(self._pod_replaced)

    def ready(self) -> bool:
        return self._informers.synced

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._informers.run(), name="informers")
            for recorder in self._recorders:
                for number in range(_EVENT_SENDERS):
                    group.create_task(recorder.run(), name=f"events {number}")
            group.create_task(self._background.inquirer.run(), name="inquiries")
            group.create_task(self._led(), name="controllers")

    async def _led(self) -> None:
        if not self._options.leader_elect:
            await self._control()
            return
        lease = Key(self._options.lock_namespace, LEASE)
        await LeaderElector(self._client, lease, self._options.identity).run(self._control)

    async def _control(self) -> None:
        self._metrics.leads(True)
        try:
            async with asyncio.TaskGroup() as group:
                controllers = (*self._controllers.values(), *((self._without_job,) if self._without_job else ()))
                for controller in controllers:
                    group.create_task(controller.run(), name=f"controller {controller.name}")
        finally:
            self._metrics.leads(False)
            await self._background.scripts.close()

    def _controller(self, served: Served, resource: Resource) -> Controller[Key]:
        recorder = EventRecorder(self._client, served.component)
        self._recorders.append(recorder)
        jobs = self._caches.jobs(resource)
        executor = Executor(self._client, self._caches, jobs, recorder, self._background, self._metrics)
        settings = Settings(
            self._options.gang_scheduler,
            self._options.cluster_domain,
            self._options.kubectl_image,
            self._options.max_workers,
        )
        reconciler = Reconciler(served, jobs, self._caches, executor, settings, self._metrics)
        controller: Controller[Key] = Controller(served.kind, reconciler.reconcile, workers=self._options.workers)
        controller.watches(jobs)
        for informer in self._caches.made:
            controller.reads(informer)
        if served.definition.scalers:
            scalers = ScalerExecutor(self._client, self._caches.scalers, recorder, self._background.scripts)
            self._scaled[served.kind] = ScaledJobs(jobs, scalers)
        for definition in served.definition.scalers:
            self._follow_scalers(definition.kind, controller, jobs)

        def all_figures() -> Iterator[Figures]:
            return (figures(served.adapter, job.metadata, job.status) for job in jobs.objects())

        def notice_deletion(change: Replaced[JobView]) -> None:
            old, new = change.old, change.new
            gone = old is not None and (new is None or new.metadata.get("uid") != old.metadata.get("uid"))
            if gone:
                self._background.scripts.forget_job(JobKey(served.kind, *change.key))
            if old is not None and gone and is_accepted(old.status):
                self._metrics.deleted(served.kind, change.key.namespace)

        jobs.on_replace(notice_deletion)
        self._metrics.follow(served.kind, all_figures, lambda: len(controller.queue))
        return controller

    def _follow_scalers(self, kind: str, controller: Controller[Key], jobs: Informer[JobView]) -> None:
        """A scaler is planned with its job; the run of its script ends with it."""
        scalers, scripts = self._caches.scalers, self._background.scripts

        def job(view: ScalerView) -> Iterator[Key]:
            found = scalers.job_of(kind, view)
            key = Key(found.namespace, found.name)
            if key in jobs:
                yield key

        def end_script(change: Replaced[ScalerView]) -> None:
            old, new = change.old, change.new
            if old is not None and (new is None or new.metadata.uid != old.metadata.uid or has_ended(new)):
                scripts.forget(old.metadata.uid)

        informer = scalers.informers[kind]
        controller.watches(informer, keys=job)
        informer.on_replace(end_script)

    def _for_scalers_without_job(self) -> Controller[ScalerKey]:
        scalers = self._caches.scalers
        reconciler = ScalersWithoutJob(self._client, scalers, self._scaled)
        controller: Controller[ScalerKey] = Controller("scalers without a job", reconciler.reconcile)
        for kind, informer in scalers.informers.items():
            controller.watches(informer, keys=partial(_own_key, kind))

        def job_exists_or_not(kind: str, change: Replaced[JobView]) -> None:
            if change.old is None or change.new is None or change.old.metadata["uid"] != change.new.metadata["uid"]:
                for key in scalers.selecting(JobKey(kind, *change.key)):
                    controller.enqueue(key)

        for kind, jobs in self._scaled.items():
            controller.reads(jobs.informer)
            jobs.informer.on_replace(partial(job_exists_or_not, kind))
        return controller

    def _node_changed(self, _key: Key) -> None:
        """Nodes send heartbeats every few seconds; only changed facts (see `NodeFacts.news`) trigger a reconcile of the
        jobs there."""
        before, self._news = self._news, self._caches.node_facts().news()
        affected: set[JobKey] = set()
        for node, _ in before ^ self._news:
            affected |= self._caches.jobs_on(node)
        for job in affected:
            self._look_again(job)

    def _pod_replaced(self, change: Replaced[PodView]) -> None:
        """The first pod that is evicted from a cordoned node shows that the node is being drained; all jobs there are
        reconciled."""
        old, new = change.old, change.new
        if new is None or not is_evicted(new) or (old is not None and is_evicted(old)):
            return
        for job in self._caches.jobs_on(new.spec.node_name):
            self._look_again(job)

    def _look_again(self, job: JobKey) -> None:
        if (controller := self._controllers.get(job.kind)) is not None:  # pods may have any label
            controller.enqueue(Key(job.namespace, job.name))


def _own_key(kind: str, view: ScalerView) -> tuple[ScalerKey]:
    return (ScalerKey(kind, view.metadata.namespace, view.metadata.name),)
