# SPDX-License-Identifier: Apache-2.0
"""ResourceQuota: counting the usage of a namespace.

Admission adds the usage of each write; this controller recounts everything when a quota changes, when a counted object
is deleted, and every few minutes, which also corrects the usage added for a failed write. Objects are counted on the
server, not in caches: a slow watch must not loosen a quota.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from springtide.api import quantity
from springtide.event_loop.slices import in_slices
from springtide.kube.client import Client
from springtide.kube.controller import Controller, Result
from springtide.kube.events import EventRecorder
from springtide.kube.informer import Informer, Informers
from springtide.kube.request import Scope
from springtide.kube.resources import (
    CUSTOMRESOURCEDEFINITIONS,
    PERSISTENTVOLUMECLAIMS,
    PODS,
    RESOURCEQUOTAS,
    SERVICES,
    Key,
    Obj,
    Resource,
)
from springtide.local.admission import quota_usage
from springtide.local.admission.quota_usage import Usage
from springtide.local.controller_manager import views
from springtide.local.controller_manager.garbage_collection.heads import Head, deletable
from springtide.local.controller_manager.network.pacing import Pace
from springtide.local.controller_manager.status_writes import write_status
from springtide.local.controller_manager.timestamps import Clock, utc_now

COMPONENT = "resourcequota-controller"
EVERY = 300.0
_METADATA = Scope(metadata_only=True)
_WEIGHED = (PODS, SERVICES, PERSISTENTVOLUMECLAIMS)
"""Resources counted by their content; of all others each object counts as one."""


def is_unsettled(quota: Obj) -> bool:
    """Whether the status is older than the spec. Admission changes the status too, which must not cause a recount."""
    status = quota.get("status") or {}
    return "used" not in status or status.get("hard") != quota["spec"].get("hard", {})


def new_status(quota: Obj, counted: Mapping[str, Usage]) -> Obj:
    """The whole new status. Names that could not be counted keep their old number, if they have one."""
    hard = quota["spec"].get("hard") or {}
    before = (quota.get("status") or {}).get("used") or {}
    now = {name: str(amount) for usage in counted.values() for name, amount in usage.items()}
    used = before | now
    return {"hard": hard, "used": {name: used[name] for name in hard if name in used}}


async def add_up(names: Iterable[str], usages: Iterable[Usage]) -> Usage:
    """The sums for these names; zero for unused ones. Yields to the event loop between usages."""
    total = dict.fromkeys(names, quantity.ZERO)
    async for usage in in_slices(usages):
        for name in total:
            if name in usage:
                total[name] += usage[name]
    return total


class Quotas:
    def __init__(self, informers: Informers, client: Client, clock: Clock = utc_now) -> None:
        self._informers, self._client, self._clock = informers, client, clock
        self._quotas = informers.of(RESOURCEQUOTAS)
        self._followed: dict[Resource, Informer[Any]] = {}
        self._served: list[Resource] = []
        self._pace = Pace()
        self.controller: Controller[Key] = Controller("quotas", self._reconcile, workers=2)
        self.controller.watches(self._quotas, keys=lambda quota: [Key.of(quota)] if is_unsettled(quota) else [])
        self.controller.watches(informers.of(CUSTOMRESOURCEDEFINITIONS, _METADATA, into=Head), keys=self._counting_kind)

    def _counting_kind(self, definition: Head) -> list[Key]:
        self._served = []  # rediscovered on the next count
        name = f"count/{definition.metadata.name}"
        return [Key.of(quota) for quota in self._quotas.objects() if name in (quota["spec"].get("hard") or {})]

    async def _reconcile(self, key: Key) -> Result | None:
        quota = self._quotas.get(key)
        if quota is None:
            self._pace.forget(key)
            return None
        with self._pace.measured(key):
            counted = {str(resource): await self._count(quota, resource) for resource in await self._counted_by(quota)}
            await write_status(self._client, RESOURCEQUOTAS, quota, new_status(quota, counted))
        return Result(requeue_after=EVERY)

    async def _counted_by(self, quota: Obj) -> list[Resource]:
        if not self._served:
            self._served = [resource for resource in await deletable(self._client) if resource.namespaced]
        hard = quota["spec"].get("hard") or {}
        found = [resource for resource in self._served if quota_usage.tracked(str(resource), hard)]
        for resource in found:
            self._follow(resource)
        return found

    async def _count(self, quota: Obj, resource: Resource) -> Usage:
        storage, namespace = str(resource), quota["metadata"]["namespace"]
        names = quota_usage.tracked(storage, quota["spec"]["hard"])
        now = self._clock()
        weighed = resource in _WEIGHED
        raws, _ = await self._client.list_raw(resource, Scope(namespace, metadata_only=not weighed))
        objects = (msgspec.json.decode(raw) for raw in raws) if weighed else ({} for _ in raws)
        in_scope = (obj for obj in objects if quota_usage.in_scope(quota, storage, obj))
        return await add_up(names, (quota_usage.usage(storage, obj, now) for obj in in_scope))

    # Changes that free quota

    def _follow(self, resource: Resource) -> None:
        """Watches deletions, through a cache that other controllers keep anyway."""
        informer: Informer[Any]
        if resource == PODS:
            informer = views.pods(self._informers)
        else:
            informer = self._informers.of(resource, _METADATA, into=Head)
        if self._followed.get(resource) is informer:
            return
        self._followed[resource] = informer
        informer.on_change(self._replenish(resource, informer))

    def _replenish(self, resource: Resource, informer: Informer[Any]) -> Callable[[Key], None]:
        storage = str(resource)

        def changed(key: Key) -> None:
            if not _may_free(resource, informer.get(key)):
                return
            for quota in self._quotas.objects(key.namespace):
                if quota_usage.tracked(storage, quota["spec"].get("hard") or {}):
                    name = Key.of(quota)
                    self.controller.enqueue(name, self._pace.delay(name))

        return changed


def _may_free(resource: Resource, obj: Any) -> bool:
    """Whether an object in this state, or gone, may use less: a finished pod, a service of another type."""
    return obj is None or resource == SERVICES or (isinstance(obj, views.PodView) and obj.terminal)


def controller(informers: Informers, client: Client, _recorder: EventRecorder) -> Controller[Key]:
    return Quotas(informers, client).controller
