# SPDX-License-Identifier: Apache-2.0
"""Resolves a service to the address and port of an endpoint, for webhooks and the proxy subresource."""

from __future__ import annotations

from collections.abc import Callable

from springtide.local.apiserver.context import StoreReader
from springtide.local.kinds.strategy import Obj

Route = tuple[str, int]


def service_resolver(reader: StoreReader) -> Callable[[str, str, int], Route]:
    return lambda namespace, name, port: route(reader, namespace, name, port)


def route(reader: StoreReader, namespace: str, name: str, port: int) -> Route:
    """A ready endpoint behind a service's port. LookupError names what is missing."""
    service = reader.get("services", namespace, name)
    if service is None:
        raise LookupError(f'service "{name}" not found')
    port_name = next((p.get("name", "") for p in service["spec"].get("ports") or () if p["port"] == port), None)
    if port_name is None:
        raise LookupError(f'no service port {port} found for service "{name}"')
    for piece in reader.list("endpointslices.discovery.k8s.io", namespace):
        labels = piece["metadata"].get("labels") or {}
        if labels.get("kubernetes.io/service-name") == name and (found := _ready_endpoint(piece, port_name)):
            return found
    raise LookupError(f'no endpoints available for service "{name}"')


def _ready_endpoint(piece: Obj, port_name: str) -> Route | None:
    ports = [p["port"] for p in piece.get("ports") or () if p.get("name", "") == port_name]
    for endpoint in piece.get("endpoints") or ():
        if ports and (endpoint.get("conditions") or {}).get("ready", True):
            return endpoint["addresses"][0], ports[0]
    return None
