# SPDX-License-Identifier: Apache-2.0
"""Binds PersistentVolumes to claims.

There is one worker, because each decision changes the choices of the next. A binding is four writes, volume first;
after an interruption the next round completes them. Volumes are not provisioned or erased here: a claim of a class is
marked for its provisioner, and a Released volume with reclaim policy Delete is left to it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Final, NamedTuple

from springtide.event_loop.long_work import in_thread
from springtide.kube.client import Client
from springtide.kube.controller import Controller, Result
from springtide.kube.events import EventRecorder
from springtide.kube.informer import Informers
from springtide.kube.resources import PERSISTENTVOLUMECLAIMS, PERSISTENTVOLUMES, STORAGECLASSES, Key, Obj, Resource
from springtide.local.controller_manager import views
from springtide.local.controller_manager.selection.selectors import is_long
from springtide.local.controller_manager.status_writes import write_status
from springtide.local.controller_manager.storage.volume_matching import annotations_of, class_of, has_class
from springtide.local.controller_manager.storage.volume_plans import (
    BIND_COMPLETED,
    Event,
    Observed,
    bind_claim,
    bind_volume,
    claim_status,
    plan_claim,
    plan_volume,
    unbind_volume,
)
from springtide.local.controller_manager.storage.volume_protection import BY_CLAIM, claims_of

COMPONENT = "persistentvolume-controller"
_UNBOUND = "unbound of class"
_BY_REFERENCE = "claim"
_PROVISIONER = ("volume.beta.kubernetes.io/storage-provisioner", "volume.kubernetes.io/storage-provisioner")

_FEW_VOLUMES: Final = 500
"""The volume for a claim is chosen on the event loop among at most this many, in a few milliseconds."""


class Work(NamedTuple):
    resource: Resource
    key: Key


class VolumeBinding:
    def __init__(self, informers: Informers, client: Client, recorder: EventRecorder) -> None:
        self._client, self._recorder = client, recorder
        self._claims = informers.of(PERSISTENTVOLUMECLAIMS)
        self._volumes = informers.of(PERSISTENTVOLUMES)
        self._classes = informers.of(STORAGECLASSES)
        self._pods = views.pods(informers)
        self._claims.add_index(_UNBOUND, _unbound_class)
        self._volumes.add_index(_BY_REFERENCE, _reference_key)
        self._pods.add_index(BY_CLAIM, claims_of)
        self.controller: Controller[Work] = Controller("volume binding", self._reconcile)
        self.controller.watches(self._claims, keys=self._touched_by_claim)
        self.controller.watches(self._volumes, keys=self._touched_by_volume)
        self.controller.watches(self._classes, keys=self._touched_by_class)
        self.controller.reads(self._pods)

    # Effects of changes

    def _touched_by_claim(self, claim: Obj) -> Iterable[Work]:
        key = Key.of(claim)
        yield Work(PERSISTENTVOLUMECLAIMS, key)
        for volume in self._volumes.keys_where(_BY_REFERENCE, key):
            yield Work(PERSISTENTVOLUMES, volume)

    def _touched_by_volume(self, volume: Obj) -> Iterable[Work]:
        yield Work(PERSISTENTVOLUMES, Key.of(volume))
        for claim in _reference_key(volume):
            yield Work(PERSISTENTVOLUMECLAIMS, claim)
        if volume["spec"].get("claimRef") is None:
            yield from self._waiting_for(class_of(volume))

    def _touched_by_class(self, storage_class: Obj) -> Iterable[Work]:
        yield from self._waiting_for(storage_class["metadata"]["name"])
        for claim in self._claims.where(_UNBOUND, ""):
            if not has_class(claim):
                yield Work(PERSISTENTVOLUMECLAIMS, Key.of(claim))

    def _waiting_for(self, storage_class: str) -> list[Work]:
        return [Work(PERSISTENTVOLUMECLAIMS, key) for key in self._claims.keys_where(_UNBOUND, storage_class)]

    async def _reconcile(self, work: Work) -> Result | None:
        if work.resource is PERSISTENTVOLUMECLAIMS:
            claim = self._claims.get(work.key)
            if claim is not None:
                await self._reconcile_claim(claim)
        else:
            volume = self._volumes.get(work.key)
            if volume is not None:
                await self._reconcile_volume(volume)
        return None

    # Claims

    async def _reconcile_claim(self, claim: Obj) -> None:
        observed = self._observe(claim)
        long = len(observed.volumes) > _FEW_VOLUMES or is_long(claim["spec"].get("selector"))
        decided = await in_thread(partial(plan_claim, claim, observed)) if long else plan_claim(claim, observed)
        if decided.bind is not None:
            await self._bind(decided.bind, claim)
        if decided.storage_class:
            await self._patch(PERSISTENTVOLUMECLAIMS, claim, {"spec": {"storageClassName": decided.storage_class}})
        if decided.provisioner:
            await self._ask(claim, decided.provisioner)
        if decided.phase:
            status = claim_status(claim, decided.phase)
            await write_status(self._client, PERSISTENTVOLUMECLAIMS, claim, status)
        self._tell(claim, decided.event)

    def _observe(self, claim: Obj) -> Observed:
        return Observed(
            {volume["metadata"]["name"]: volume for volume in self._volumes.objects()},
            {one["metadata"]["name"]: one for one in self._classes.objects()},
            sorted(
                pod.metadata.name
                for pod in self._pods.where(BY_CLAIM, Key.of(claim))
                if not pod.spec.node_name and not pod.terminal
            ),
        )

    async def _bind(self, volume: Obj, claim: Obj) -> None:
        volume = await self._patch(PERSISTENTVOLUMES, volume, bind_volume(volume, claim))
        await self._set_phase(volume, "Bound")
        claim = await self._patch(PERSISTENTVOLUMECLAIMS, claim, bind_claim(claim, volume))
        await write_status(self._client, PERSISTENTVOLUMECLAIMS, claim, claim_status(claim, "Bound", volume))

    async def _ask(self, claim: Obj, provisioner: str) -> None:
        present = annotations_of(claim)
        missing = {name: provisioner for name in _PROVISIONER if present.get(name) != provisioner}
        await self._patch(PERSISTENTVOLUMECLAIMS, claim, {"metadata": {"annotations": missing}} if missing else {})

    # Volumes

    async def _reconcile_volume(self, volume: Obj) -> None:
        claim = await self._claim_of(volume)
        decided = plan_volume(volume, claim)
        if decided.unbind:
            volume = await self._patch(PERSISTENTVOLUMES, volume, unbind_volume(volume))
        if decided.phase:
            await self._set_phase(volume, decided.phase)
        if decided.mismatched and claim is not None:
            self._tell_mismatch(volume, claim)

    async def _claim_of(self, volume: Obj) -> Obj | None:
        """The claim that the volume belongs to. The server is asked before the claim counts as deleted."""
        reference = volume["spec"].get("claimRef") or {}
        if not reference.get("uid"):
            return None
        key = Key(reference["namespace"], reference["name"])
        claim = self._claims.get(key)
        if claim is None or claim["metadata"]["uid"] != reference["uid"]:
            claim = await self._client.find(PERSISTENTVOLUMECLAIMS, key)
        return claim if claim is not None and claim["metadata"]["uid"] == reference["uid"] else None

    def _tell_mismatch(self, volume: Obj, claim: Obj) -> None:
        start, why = "Cannot bind PersistentVolume", "due to incompatible volumeMode."
        claim_name, volume_name = claim["metadata"]["name"], volume["metadata"]["name"]
        about_volume = f'{start} to requested PersistentVolumeClaim "{claim_name}" {why}'
        about_claim = f'{start} "{volume_name}" to requested PersistentVolumeClaim {why}'
        self._recorder.warning(volume, "VolumeMismatch", about_volume)
        self._recorder.warning(claim, "VolumeMismatch", about_claim)

    # Writing

    async def _set_phase(self, volume: Obj, phase: str) -> None:
        status = volume.get("status") or {}
        if status.get("phase") != phase:
            kept = {name: value for name, value in status.items() if name not in ("message", "reason")}
            await write_status(self._client, PERSISTENTVOLUMES, volume, kept | {"phase": phase})

    async def _patch(self, resource: Resource, obj: Obj, patch: Obj) -> Obj:
        """Patches the object unless it has changed since it was read; returns the new version."""
        if not patch:
            return obj
        metadata = obj["metadata"]
        version = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
        return await self._client.patch(
            resource, Key.of(obj), {**patch, "metadata": {**patch.get("metadata", {}), **version}}
        )

    def _tell(self, obj: Obj, event: Event | None) -> None:
        if event is not None:
            self._recorder.record(obj, event.type, event.reason, event.message)


def _unbound_class(claim: Obj) -> list[str]:
    return [] if BIND_COMPLETED in annotations_of(claim) else [class_of(claim)]


def _reference_key(volume: Obj) -> list[Key]:
    reference = volume["spec"].get("claimRef")
    return [Key(reference.get("namespace", ""), reference.get("name", ""))] if reference else []


def controller(informers: Informers, client: Client, recorder: EventRecorder) -> Controller[Work]:
    return VolumeBinding(informers, client, recorder).controller
