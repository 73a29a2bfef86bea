# SPDX-License-Identifier: Apache-2.0
"""EndpointSlices: the addresses behind a service, for service proxies.

`slice_packing` decides the content of the slices; this module observes and acts. Slices are deleted with their service
by garbage collection.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import msgspec

from springtide.kube.client import Client
from springtide.kube.controller import Controller, Result, Retry
from springtide.kube.errors import AlreadyExists, ApiError, NotFound
from springtide.kube.events import EventRecorder
from springtide.kube.informer import Informers
from springtide.kube.request import DeleteOptions, Scope
from springtide.kube.resources import ENDPOINTSLICES, NODES, Key, Obj
from springtide.local.controller_manager import views
from springtide.local.controller_manager.network import service_pods
from springtide.local.controller_manager.network.pacing import Pace
from springtide.local.controller_manager.network.service_targets import TriggerTimes, has_targets, targets, triggered
from springtide.local.controller_manager.network.slice_packing import (
    MANAGED_BY,
    MANAGER,
    SERVICE_NAME,
    Plan,
    endpoints_of,
    plan,
)
from springtide.local.controller_manager.views import PodView

COMPONENT = "endpoint-slice-controller"
_OURS = Scope(labels=f"{MANAGED_BY}={MANAGER}")
_BY_SERVICE = "service"


class Metadata(msgspec.Struct, frozen=True):
    name: str
    labels: dict[str, str] = {}


class NodeLabels(msgspec.Struct, frozen=True):
    metadata: Metadata

    @property
    def zone(self) -> str:
        return self.metadata.labels.get("topology.kubernetes.io/zone", "")


class EndpointSlices:
    def __init__(self, informers: Informers, client: Client, recorder: EventRecorder) -> None:
        self._client, self._recorder = client, recorder
        self._trigger_times, self._pace = TriggerTimes(), Pace()
        self._services, self._pods = service_pods.services(informers), views.pods(informers)
        self._nodes = informers.of(NODES, Scope(metadata_only=True), into=NodeLabels)
        self._slices = informers.of(ENDPOINTSLICES, _OURS)
        self._slices.add_index(_BY_SERVICE, _service_of)
        self._waiting: dict[str, set[Key]] = {}
        """Services with pods on nodes that do not exist yet, by node."""
        self.controller: Controller[Key] = Controller("endpoint slices", self.reconcile, workers=2)
        self.controller.watches(self._services)
        self.controller.watches(self._slices, keys=_service_of)
        self.controller.watches(self._nodes, keys=lambda node: self._waiting.pop(node.metadata.name, ()))
        self.controller.reads(self._pods)
        self._pods.on_change(self._enqueue_soon, self._affected)

    def _enqueue_soon(self, key: Key) -> None:
        self.controller.enqueue(key, self._pace.delay(key))

    def _affected(self, pod: PodView) -> list[Key]:
        return service_pods.affected(self._services, pod)

    async def reconcile(self, key: Key) -> Result | None:
        service = self._services.get(key)
        if service is None:
            self._trigger_times.forget(key)  # the slices are garbage-collected
            self._pace.forget(key)
        elif has_targets(service):
            with self._pace.measured(key):
                await self._bring_up_to_date(key, service)
        return None

    async def _bring_up_to_date(self, key: Key, service: Obj) -> None:
        found = service_pods.candidates(service, self._pods)
        pods = await service_pods.worked_out(found, partial(targets, service, found, terminating=True))
        trigger, zones = self._trigger_times.next(service, pods), self._zones(key, pods)
        present = self._slices.where(_BY_SERVICE, key)
        wanted = endpoints_of(service, pods, zones)
        decided = await service_pods.worked_out(pods, partial(plan, service, wanted, present))
        try:
            await self._act(decided, trigger)
        except AlreadyExists as error:
            raise Retry(error.message) from error  # the cache lags behind
        except ApiError as error:
            if error.has_cause("NamespaceTerminating"):
                return
            message = f"Error updating Endpoint Slices for Service {key}: {error.message}"
            self._recorder.warning(service, "FailedToUpdateEndpointSlices", message)
            raise

    def _zones(self, service: Key, pods: Iterable[PodView]) -> dict[str, str]:
        zones = {}
        for name in {pod.spec.node_name for pod in pods}:
            node = self._nodes.get(Key("", name))
            if node is not None:
                zones[name] = node.zone
            elif name:
                self._waiting.setdefault(name, set()).add(service)
        return zones

    async def _act(self, decided: Plan, trigger: str) -> None:
        for wanted in decided.create:
            await self._client.create(ENDPOINTSLICES, _stamped(wanted, trigger))
        for wanted in decided.update:
            await self._client.replace(ENDPOINTSLICES, _stamped(wanted, trigger))
        for unwanted in decided.delete:
            try:
                options = DeleteOptions(uid=unwanted["metadata"]["uid"])
                await self._client.delete(ENDPOINTSLICES, Key.of(unwanted), options)
            except NotFound:
                continue


def _stamped(endpoint_slice: Obj, trigger: str) -> Obj:
    metadata = endpoint_slice["metadata"]
    annotations = triggered(metadata.get("annotations"), trigger)
    return {**endpoint_slice, "metadata": {**metadata, "annotations": annotations}}


def _service_of(endpoint_slice: Obj) -> list[Key]:
    metadata = endpoint_slice["metadata"]
    name = (metadata.get("labels") or {}).get(SERVICE_NAME)
    return [Key(metadata["namespace"], name)] if name else []


def controller(informers: Informers, client: Client, recorder: EventRecorder) -> Controller[Key]:
    return EndpointSlices(informers, client, recorder).controller
