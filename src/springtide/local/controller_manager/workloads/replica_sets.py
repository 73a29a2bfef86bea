# SPDX-License-Identifier: Apache-2.0
"""ReplicaSet: keeps `spec.replicas` pods.

Matching pods without an owner are adopted, owned pods that no longer match are released. Surplus pods are deleted, the
least important first (`pod_ranking`). The status counts what the cache shows, before this round's creates and deletes:
the next round counts those.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from springtide.kube.client import Client
from springtide.kube.controller import Controller, Result, Retry
from springtide.kube.events import EventRecorder
from springtide.kube.informer import Informers
from springtide.kube.resources import PODS, REPLICASETS, Key, Obj
from springtide.local.controller_manager import conditions, views
from springtide.local.controller_manager.selection.label_postings import selected
from springtide.local.controller_manager.selection.ownership import Keeper, manager_of
from springtide.local.controller_manager.selection.selectors import Labelled, Selectors
from springtide.local.controller_manager.status_writes import LOOK_AGAIN, OwnWrites, write_status
from springtide.local.controller_manager.timestamps import Clock, stamp, utc_now
from springtide.local.controller_manager.views import PodView
from springtide.local.controller_manager.workloads.pod_control import BURST, Outcome, PodControl, belonging, pod_from
from springtide.local.controller_manager.workloads.pod_ranking import deletion_order

COMPONENT = "replicaset-controller"
BY_MANAGER = "manager uid"
_WORKERS = 5
_FAILURE = "ReplicaFailure"


@dataclass(frozen=True, slots=True)
class Observed:
    replica_set: Obj
    pods: tuple[PodView, ...] = ()
    """Active pods that belong to it."""
    terminating: int = 0
    settled: bool = True
    """Whether the cache shows all earlier writes."""
    neighbours: Mapping[str, int] = field(default_factory=dict)
    """Active pods of the same deployment's replica sets, by node."""


@dataclass(frozen=True, slots=True)
class Plan:
    create: int = 0
    delete: tuple[PodView, ...] = ()


def plan(observed: Observed, now: datetime) -> Plan:
    replica_set = observed.replica_set
    if not observed.settled or "deletionTimestamp" in replica_set["metadata"]:
        return Plan()
    missing = replica_set["spec"]["replicas"] - len(observed.pods)
    if missing >= 0:
        return Plan(create=min(missing, BURST))
    surplus = min(-missing, BURST)
    return Plan(delete=tuple(deletion_order(observed.pods, observed.neighbours, now)[:surplus]))


def status(observed: Observed, outcome: Outcome, now: datetime) -> Obj:
    """The whole new status. Zero counts are omitted, as in the real controller's status."""
    replica_set, pods = observed.replica_set, observed.pods
    spec, old = replica_set["spec"], replica_set.get("status") or {}
    labels = (spec["template"].get("metadata") or {}).get("labels") or {}
    ready = [pod for pod in pods if pod.ready]
    seconds = spec.get("minReadySeconds", 0)
    counts = {
        "fullyLabeledReplicas": sum(labels.items() <= pod.metadata.labels.items() for pod in pods),
        "readyReplicas": len(ready),
        "availableReplicas": sum(not pod.available_in(seconds, now) for pod in ready) if seconds else len(ready),
        "observedGeneration": replica_set["metadata"].get("generation", 0),
    }
    new: Obj = {"replicas": len(pods)} | {name: count for name, count in counts.items() if count}
    new["terminatingReplicas"] = observed.terminating
    if found := _conditions(old.get("conditions") or (), observed, outcome, now):
        new["conditions"] = found
    return new


def _conditions(old: Sequence[Obj], observed: Observed, outcome: Outcome, now: datetime) -> list[Obj]:
    if outcome.error is None:
        return conditions.without(old, _FAILURE)
    if conditions.find(old, _FAILURE):
        return list(old)
    too_few = len(observed.pods) < observed.replica_set["spec"]["replicas"]
    failure = {
        "type": _FAILURE,
        "status": "True",
        "lastTransitionTime": stamp(now),
        "reason": "FailedCreate" if too_few else "FailedDelete",
        "message": outcome.error.message,
    }
    return [*old, failure]


def next_look(observed: Observed, now: datetime) -> float | None:
    """Seconds until the next ready pod becomes available, if only minReadySeconds is pending."""
    seconds = observed.replica_set["spec"].get("minReadySeconds", 0)
    if not seconds:
        return None
    waits = [pod.available_in(seconds, now) for pod in observed.pods if pod.ready]
    finite = [wait for wait in waits if 0 < wait < float("inf")]
    return min(finite) if finite else None


# Acting


class ReplicaSets:
    def __init__(self, informers: Informers, client: Client, events: EventRecorder, clock: Clock = utc_now) -> None:
        self._client, self._clock = client, clock
        self._pods = views.pods(informers)
        self._sets = informers.of(REPLICASETS)
        self._selectors = Selectors(self._sets)
        self._sets.add_index(BY_MANAGER, manager_uids)
        self._keeper = Keeper(client, REPLICASETS, PODS, belonging)
        self._control = PodControl(client, events, REPLICASETS, self._pods)
        self._writes = OwnWrites()
        self._uids: dict[Key, str] = {}
        self.controller: Controller[Key | Labelled] = Controller("replica sets", self.reconcile, workers=_WORKERS)
        self.controller.watches(self._sets)
        self.controller.watches(self._pods, keys=self._affected)

    def _affected(self, pod: PodView) -> Sequence[Key | Labelled]:
        """The replica set that manages a pod, or those that may adopt it."""
        if pod.controller is not None:
            return views.managed_by(REPLICASETS)(pod)
        return self._selectors.lookups(pod.metadata.namespace, pod.metadata.labels)

    async def reconcile(self, work: Key | Labelled) -> Result | None:
        if isinstance(work, Key):
            return await self._reconcile(work)
        for key in await self._selectors.selecting(work):
            self.controller.enqueue(key)
        return None

    async def _reconcile(self, key: Key) -> Result | None:
        replica_set = self._sets.get(key)
        if replica_set is None:
            self._control.expectations.forget(self._uids.pop(key, ""))
            self._writes.forget(key)
            return None
        if not self._writes.shown_by(replica_set):
            return Result(requeue_after=LOOK_AGAIN)
        self._uids[key] = replica_set["metadata"]["uid"]
        observed = await self._observe(replica_set)
        now = self._clock()
        decided = plan(observed, now)
        outcome = await self._act(observed, decided, now)
        new = status(observed, outcome, now)
        self._writes.note(await write_status(self._client, REPLICASETS, replica_set, new))
        if outcome.error is not None:
            raise Retry(outcome.error.message) from outcome.error
        return Result(requeue_after=self._next_look(observed, now))

    async def _observe(self, replica_set: Obj) -> Observed:
        metadata = replica_set["metadata"]
        selector = await self._selectors.of(replica_set)
        # Before the pods are read: they include everything that the cache shows by now.
        settled = not self._control.expectations.wait(metadata["uid"], self._clock())
        mine = self._pods.where(views.BY_CONTROLLER, metadata["uid"])
        found = [*mine, *selected(self._pods, views.UNMANAGED, metadata["namespace"], selector)]
        claimed = await self._keeper.claim(replica_set, selector, (pod for pod in found if pod.active))
        return Observed(
            replica_set,
            tuple(claimed),
            terminating=sum(pod.terminating and selector.matches(pod.metadata.labels) for pod in mine),
            settled=settled,
            neighbours=self._neighbours(replica_set) if len(claimed) > replica_set["spec"]["replicas"] else {},
        )

    def _neighbours(self, replica_set: Obj) -> Counter[str]:
        manager = manager_of(replica_set)
        sisters = [replica_set] if manager is None else self._sets.where(BY_MANAGER, manager["uid"])
        return Counter(
            pod.spec.node_name
            for sister in sisters
            for pod in self._pods.where(views.BY_CONTROLLER, sister["metadata"]["uid"])
            if pod.active
        )

    async def _act(self, observed: Observed, decided: Plan, now: datetime) -> Outcome:
        replica_set = observed.replica_set
        if decided.create:
            pod = pod_from(replica_set["spec"]["template"], REPLICASETS, replica_set)
            return await self._control.create(replica_set, [pod] * decided.create, now)
        if decided.delete:
            return await self._control.delete(replica_set, decided.delete, now)
        return Outcome()

    def _next_look(self, observed: Observed, now: datetime) -> float | None:
        waiting = self._control.expectations.wait(observed.replica_set["metadata"]["uid"], now)
        return min((wait for wait in (waiting or None, next_look(observed, now)) if wait is not None), default=None)


def manager_uids(obj: Obj) -> list[str]:
    """Index of plain objects by the uid of their managing owner."""
    manager = manager_of(obj)
    return [] if manager is None else [manager["uid"]]


def controller(informers: Informers, client: Client, events: EventRecorder) -> Controller[Key | Labelled]:
    return ReplicaSets(informers, client, events).controller
