# SPDX-License-Identifier: Apache-2.0
"""The service `kubernetes`: the API server's own Service, Endpoints and EndpointSlice.

The server listens on this machine's loopback, and loopback addresses are rejected in endpoints: in a pod's network they
mean the pod. The endpoint therefore carries the service's own address, which exists in the pod network, and the
server's actual port. Pods connect to the service's port 443; `local.cluster` makes the server listen there at both
ports.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from springtide.kube.client import Client
from springtide.kube.controller import Controller, Result
from springtide.kube.informer import Informers
from springtide.kube.request import Scope
from springtide.kube.resources import ENDPOINTS, ENDPOINTSLICES, SERVICES, Key, Obj, Resource
from springtide.local.controller_manager.network.slice_packing import SERVICE_NAME

KEY = Key("default", "kubernetes")
_SKIP_MIRROR = "endpointslice.kubernetes.io/skip-mirror"
_ONLY = Scope(namespace=KEY.namespace, fields=f"metadata.name={KEY.name}")


@dataclass(frozen=True, slots=True)
class Observed:
    service: Obj | None
    endpoints: Obj | None
    endpoint_slice: Obj | None


class Write(NamedTuple):
    """An object to create, or to replace when it has a resourceVersion."""

    resource: Resource
    obj: Obj


def plan(observed: Observed, address: str, port: int) -> Iterator[Write]:
    ports = [{"name": "https", "port": port, "protocol": "TCP"}]
    if (service := _service(observed.service, address, port)) is not None:
        yield Write(SERVICES, service)
    subsets = [{"addresses": [{"ip": address}], "ports": ports}]
    if (wanted := _changed(ENDPOINTS, observed.endpoints, _SKIP_MIRROR, "true", {"subsets": subsets})) is not None:
        yield Write(ENDPOINTS, wanted)
    body = {
        "addressType": "IPv6" if ":" in address else "IPv4",
        "endpoints": [{"addresses": [address], "conditions": {"ready": True}}],
        "ports": ports,
    }
    if (wanted := _changed(ENDPOINTSLICES, observed.endpoint_slice, SERVICE_NAME, KEY.name, body)) is not None:
        yield Write(ENDPOINTSLICES, wanted)


def _service(present: Obj | None, address: str, port: int) -> Obj | None:
    """The service with the correct port, or None if it is correct."""
    ports = [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": port}]
    if present is not None:
        spec = present["spec"]
        return None if spec.get("ports") == ports else present | {"spec": spec | {"ports": ports}}
    service = SERVICES.describe(KEY)
    service["metadata"]["labels"] = {"component": "apiserver", "provider": "kubernetes"}
    return service | {"spec": {"clusterIP": address, "ports": ports}}


def _changed(resource: Resource, present: Obj | None, label: str, value: str, body: Obj) -> Obj | None:
    """The object with this label and content, or None if it has them."""
    obj = resource.describe(KEY) if present is None else present
    labels = obj["metadata"].get("labels") or {}
    if labels.get(label) == value and body.items() <= obj.items():
        return None
    return obj | {"metadata": obj["metadata"] | {"labels": labels | {label: value}}} | body


def controller(informers: Informers, client: Client, address: str, port: int) -> Controller[Key]:
    async def reconcile(_: Key) -> Result | None:
        observed = Observed(services.get(KEY), endpoints.get(KEY), slices.get(KEY))
        for resource, obj in plan(observed, address, port):
            exists = "resourceVersion" in obj["metadata"]
            await (client.replace(resource, obj) if exists else client.create(resource, obj))
        return None

    found: Controller[Key] = Controller("kubernetes service", reconcile)
    services, endpoints = informers.of(SERVICES), informers.of(ENDPOINTS)
    slices = informers.of(ENDPOINTSLICES, _ONLY)
    for informer in (services, endpoints, slices):
        found.watches(informer, keys=lambda obj: [KEY] if Key.of(obj) == KEY else [])
    return found
