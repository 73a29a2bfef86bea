# SPDX-License-Identifier: Apache-2.0
"""Creating and deleting pods for an owner, with expectations about the pod cache.

Used by the controllers that own pods: ReplicaSet and Job. A cache lags a little behind the server, so after a create
the owner would seem to have one pod too few. `Expectations` keeps the names of created and deleted pods until the cache
agrees, or for five minutes; meanwhile the controller neither creates nor deletes pods.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeVar

from springtide.kube import errors
from springtide.kube.cache import Cache
from springtide.kube.client import Client
from springtide.kube.events import EventRecorder
from springtide.kube.request import DeleteOptions
from springtide.kube.resources import PODS, Key, Obj, Resource
from springtide.local.controller_manager.selection.ownership import Belonging, reference
from springtide.local.controller_manager.views import PodView

T = TypeVar("T")
R = TypeVar("R")
BURST = 500
"""The maximum number of pods created or deleted for one owner in one reconcile."""
AT_ONCE = 16
"""The maximum of these in parallel: in-process requests run up to their first await before any other task runs."""
FORGET_AFTER = timedelta(minutes=5)
_NAMESPACE_TERMINATING = "NamespaceTerminating"


def belonging(pod: PodView) -> Belonging:
    metadata = pod.metadata
    owner = pod.controller
    manager = "" if owner is None else owner.uid
    key = Key(metadata.namespace, metadata.name)
    return Belonging(key, metadata.uid, metadata.labels, manager, metadata.deletion_timestamp is not None)


def pod_from(template: Obj, owners: Resource, owner: Obj) -> Obj:
    """A pod created from a template, named after its owner."""
    given = template.get("metadata") or {}
    metadata: Obj = {part: given[part] for part in ("labels", "annotations", "finalizers") if given.get(part)}
    metadata["namespace"] = owner["metadata"]["namespace"]
    metadata["generateName"] = f"{owner['metadata']['name']}-"
    metadata["ownerReferences"] = [reference(owners, owner)]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


@dataclass(slots=True)
class _Awaited:
    made: dict[Key, str] = field(default_factory=dict)
    """Pods, with their uids, that must still appear in the cache."""
    deleted: dict[Key, str] = field(default_factory=dict)
    """Pods that must still disappear or show that they are being deleted."""
    since: datetime | None = None


class Expectations:
    def __init__(self, pods: Cache[PodView]) -> None:
        self._pods = pods
        self._awaited: dict[str, _Awaited] = {}

    def made(self, owner: str, pod: Key, uid: str, now: datetime) -> None:
        awaited = self._awaited.setdefault(owner, _Awaited())
        awaited.made[pod], awaited.since = uid, now

    def deleted(self, owner: str, pod: Key, uid: str, now: datetime) -> None:
        awaited = self._awaited.setdefault(owner, _Awaited())
        awaited.deleted[pod], awaited.since = uid, now

    def forget(self, owner: str) -> None:
        self._awaited.pop(owner, None)

    def wait(self, owner: str, now: datetime) -> float:
        """The maximum seconds to wait; 0 when the cache shows all earlier writes."""
        awaited = self._awaited.get(owner)
        if awaited is None or awaited.since is None:
            return 0.0
        awaited.made = {key: uid for key, uid in awaited.made.items() if not self._appeared(key, uid)}
        awaited.deleted = {key: uid for key, uid in awaited.deleted.items() if not self._went(key, uid)}
        left = (awaited.since + FORGET_AFTER - now).total_seconds()
        if left > 0 and (awaited.made or awaited.deleted):
            return left
        del self._awaited[owner]
        return 0.0

    def _appeared(self, key: Key, uid: str) -> bool:
        pod = self._pods.get(key)
        return pod is not None and pod.uid == uid

    def _went(self, key: Key, uid: str) -> bool:
        pod = self._pods.get(key)
        return pod is None or pod.uid != uid or pod.metadata.deletion_timestamp is not None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How many of the wanted steps were done, and the first error."""

    done: int = 0
    error: errors.ApiError | None = None


class PodControl:
    def __init__(self, client: Client, events: EventRecorder, owners: Resource, pods: Cache[PodView]) -> None:
        self._client, self._events, self._owners = client, events, owners
        self.expectations = Expectations(pods)

    async def create(self, owner: Obj, wanted: Sequence[Obj], now: datetime) -> Outcome:
        """Creates pods in growing batches, so that a rejection (quota) occurs once and not five hundred times."""

        async def one(pod: Obj) -> errors.ApiError | None:
            return await self._create_one(owner, pod, now)

        return await slow_start(wanted, one)

    async def delete(self, owner: Obj, pods: Iterable[PodView], now: datetime) -> Outcome:
        """Deletes pods; one that cannot be deleted does not delay the others."""

        async def one(pod: PodView) -> errors.ApiError | None:
            return await self._delete_one(owner, pod, now)

        found = await in_slices(tuple(pods), one)
        failures = [error for error in found if error is not None]
        return Outcome(len(found) - len(failures), failures[0] if failures else None)

    async def _create_one(self, owner: Obj, pod: Obj, now: datetime) -> errors.ApiError | None:
        try:
            made = await self._client.create(PODS, pod)
        except errors.ApiError as error:
            if error.has_cause(_NAMESPACE_TERMINATING):
                return None  # no pods can be created any more; an event would not help
            self._events.warning(owner, "FailedCreate", f"Error creating: {error.message}")
            return error
        self.expectations.made(owner["metadata"]["uid"], Key.of(made), made["metadata"]["uid"], now)
        self._events.normal(owner, "SuccessfulCreate", f"Created pod: {made['metadata']['name']}")
        return None

    async def _delete_one(self, owner: Obj, pod: PodView, now: datetime) -> errors.ApiError | None:
        try:
            await self._client.delete(PODS, pod.key, DeleteOptions(uid=pod.uid))
        except (errors.NotFound, errors.Conflict):
            return None  # deleted, or another pod has the name by now
        except errors.ApiError as error:
            self._events.warning(owner, "FailedDelete", f"Error deleting: {error.message}")
            return error
        self.expectations.deleted(owner["metadata"]["uid"], pod.key, pod.uid, now)
        self._events.normal(owner, "SuccessfulDelete", f"Deleted pod: {pod.metadata.name}")
        return None


async def in_slices(work: Sequence[T], one: Callable[[T], Awaitable[R]]) -> list[R]:
    """Processes all items, `AT_ONCE` in parallel."""
    parts = (work[start : start + AT_ONCE] for start in range(0, len(work), AT_ONCE))
    return [found for part in parts for found in await asyncio.gather(*map(one, part))]


async def slow_start(wanted: Sequence[Obj], one: Callable[[Obj], Awaitable[errors.ApiError | None]]) -> Outcome:
    """Batches of 1, 2, 4 ... up to `AT_ONCE`, until a batch has a failure."""
    done, size, start = 0, 1, 0
    while start < len(wanted):
        batch = wanted[start : start + size]
        found = await asyncio.gather(*(one(item) for item in batch))
        failures = [error for error in found if error is not None]
        done += len(batch) - len(failures)
        if failures:
            return Outcome(done, failures[0])
        start, size = start + size, min(size * 2, AT_ONCE)
    return Outcome(done)
