# SPDX-License-Identifier: Apache-2.0
"""Provisions the volumes of class `local`, a directory each, and erases them with their claims.

The class is the default one unless another exists, and is created once: a deleted class is not recreated. A directory
is created before its volume object, and the object, held by a finalizer, is deleted after the directory: after any
interruption the next round finds the object or the claim and completes the work.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from springtide.kube.client import Client
from springtide.kube.controller import Controller, Result, Retry
from springtide.kube.errors import AlreadyExists, NotFound
from springtide.kube.events import EventRecorder
from springtide.kube.informer import Informers
from springtide.kube.request import DeleteOptions
from springtide.kube.resources import (
    NAMESPACES,
    PERSISTENTVOLUMECLAIMS,
    PERSISTENTVOLUMES,
    STORAGECLASSES,
    Key,
    Obj,
    Resource,
)
from springtide.local.controller_manager.storage import provisioning
from springtide.local.controller_manager.storage.volume_matching import class_of
from springtide.local.directory_trees import remove_tree

COMPONENT = provisioning.PROVISIONER
_SYSTEM = Key("", "kube-system")


class Work(NamedTuple):
    resource: Resource
    key: Key


_INSTALL = Work(STORAGECLASSES, Key("", provisioning.CLASS_NAME))


class LocalProvisioner:
    def __init__(self, informers: Informers, client: Client, recorder: EventRecorder, volumes: Path) -> None:
        self._client, self._recorder, self._directory = client, recorder, volumes
        self._claims = informers.of(PERSISTENTVOLUMECLAIMS)
        self._volumes = informers.of(PERSISTENTVOLUMES)
        self._classes = informers.of(STORAGECLASSES)
        self.controller: Controller[Work] = Controller("local provisioner", self._reconcile, workers=2)
        self.controller.watches(self._claims, keys=_work_on(PERSISTENTVOLUMECLAIMS))
        self.controller.watches(self._volumes, keys=_work_on(PERSISTENTVOLUMES))
        self.controller.watches(self._classes, keys=self._waiting_for)
        self.controller.enqueue(_INSTALL)

    def _waiting_for(self, storage_class: Obj) -> list[Work]:
        name = storage_class["metadata"]["name"]
        claims = [claim for claim in self._claims.objects() if class_of(claim) == name]
        return [Work(PERSISTENTVOLUMECLAIMS, Key.of(claim)) for claim in claims]

    async def _reconcile(self, work: Work) -> Result | None:
        if work is _INSTALL:
            await self._install()
        elif work.resource is PERSISTENTVOLUMECLAIMS:
            if (claim := self._claims.get(work.key)) is not None:
                await self._provision(claim)
        elif (volume := self._volumes.get(work.key)) is not None:
            await self._reclaim(volume)
        return None

    async def _install(self) -> None:
        system = await self._client.get(NAMESPACES, _SYSTEM)
        if provisioning.wants_class(self._classes.objects(), system):
            with suppress(AlreadyExists):  # created by another client meanwhile
                await self._client.create(STORAGECLASSES, provisioning.storage_class())
        mark = {"metadata": {"annotations": {provisioning.INSTALLED: "true"}}}
        await self._client.patch(NAMESPACES, _SYSTEM, mark)

    # Provisioning

    async def _provision(self, claim: Obj) -> None:
        found = self._classes.get(Key("", class_of(claim)))
        name = provisioning.volume_name(claim)
        if found is None or not provisioning.wants_volume(claim, found) or Key("", name) in self._volumes:
            return
        if why := provisioning.refusal(claim):
            self._complain(claim, why)
            return
        text = f'External provisioner is provisioning volume for claim "{Key.of(claim)}"'
        self._recorder.normal(claim, "Provisioning", text)
        path = self._directory / name
        try:
            await asyncio.to_thread(_make, path)
            await self._client.create(PERSISTENTVOLUMES, provisioning.volume(claim, found, path))
        except AlreadyExists:
            return
        except OSError as error:
            self._complain(claim, f"cannot make {path}: {error.strerror}")
            raise Retry(str(error)) from None
        self._recorder.normal(claim, "ProvisioningSucceeded", f"Successfully provisioned volume {name}")

    def _complain(self, claim: Obj, why: str) -> None:
        message = f'failed to provision volume with StorageClass "{class_of(claim)}": {why}'
        self._recorder.warning(claim, "ProvisioningFailed", message)

    # Reclaiming

    async def _reclaim(self, volume: Obj) -> None:
        if provisioning.is_let_go(volume):
            await self._let_go(volume)
        elif provisioning.is_over(volume) and await self._erased(volume):
            options = DeleteOptions(uid=volume["metadata"]["uid"])
            left = await self._client.delete(PERSISTENTVOLUMES, Key.of(volume), options)
            if left["kind"] == PERSISTENTVOLUMES.kind:
                await self._let_go(left)

    async def _erased(self, volume: Obj) -> bool:
        path = provisioning.erasable(volume, self._directory)
        if path is None:
            why = f"its path is none that {provisioning.PROVISIONER} made below {self._directory}; nothing was erased"
            self._recorder.warning(volume, "VolumeFailedDelete", why)
            return False
        try:
            await asyncio.to_thread(_erase, path)
        except OSError as error:
            self._recorder.warning(volume, "VolumeFailedDelete", f"cannot erase {path}: {error}")
            raise Retry(str(error)) from None
        return True

    async def _let_go(self, volume: Obj) -> None:
        metadata = {part: volume["metadata"][part] for part in ("uid", "resourceVersion")}
        metadata["finalizers"] = provisioning.without_finalizer(volume)
        try:
            await self._client.patch(PERSISTENTVOLUMES, Key.of(volume), {"metadata": metadata})
        except NotFound:
            return


def _work_on(resource: Resource) -> Callable[[Obj], list[Work]]:
    return lambda obj: [Work(resource, Key.of(obj))]


def _make(path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.mkdir(exist_ok=True)
    path.chmod(0o777)  # for pods of any user; other users have no access to the data directory


def _erase(path: Path) -> None:
    """Removes the directory tree. A symbolic link in its place is not followed."""
    if path.is_symlink():
        path.unlink()
    elif path.exists():
        remove_tree(str(path))


def controller(informers: Informers, client: Client, recorder: EventRecorder, volumes: Path) -> Controller[Work]:
    return LocalProvisioner(informers, client, recorder, volumes).controller
