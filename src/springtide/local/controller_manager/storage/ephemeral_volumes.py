# SPDX-License-Identifier: Apache-2.0
"""Claims of `ephemeral` volumes: each volume gets a claim that its pod owns and that is deleted with it.

The claim is named after pod and volume. A foreign claim of that name is left alone, and the pod stays pending, as the
scheduler reports.
"""

from __future__ import annotations

from collections.abc import Collection

from springtide.kube.client import Client
from springtide.kube.controller import Controller, Result
from springtide.kube.errors import AlreadyExists
from springtide.kube.events import EventRecorder
from springtide.kube.informer import Informers
from springtide.kube.resources import PERSISTENTVOLUMECLAIMS, PODS, Key, Obj
from springtide.local.controller_manager import views
from springtide.local.controller_manager.views import PodView

COMPONENT = "ephemeral-volume-controller"


def claim_name(pod: str, volume: str) -> str:
    return f"{pod}-{volume}"


def missing(pod: PodView, present: Collection[Key]) -> list[Obj]:
    """The claims to create for a pod."""
    if pod.metadata.deletion_timestamp is not None:
        return []
    owner = {
        "apiVersion": PODS.api_version,
        "kind": PODS.kind,
        "name": pod.metadata.name,
        "uid": pod.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    claims = []
    for volume in pod.spec.volumes:
        key = Key(pod.metadata.namespace, claim_name(pod.metadata.name, volume.name))
        if volume.ephemeral is None or key in present:
            continue
        template = volume.ephemeral["volumeClaimTemplate"]
        claim = PERSISTENTVOLUMECLAIMS.describe(key) | {"spec": template["spec"]}
        described = template.get("metadata") or {}
        claim["metadata"] |= {name: described[name] for name in ("annotations", "labels") if described.get(name)}
        claim["metadata"]["ownerReferences"] = [owner]
        claims.append(claim)
    return claims


class EphemeralVolumes:
    def __init__(self, informers: Informers, client: Client) -> None:
        self._client = client
        self._pods = views.pods(informers)
        self._claims = informers.of(PERSISTENTVOLUMECLAIMS)
        self.controller: Controller[Key] = Controller("ephemeral volumes", self._reconcile)
        self.controller.watches(self._pods, keys=_waiting)
        self.controller.watches(self._claims, keys=_owners)

    async def _reconcile(self, key: Key) -> Result | None:
        pod = self._pods.get(key)
        if pod is None:
            return None
        names = [claim_name(key.name, volume.name) for volume in pod.spec.volumes]
        present = [found for name in names if self._claims.get(found := Key(key.namespace, name)) is not None]
        for claim in missing(pod, present):
            try:
                await self._client.create(PERSISTENTVOLUMECLAIMS, claim)
            except AlreadyExists:
                continue  # the cache lags behind
        return None


def _waiting(pod: PodView) -> list[Key]:
    has_own = any(volume.ephemeral is not None for volume in pod.spec.volumes)
    return [Key(pod.metadata.namespace, pod.metadata.name)] if has_own else []


def _owners(claim: Obj) -> list[Key]:
    """The pods of a claim: a claim that is deleted while its pod lives is recreated."""
    owners = claim["metadata"].get("ownerReferences") or ()
    return [Key(claim["metadata"]["namespace"], one["name"]) for one in owners if one["kind"] == PODS.kind]


def controller(informers: Informers, client: Client, _recorder: EventRecorder) -> Controller[Key]:
    return EphemeralVolumes(informers, client).controller
