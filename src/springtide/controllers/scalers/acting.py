# SPDX-License-Identifier: Apache-2.0
"""Executes the actions of a plan that are about scalers.

Their status and their controller are written only as they were observed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from springtide.api.kinds.scalers import ScalerStatus
from springtide.controllers.job_keys import JobKey
from springtide.controllers.scalers.cache import ScalerKey, Scalers
from springtide.controllers.scalers.scripts import Scripts
from springtide.controllers.status_patches import status_patch
from springtide.jobs.actions import BindScaler, RunScript, ScalerEvent, ScalerStatusPatch
from springtide.jobs.reporting import quoting
from springtide.jobs.scaling.scaler import Scaler
from springtide.kube import errors, request
from springtide.kube.client import Client
from springtide.kube.events import EventRecorder
from springtide.kube.request import NO_QUERY, Patch
from springtide.kube.resources import Obj

_OWNER: Final = ("apiVersion", "kind", "name", "uid")
ScalerAction: TypeAlias = BindScaler | RunScript | ScalerEvent | ScalerStatusPatch


class ScalerExecutor:
    def __init__(self, client: Client, scalers: Scalers, recorder: EventRecorder, scripts: Scripts) -> None:
        self._client, self._scalers, self._recorder, self._scripts = client, scalers, recorder, scripts

    async def do(self, job: JobKey, reference: Mapping[str, str], action: ScalerAction) -> None:
        """`reference` is that of the job."""
        match action:
            case ScalerStatusPatch(scaler, status):
                await self.write_status(job.namespace, scaler, status)
            case ScalerEvent():
                self.tell(job.namespace, action)
            case BindScaler(scaler):
                await self._bind(job.namespace, scaler, {part: reference[part] for part in _OWNER})
            case RunScript():
                self._scripts.start(job, action)

    def tell(self, namespace: str, event: ScalerEvent) -> None:
        scaler = event.scaler
        resource = self._scalers.informers[scaler.kind].resource
        about = {"apiVersion": resource.api_version, "kind": resource.kind, "namespace": namespace}
        about |= {"name": scaler.name, "uid": scaler.uid, "resourceVersion": scaler.resource_version}
        self._recorder.record(about, event.type, event.reason, quoting.bounded(event.message))

    async def write_status(self, namespace: str, scaler: Scaler, status: ScalerStatus) -> None:
        """Conflict if the scaler has changed since it was observed."""
        if status == scaler.status:
            return
        metadata = {"resourceVersion": scaler.resource_version, "uid": scaler.uid}
        body = {"metadata": metadata, "status": status_patch(scaler.status, status)}
        await self._patch(ScalerKey(scaler.kind, namespace, scaler.name), body, "status")

    async def _bind(self, namespace: str, scaler: Scaler, owner: Mapping[str, str]) -> None:
        """Makes the job of this reference the controller. Conflict if the scaler was replaced or got another one."""
        key = ScalerKey(scaler.kind, namespace, scaler.name)
        view = self._scalers.informers[key.kind].get(key.key)
        if view is None or view.metadata.uid != scaler.uid:
            raise errors.Conflict(f"{scaler.title} has been deleted or replaced")
        if (controller := view.metadata.controlling) is not None:
            if controller.get("uid") == owner["uid"]:
                return
            raise errors.Conflict(f"{scaler.title} has another controller")
        others = [each for each in view.metadata.owner_references if each.get("uid") != owner["uid"]]
        reference = {**owner, "controller": True, "blockOwnerDeletion": True}
        known = {"resourceVersion": view.metadata.resource_version, "uid": scaler.uid}
        await self._patch(key, {"metadata": {**known, "ownerReferences": [*others, reference]}})

    async def _patch(self, key: ScalerKey, body: Obj, subresource: str = "") -> None:
        informer = self._scalers.informers[key.kind]
        wanted = request.patch(informer.resource, key.key, body, Patch.MERGE, subresource, NO_QUERY)
        informer.absorb((await self._client.raw(wanted)).body)
