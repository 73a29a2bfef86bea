# SPDX-License-Identifier: Apache-2.0
"""PodDisruptionBudget: how many of its pods may be evicted now.

The eviction subresource of the API server uses the status kept here: it allows an eviction only while
`disruptionsAllowed` is above zero, decrements it, and records the pod in `disruptedPods`. Such a pod counts as
unhealthy until it is deleted, or for two minutes if it never is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from springtide.event_loop.slices import in_slices
from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.controller import Controller, Result
from springtide.kube.events import EventRecorder
from springtide.kube.informer import Informers
from springtide.kube.resources import DEPLOYMENTS, PODDISRUPTIONBUDGETS, PODS, REPLICASETS, Key, Obj
from springtide.local.controller_manager import conditions, views
from springtide.local.controller_manager.autoscaling.scales import NoSuchKind, NotScalable, Scales
from springtide.local.controller_manager.selection.label_postings import selected
from springtide.local.controller_manager.selection.ownership import manager_of
from springtide.local.controller_manager.selection.selectors import Labelled, Selectors
from springtide.local.controller_manager.status_writes import LOOK_AGAIN, OwnWrites, write_status
from springtide.local.controller_manager.timestamps import Clock, read, stamp, utc_now
from springtide.local.controller_manager.views import OwnerView, PodView
from springtide.local.controller_manager.workloads.rollout_terms import resolved

COMPONENT = "controllermanager"
EVICTION_TIMEOUT = timedelta(minutes=2)
_ALLOWED = "DisruptionAllowed"


class Unknowable(Exception):
    """The expected number of pods cannot be determined; the message is for users."""


@dataclass(frozen=True, slots=True)
class Observed:
    budget: Obj
    pods: tuple[PodView, ...] = ()
    expected: int = 0
    """The replicas of the pods' owners, or the number of pods; see `needs_scale`."""


@dataclass(frozen=True, slots=True)
class Plan:
    status: Obj
    overdue: tuple[PodView, ...] = ()
    """Pods that were evicted and still exist."""
    look_again: float | None = None


def needs_scale(budget: Obj) -> bool:
    """Whether the owners' scale is needed: not for a minAvailable that is a plain number."""
    spec = budget["spec"]
    return "maxUnavailable" in spec or isinstance(spec.get("minAvailable"), str)


def plan(observed: Observed, now: datetime) -> Plan:
    disrupted, overdue = _disrupted(observed, now)
    healthy = sum(
        pod.ready and pod.metadata.deletion_timestamp is None and pod.metadata.name not in disrupted
        for pod in observed.pods
    )
    desired = _desired(observed.budget["spec"], observed.expected)
    allowed = max(0, healthy - desired) if observed.expected > 0 else 0
    generation = observed.budget["metadata"].get("generation", 0)
    status: Obj = {
        "currentHealthy": healthy,
        "desiredHealthy": desired,
        "expectedPods": observed.expected,
        "disruptionsAllowed": allowed,
        "observedGeneration": generation,
        "conditions": _conditions(observed.budget, allowed, generation, now),
    }
    if disrupted:
        status["disruptedPods"] = {name: stamp(since) for name, since in disrupted.items()}
    ends = [(since + EVICTION_TIMEOUT - now).total_seconds() for since in disrupted.values()]
    return Plan(status, overdue, min(ends) + 1.0 if ends else None)


def _disrupted(observed: Observed, now: datetime) -> tuple[Mapping[str, datetime], tuple[PodView, ...]]:
    noted = (observed.budget.get("status") or {}).get("disruptedPods") or {}
    pending: dict[str, datetime] = {}
    overdue: list[PodView] = []
    for pod in observed.pods:
        since = noted.get(pod.metadata.name)
        if since is None or pod.metadata.deletion_timestamp is not None:
            continue
        if read(since) + EVICTION_TIMEOUT < now:
            overdue.append(pod)
        else:
            pending[pod.metadata.name] = read(since)
    return pending, tuple(overdue)


def _desired(spec: Obj, expected: int) -> int:
    if "maxUnavailable" in spec:
        return max(0, expected - resolved(spec["maxUnavailable"], expected, round_up=True))
    return resolved(spec.get("minAvailable", 0), expected, round_up=True)


def _conditions(budget: Obj, allowed: int, generation: int, now: datetime) -> list[Obj]:
    status, reason = ("True", "SufficientPods") if allowed else ("False", "InsufficientPods")
    return _with_condition(budget, status, reason, "", generation, now)


def _with_condition(budget: Obj, status: str, reason: str, message: str, generation: int, now: datetime) -> list[Obj]:
    present: Sequence[Obj] = (budget.get("status") or {}).get("conditions") or ()
    known = conditions.find(present, _ALLOWED)
    kept = known is not None and known["status"] == status
    news = {
        "type": _ALLOWED,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": known["lastTransitionTime"] if known is not None and kept else stamp(now),
        "observedGeneration": generation,
    }
    if known is None:
        return [*present, news]
    return [news if present_one is known else present_one for present_one in present]


def fail_safe(budget: Obj, why: str, now: datetime) -> Obj:
    """Allows no evictions while their effect is unknown."""
    before = budget.get("status") or {}
    required = {name: before.get(name, 0) for name in ("currentHealthy", "desiredHealthy", "expectedPods")}
    generation = before.get("observedGeneration", 0)
    found = _with_condition(budget, "False", "SyncFailed", why, generation, now)
    return {**before, **required, "disruptionsAllowed": 0, "conditions": found}


# Acting


class DisruptionBudgets:
    def __init__(self, informers: Informers, client: Client, events: EventRecorder, clock: Clock = utc_now) -> None:
        self._client, self._events, self._clock = client, events, clock
        self._pods = views.pods(informers)
        self._budgets = informers.of(PODDISRUPTIONBUDGETS)
        self._selectors = Selectors(self._budgets)
        self._sets = informers.of(REPLICASETS)
        self._deployments = informers.of(DEPLOYMENTS)
        self._scales = Scales(client)
        self._writes = OwnWrites()
        self.controller: Controller[Key | Labelled] = Controller("disruption budgets", self.reconcile)
        self.controller.watches(self._budgets)
        self.controller.watches(self._pods, keys=self._affected)
        self.controller.reads(self._sets)
        self.controller.reads(self._deployments)

    def _affected(self, pod: PodView) -> Sequence[Key | Labelled]:
        return self._selectors.lookups(pod.metadata.namespace, pod.metadata.labels)

    async def reconcile(self, work: Key | Labelled) -> Result | None:
        if isinstance(work, Key):
            return await self._reconcile(work)
        for key in await self._selectors.selecting(work):
            self.controller.enqueue(key)
        return None

    async def _reconcile(self, key: Key) -> Result | None:
        budget = self._budgets.get(key)
        if budget is None:
            self._writes.forget(key)
            return None
        if not self._writes.shown_by(budget):
            return Result(requeue_after=LOOK_AGAIN)
        try:
            observed = await self._observe(budget)
        except (Unknowable, NoSuchKind, NotScalable) as error:
            message = f"Failed to calculate the number of expected pods: {error}"
            self._events.warning(budget, "CalculateExpectedPodCountFailed", message)
            status = fail_safe(budget, str(error), self._clock())
            await write_status(self._client, PODDISRUPTIONBUDGETS, budget, status)
            return None
        decided = plan(observed, self._clock())
        for pod in decided.overdue:
            self._complain(budget, pod)
        self._writes.note(await write_status(self._client, PODDISRUPTIONBUDGETS, budget, decided.status))
        return Result(requeue_after=decided.look_again)

    def _complain(self, budget: Obj, pod: PodView) -> None:
        about = PODS.describe(pod.key) | {"metadata": {**PODS.describe(pod.key)["metadata"], "uid": pod.uid}}
        message = f"Pod was expected by PDB {Key.of(budget)} to be deleted but it wasn't"
        self._events.warning(about, "NotDeleted", message)

    async def _observe(self, budget: Obj) -> Observed:
        selector = await self._selectors.of(budget)
        found = selected(self._pods, views.BY_LABEL, budget["metadata"]["namespace"], selector)
        pods = tuple([pod async for pod in in_slices(found) if selector.matches(pod.metadata.labels)])
        if not pods:
            self._events.normal(budget, "NoPods", "No matching pods found")
        if not needs_scale(budget):
            return Observed(budget, pods, len(pods))
        wanted: dict[str, int] = {}
        unmanaged: list[str] = []
        async for pod in in_slices(pods):  # an in-process read awaits nothing
            owner = pod.controller
            if owner is None:
                unmanaged.append(pod.metadata.name)
            elif owner.uid not in wanted:
                uid, size = await self._scale_of(owner, pod)
                wanted[uid] = size
        if unmanaged:
            self._warn_of_unmanaged(budget, str(selector))
        return Observed(budget, pods, sum(wanted.values()))

    def _warn_of_unmanaged(self, budget: Obj, selector: str) -> None:
        message = (
            f"Pods selected by this PodDisruptionBudget (selector: {selector}) were found to be unmanaged. As a "
            "result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. "
            'To account for these pods please set ".spec.minAvailable" field of the PDB to an integer value.'
        )
        self._events.warning(budget, "UnmanagedPods", message)

    async def _scale_of(self, owner: OwnerView, pod: PodView) -> tuple[str, int]:
        """The topmost owner with a scale, and its replicas."""
        namespace = pod.metadata.namespace
        if owner.is_one_of(REPLICASETS):
            known = self._sets.get(Key(namespace, owner.name))
            if known is not None and known["metadata"]["uid"] == owner.uid:
                return self._top(known)
            raise Unknowable(f'found no controllers for pod "{pod.metadata.name}"')
        resource = await self._scales.resource_of(owner.api_version, owner.kind)
        try:
            scale = await self._scales.get(resource, Key(namespace, owner.name))
        except errors.NotFound as error:
            raise Unknowable(f'found no controllers for pod "{pod.metadata.name}"') from error
        if scale["metadata"]["uid"] != owner.uid:
            raise Unknowable(f'found no controllers for pod "{pod.metadata.name}"')
        return owner.uid, scale["spec"].get("replicas", 0)

    def _top(self, replica_set: Obj) -> tuple[str, int]:
        manager = manager_of(replica_set)
        if manager is not None and manager["kind"] == DEPLOYMENTS.kind:
            deployment = self._deployments.get(Key(replica_set["metadata"]["namespace"], manager["name"]))
            if deployment is not None and deployment["metadata"]["uid"] == manager["uid"]:
                return manager["uid"], deployment["spec"].get("replicas", 1)
        return replica_set["metadata"]["uid"], replica_set["spec"]["replicas"]


def controller(informers: Informers, client: Client, events: EventRecorder) -> Controller[Key | Labelled]:
    return DisruptionBudgets(informers, client, events).controller
