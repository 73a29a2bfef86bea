# SPDX-License-Identifier: Apache-2.0
"""Deployment: creates, resizes and deletes replica sets as the pod template changes.

`rollouts` decides; this module observes and acts. A replica set's name is derived from its template, so a repeated
create is harmless; when a replica set of another template has the name, the deployment counts a collision and derives
another name.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from datetime import datetime

from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.controller import Controller, Result, Retry, owned_by
from springtide.kube.events import EventRecorder
from springtide.kube.informer import Informers
from springtide.kube.request import DeleteOptions
from springtide.kube.resources import DEPLOYMENTS, REPLICASETS, Key, Obj
from springtide.local.controller_manager import views
from springtide.local.controller_manager.selection.label_postings import postings, selected
from springtide.local.controller_manager.selection.ownership import Belonging, Keeper, manager_of
from springtide.local.controller_manager.selection.selectors import Labelled, Selectors
from springtide.local.controller_manager.status_writes import LOOK_AGAIN, OwnWrites, write_status
from springtide.local.controller_manager.timestamps import Clock, utc_now
from springtide.local.controller_manager.views import PodView
from springtide.local.controller_manager.workloads.replica_sets import BY_MANAGER, manager_uids
from springtide.local.controller_manager.workloads.rollout_sets import REVISION, same_template
from springtide.local.controller_manager.workloads.rollouts import (
    Change,
    Observed,
    Plan,
    collided,
    failed_to_create,
    plan,
)

COMPONENT = "deployment-controller"
_WORKERS = 5
_UNMANAGED = "label, unmanaged"
_SCALING = "ScalingReplicaSet"


class Deployments:
    def __init__(self, informers: Informers, client: Client, events: EventRecorder, clock: Clock = utc_now) -> None:
        self._client, self._events, self._clock = client, events, clock
        self._pods = views.pods(informers)
        self._deployments = informers.of(DEPLOYMENTS)
        self._selectors = Selectors(self._deployments)
        self._sets = informers.of(REPLICASETS)
        self._sets.add_index(BY_MANAGER, manager_uids)
        self._sets.add_index(_UNMANAGED, _unmanaged)
        self._writes, self._set_writes = OwnWrites(), OwnWrites()
        self._keeper = Keeper(client, DEPLOYMENTS, REPLICASETS, _belonging)
        self.controller: Controller[Key | Labelled] = Controller("deployments", self.reconcile, workers=_WORKERS)
        self.controller.watches(self._deployments)
        self.controller.watches(self._sets, keys=self._affected)
        self.controller.watches(self._pods, keys=self._waiting_for)

    def _affected(self, replica_set: Obj) -> Sequence[Key | Labelled]:
        """The deployment that manages a replica set, or those that may adopt it."""
        if manager_of(replica_set) is not None:
            return owned_by(DEPLOYMENTS)(replica_set)
        metadata = replica_set["metadata"]
        return self._selectors.lookups(metadata["namespace"], metadata.get("labels"))

    def _waiting_for(self, pod: PodView) -> list[Key]:
        """Deployments of type Recreate wait for the deletion of old pods; all others follow only their replica sets."""
        for key in views.managed_by(REPLICASETS)(pod):
            replica_set = self._sets.get(key)
            for owner in owned_by(DEPLOYMENTS)(replica_set) if replica_set else ():
                deployment = self._deployments.get(owner)
                if deployment and deployment["spec"].get("strategy", {}).get("type") == "Recreate":
                    return [owner]
        return []

    async def reconcile(self, work: Key | Labelled) -> Result | None:
        if isinstance(work, Key):
            return await self._reconcile(work)
        for key in await self._selectors.selecting(work):
            self.controller.enqueue(key)
        return None

    async def _reconcile(self, key: Key) -> Result | None:
        deployment = self._deployments.get(key)
        if deployment is None:
            self._writes.forget(key)
            return None
        if not deployment["spec"]["selector"]:
            message = "This deployment is selecting all pods. A non-empty selector is required."
            self._events.warning(deployment, "SelectingAll", message)
            return None
        if not self._caught_up(deployment):
            return Result(requeue_after=LOOK_AGAIN)
        now = self._clock()
        decided = plan(await self._observe(deployment), now)
        await self._act(deployment, decided, now)
        return Result(requeue_after=decided.look_again)

    def _caught_up(self, deployment: Obj) -> bool:
        owned = self._sets.where(BY_MANAGER, deployment["metadata"]["uid"])
        return self._writes.shown_by(deployment) and all(self._set_writes.shown_by(known) for known in owned)

    async def _observe(self, deployment: Obj) -> Observed:
        metadata = deployment["metadata"]
        selector = await self._selectors.of(deployment)
        found = [
            *self._sets.where(BY_MANAGER, metadata["uid"]),
            *selected(self._sets, _UNMANAGED, metadata["namespace"], selector),
        ]
        claimed = await self._keeper.claim(deployment, selector, found)
        running = frozenset(
            replica_set["metadata"]["uid"]
            for replica_set in claimed
            if any(not pod.terminal for pod in self._pods.where(views.BY_CONTROLLER, replica_set["metadata"]["uid"]))
        )
        return Observed(deployment, tuple(claimed), running)

    async def _act(self, deployment: Obj, decided: Plan, now: datetime) -> None:
        if decided.create is not None:
            await self._create(deployment, decided.create, now)
        for change in decided.changes:
            await self._change(deployment, change)
        for replica_set in decided.forget:
            await self._forget(replica_set)
        annotations = {REVISION: decided.revision} if decided.revision else None
        self._writes.note(
            await write_status(self._client, DEPLOYMENTS, deployment, decided.status, annotations=annotations)
        )

    async def _create(self, deployment: Obj, wanted: Obj, now: datetime) -> None:
        name, size = wanted["metadata"]["name"], wanted["spec"]["replicas"]
        try:
            await self._client.create(REPLICASETS, wanted)
        except errors.AlreadyExists as error:
            await self._resolve_collision(deployment, wanted)
            raise Retry(error.message) from error
        except errors.ApiError as error:
            if error.has_cause("NamespaceTerminating"):
                raise Retry(error.message) from error
            message = f'Failed to create new replica set "{name}": {error.message}'
            self._events.warning(deployment, "ReplicaSetCreateError", message)
            await write_status(self._client, DEPLOYMENTS, deployment, failed_to_create(deployment, message, now))
            raise Retry(message) from error
        if size:
            self._events.normal(deployment, _SCALING, f"Scaled up replica set {name} from 0 to {size}")

    async def _resolve_collision(self, deployment: Obj, wanted: Obj) -> None:
        """Handles a taken name: of our own replica set that the cache does not show yet, or of another template's."""
        there = await self._client.find(REPLICASETS, Key.of(wanted))
        if there is None:
            return
        manager = manager_of(there)
        ours = manager is not None and manager["uid"] == deployment["metadata"]["uid"]
        if not ours or not same_template(there["spec"]["template"], deployment["spec"]["template"]):
            await write_status(self._client, DEPLOYMENTS, deployment, collided(deployment))

    async def _change(self, deployment: Obj, change: Change) -> None:
        replica_set = change.replica_set
        metadata = replica_set["metadata"]
        patch = change.patch
        patch["metadata"] = {**patch.get("metadata", {}), "resourceVersion": metadata["resourceVersion"]}
        self._set_writes.note(await self._client.patch(REPLICASETS, Key.of(replica_set), patch))
        before = replica_set["spec"]["replicas"]
        if before != change.size:
            way = "up" if before < change.size else "down"
            message = f"Scaled {way} replica set {metadata['name']} from {before} to {change.size}"
            self._events.normal(deployment, _SCALING, message)

    async def _forget(self, replica_set: Obj) -> None:
        self._set_writes.forget(Key.of(replica_set))
        try:
            await self._client.delete(
                REPLICASETS, Key.of(replica_set), DeleteOptions(uid=replica_set["metadata"]["uid"])
            )
        except errors.NotFound:
            return


def _belonging(replica_set: Obj) -> Belonging:
    metadata = replica_set["metadata"]
    manager = manager_of(replica_set)
    return Belonging(
        Key.of(replica_set),
        metadata["uid"],
        metadata.get("labels") or {},
        "" if manager is None else manager["uid"],
        "deletionTimestamp" in metadata,
    )


def _unmanaged(replica_set: Obj) -> Sequence[Hashable]:
    metadata = replica_set["metadata"]
    return () if manager_of(replica_set) else postings(metadata["namespace"], metadata.get("labels") or {})


def controller(informers: Informers, client: Client, events: EventRecorder) -> Controller[Key | Labelled]:
    return Deployments(informers, client, events).controller
