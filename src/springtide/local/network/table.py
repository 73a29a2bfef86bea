# SPDX-License-Identifier: Apache-2.0
"""netd's service table: a pure function from Service and EndpointSlice objects to the table.

    {"services": [{"namespace": "default", "name": "web", "address": "10.96.7.1", "external": "", "affinity": 0,
                   "ports": [{"name": "http", "protocol": "TCP", "port": 80, "targets": [["10.244.1.5", 8080]]}],
                   "endpoints": [{"address": "10.244.1.5", "hostname": "", "ports": [["http", "TCP", 8080]]}]}]}

A headless service has no address; one of type ExternalName has only `external`. `endpoints` are those that DNS names
resolve to, `targets` those that connections are forwarded to. Pods without a service have names derived from their
addresses and need no entry.
"""

from __future__ import annotations

import ipaddress
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import msgspec

DNS_ADDRESS: Final = "10.96.0.10"
_ANSWERED_BY_SERVER: Final = ("default", "kubernetes")
"""The API server itself listens on this service's address."""
_SERVICE_NAME: Final = "kubernetes.io/service-name"


class Metadata(msgspec.Struct, frozen=True):
    name: str
    namespace: str = ""
    labels: dict[str, str] = {}


class ClientIP(msgspec.Struct, frozen=True, rename="camel"):
    timeout_seconds: int | None = None


class Affinity(msgspec.Struct, frozen=True):
    client_ip: ClientIP | None = msgspec.field(default=None, name="clientIP")


class ServicePort(msgspec.Struct, frozen=True):
    port: int
    name: str = ""
    protocol: str = "TCP"


class ServiceSpec(msgspec.Struct, frozen=True, rename="camel"):
    type: str = "ClusterIP"
    cluster_ip: str = msgspec.field(default="", name="clusterIP")
    external_name: str = ""
    session_affinity: str = "None"
    session_affinity_config: Affinity | None = None
    ports: tuple[ServicePort, ...] = ()


class Service(msgspec.Struct, frozen=True):
    metadata: Metadata
    spec: ServiceSpec


class Conditions(msgspec.Struct, frozen=True):
    """Unknown counts as ready and serving, as for every consumer of EndpointSlices."""

    ready: bool | None = None
    serving: bool | None = None
    terminating: bool | None = None

    @property
    def usable(self) -> bool:
        return self.ready is not False

    @property
    def last_resort(self) -> bool:
        """Terminating but still serving."""
        return self.serving is not False and bool(self.terminating)


class Endpoint(msgspec.Struct, frozen=True):
    addresses: tuple[str, ...]
    conditions: Conditions = Conditions()
    hostname: str | None = None


class SlicePort(msgspec.Struct, frozen=True):
    port: int | None = None
    name: str | None = None
    protocol: str | None = None


class Slice(msgspec.Struct, frozen=True, rename="camel"):
    metadata: Metadata
    address_type: str
    endpoints: tuple[Endpoint, ...] | None = ()
    ports: tuple[SlicePort, ...] | None = ()

    @property
    def service(self) -> tuple[str, str]:
        return self.metadata.namespace, self.metadata.labels.get(_SERVICE_NAME, "")


Place = tuple[Endpoint, Slice]
Row = Callable[[Service, Sequence[Slice]], dict[str, Any]]


def table(services: Iterable[Service], slices: Iterable[Slice], row: Row | None = None) -> dict[str, Any]:
    """Independent of the order of the objects. `row` is `service_row` or remembers what that has returned."""
    behind: dict[tuple[str, str], list[Slice]] = {}
    for piece in sorted(slices, key=lambda piece: (piece.metadata.namespace, piece.metadata.name)):
        if piece.address_type == "IPv4":
            behind.setdefault(piece.service, []).append(piece)
    ordered = sorted(services, key=lambda service: (service.metadata.namespace, service.metadata.name))
    make = row or service_row
    rows = [make(service, behind.get((service.metadata.namespace, service.metadata.name), ())) for service in ordered]
    return {"services": rows}


class Rows:
    """Makes the row of a service anew only when the service or one of its slices is another object."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[Service, Sequence[Slice], dict[str, Any]]] = {}

    def __call__(self, service: Service, slices: Sequence[Slice]) -> dict[str, Any]:
        key = service.metadata.namespace, service.metadata.name
        known = self._known.get(key)
        if known is not None and _same((known[0], *known[1]), (service, *slices)):
            return known[2]
        row = service_row(service, slices)
        self._known[key] = service, slices, row
        return row

    def keep(self, services: Iterable[Service]) -> None:
        """Forget the rows of all other services."""
        names = {(service.metadata.namespace, service.metadata.name) for service in services}
        self._known = {key: known for key, known in self._known.items() if key in names}


def _same(these: Sequence[object], others: Sequence[object]) -> bool:
    return len(these) == len(others) and all(map(operator.is_, these, others))


def service_row(service: Service, slices: Sequence[Slice]) -> dict[str, Any]:
    spec = service.spec
    external = spec.external_name if spec.type == "ExternalName" else ""
    headless = external or spec.cluster_ip in ("", "None") or ":" in spec.cluster_ip
    places = [(endpoint, piece) for piece in slices for endpoint in piece.endpoints or ()]
    if (service.metadata.namespace, service.metadata.name) == _ANSWERED_BY_SERVER:
        places = []
    offered = {id(piece): _ports(piece) for piece in slices}
    targets = _targets(places)
    return {
        "namespace": service.metadata.namespace,
        "name": service.metadata.name,
        "address": "" if headless else spec.cluster_ip,
        "external": external,
        "affinity": _affinity(spec),
        "ports": [
            {"name": port.name, "protocol": port.protocol, "port": port.port}
            | {"targets": _usable(targets.get((port.name, port.protocol), ()))}
            for port in spec.ports
        ],
        "endpoints": [
            {"address": endpoint.addresses[0], "hostname": endpoint.hostname or "", "ports": offered[id(piece)]}
            for endpoint, piece in places
            if endpoint.conditions.usable
        ],
    }


def _affinity(spec: ServiceSpec) -> int:
    """How many seconds a client keeps its endpoint; 0: no affinity."""
    if spec.session_affinity != "ClientIP":
        return 0
    config = spec.session_affinity_config
    return (config.client_ip.timeout_seconds if config and config.client_ip else None) or 10800


Target = list[Any]
"""Address and port."""


def _targets(places: Sequence[Place]) -> dict[tuple[str, str], list[tuple[Endpoint, Target]]]:
    """Endpoints by the name and the protocol of the port that they offer."""
    found: dict[tuple[str, str], list[tuple[Endpoint, Target]]] = {}
    for endpoint, piece in places:
        address = endpoint.addresses[0]
        if not _reachable(address):
            continue
        for name, protocol, port in _ports(piece):
            found.setdefault((name, protocol), []).append((endpoint, [address, port]))
    return found


def _usable(offering: Sequence[tuple[Endpoint, Target]]) -> list[Target]:
    """The ready endpoints, or, if none is ready, those still serving while terminating."""
    targets = [target for endpoint, target in offering if endpoint.conditions.usable]
    return targets or [target for endpoint, target in offering if endpoint.conditions.last_resort]


def _ports(piece: Slice) -> list[list[Any]]:
    return [[port.name or "", port.protocol or "TCP", port.port] for port in piece.ports or () if port.port]


def _reachable(address: str) -> bool:
    """False for addresses that netd would reach on its own machine, whatever a slice contains."""
    ip = ipaddress.ip_address(address)
    return not (ip.is_loopback or ip.is_link_local or ip.is_unspecified or ip.is_multicast)
