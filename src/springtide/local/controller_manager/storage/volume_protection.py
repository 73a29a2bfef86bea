# SPDX-License-Identifier: Apache-2.0
"""Protects used claims and bound volumes from deletion by finalizers.

The API server's admission adds the finalizers; this controller adds missing ones and removes those of unused objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from springtide.kube.client import Client
from springtide.kube.controller import Controller, Result
from springtide.kube.errors import NotFound
from springtide.kube.events import EventRecorder
from springtide.kube.informer import Informers
from springtide.kube.request import Scope
from springtide.kube.resources import PERSISTENTVOLUMECLAIMS, PERSISTENTVOLUMES, PODS, Key, Obj, Resource
from springtide.local.controller_manager import views
from springtide.local.controller_manager.storage.ephemeral_volumes import claim_name
from springtide.local.controller_manager.views import PodView

COMPONENT = "storage-protection-controller"
FINALIZERS = {
    PERSISTENTVOLUMECLAIMS: "kubernetes.io/pvc-protection",
    PERSISTENTVOLUMES: "kubernetes.io/pv-protection",
}
BY_CLAIM = "claim"
"""Index of pods by the claims that they use."""


class Work(NamedTuple):
    resource: Resource
    key: Key


def plan(obj: Obj, finalizer: str, used: bool) -> list[str] | None:
    """The finalizers that the object should have, or None when it has them."""
    present = obj["metadata"].get("finalizers") or []
    if "deletionTimestamp" not in obj["metadata"]:
        return None if finalizer in present else [*present, finalizer]
    if used or finalizer not in present:
        return None
    return [name for name in present if name != finalizer]


def claims_of(pod: PodView) -> list[Key]:
    volumes = [(volume.name, volume.persistent_volume_claim, volume.ephemeral) for volume in pod.spec.volumes]
    names = [claim.claim_name for _, claim, _ in volumes if claim is not None]
    names += [claim_name(pod.metadata.name, volume) for volume, _, ephemeral in volumes if ephemeral is not None]
    return [Key(pod.metadata.namespace, name) for name in names]


class VolumeProtection:
    def __init__(self, informers: Informers, client: Client) -> None:
        self._client = client
        self._caches = {resource: informers.of(resource) for resource in FINALIZERS}
        self._pods = views.pods(informers)
        self._pods.add_index(BY_CLAIM, claims_of)
        self.controller: Controller[Work] = Controller("volume protection", self._reconcile)
        for resource, cache in self._caches.items():
            self.controller.watches(cache, keys=_work_on(resource))
        self.controller.watches(self._pods, keys=self._freed_by)

    def _freed_by(self, pod: PodView) -> Iterable[Work]:
        """Terminating claims that this pod used: most pods use none, and most claims are not being deleted."""
        for key in claims_of(pod):
            claim = self._caches[PERSISTENTVOLUMECLAIMS].get(key)
            if claim is not None and "deletionTimestamp" in claim["metadata"]:
                yield Work(PERSISTENTVOLUMECLAIMS, key)

    async def _reconcile(self, work: Work) -> Result | None:
        obj = self._caches[work.resource].get(work.key)
        if obj is None:
            return None
        deleted = "deletionTimestamp" in obj["metadata"]
        wanted = plan(obj, FINALIZERS[work.resource], deleted and await self._is_used(work, obj))
        if wanted is None:
            return None
        metadata = obj["metadata"]
        version = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
        try:
            await self._client.patch(work.resource, work.key, {"metadata": {**version, "finalizers": wanted}})
        except NotFound:
            return None
        return None

    async def _is_used(self, work: Work, obj: Obj) -> bool:
        if work.resource is PERSISTENTVOLUMES:
            return bool((obj.get("status") or {}).get("phase") == "Bound")
        if any(pod.spec.node_name for pod in self._pods.where(BY_CLAIM, work.key)):
            return True
        # The cache may not show yet that a pod was scheduled, and the deletion of the claim is final.
        pods = await self._client.list(PODS, Scope(work.key.namespace))
        return any(_uses(pod, work.key.name) for pod in pods.items)


def _work_on(resource: Resource) -> Callable[[Obj], list[Work]]:
    return lambda obj: [Work(resource, Key.of(obj))]


def _uses(pod: Obj, claim: str) -> bool:
    spec, names = pod["spec"], []
    for volume in spec.get("volumes") or ():
        if "persistentVolumeClaim" in volume:
            names.append(volume["persistentVolumeClaim"]["claimName"])
        elif "ephemeral" in volume:
            names.append(claim_name(pod["metadata"]["name"], volume["name"]))
    return bool(spec.get("nodeName")) and claim in names


def controller(informers: Informers, client: Client, _recorder: EventRecorder) -> Controller[Work]:
    return VolumeProtection(informers, client).controller
