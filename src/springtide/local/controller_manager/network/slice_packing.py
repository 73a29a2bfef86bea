# SPDX-License-Identifier: Apache-2.0
"""The distribution of a service's addresses over slices of at most a hundred. Pure.

An endpoint stays in its slice, so that a change of one pod rewrites one slice; new endpoints fill slices that are
written anyway, then the fullest slice with room for all of them, then new slices. Names are derived from the service
and a number, so that a create repeated because of a lagging cache is rejected instead of duplicating the addresses.

Not implemented: topology hints and `trafficDistribution`; a local cluster has no zones that need them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from springtide.kube.resources import ENDPOINTSLICES, SERVICES, Obj
from springtide.local.controller_manager.network.service_targets import (
    HEADLESS,
    addresses,
    families,
    hostname,
    is_headless,
    reference,
    target_port,
    targets,
)
from springtide.local.controller_manager.selection import ownership
from springtide.local.controller_manager.views import PodView

MANAGED_BY, MANAGER = "endpointslice.kubernetes.io/managed-by", "endpointslice-controller.k8s.io"
SERVICE_NAME = "kubernetes.io/service-name"
LARGEST = 100
_RESERVED = (MANAGED_BY, SERVICE_NAME, HEADLESS)
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"  # as in generated names: no vowels, so no words

Identity = tuple[str, ...]
Ports = tuple[tuple[str, int, str, str], ...]


@dataclass(slots=True)
class Plan:
    create: list[Obj] = field(default_factory=list)
    update: list[Obj] = field(default_factory=list)
    delete: list[Obj] = field(default_factory=list)


def plan(service: Obj, wanted: Iterable[Endpoint], present: Sequence[Obj]) -> Plan:
    """The changes after which the slices hold the wanted endpoints, in as few slices as possible."""
    decided = Plan()
    groups: dict[tuple[str, Ports], list[Endpoint]] = {(family, ()): [] for family in families(service)}
    for endpoint in wanted:
        groups.setdefault((endpoint.family, endpoint.ports), []).append(endpoint)
    kept: dict[tuple[str, Ports], list[Obj]] = {}
    for endpoint_slice in present:
        group = endpoint_slice["addressType"], _ports_key(endpoint_slice.get("ports") or ())
        if _is_owned(endpoint_slice, service) and groups.get(group):
            kept.setdefault(group, []).append(endpoint_slice)
        else:
            decided.delete.append(endpoint_slice)
    for group, endpoints in groups.items():
        if endpoints:
            _pack(service, group, endpoints, kept.get(group, ()), decided)
    for family in families(service):
        if not any(name == family and endpoints for (name, _), endpoints in groups.items()):
            _keep_place(service, family, decided)
    _reuse(service, decided)
    if "deletionTimestamp" in service["metadata"]:
        decided.create.clear()
    _name(service, decided.create, {one["metadata"]["name"] for one in present})
    return decided


@dataclass(frozen=True, slots=True)
class Endpoint:
    family: str
    ports: Ports
    body: Obj

    @property
    def identity(self) -> Identity:
        return identity(self.body)


def identity(body: Obj) -> Identity:
    """The identity of an endpoint, independent of its state."""
    return (*body["addresses"], body.get("hostname", ""), (body.get("targetRef") or {}).get("name", ""))


def endpoints_of(service: Obj, pods: Iterable[PodView], zones: Mapping[str, str]) -> Iterator[Endpoint]:
    """One per pod and address family. A pod on an unknown node is omitted, unless not-ready addresses are published."""
    publish = bool(service["spec"].get("publishNotReadyAddresses"))
    for pod in targets(service, pods, terminating=True):
        if not publish and pod.spec.node_name not in zones:
            continue
        ports = tuple(_offered(service, pod))
        for family in families(service):
            if addresses(pod, family):
                yield Endpoint(family, ports, _endpoint(service, pod, family, zones.get(pod.spec.node_name, "")))


def _offered(service: Obj, pod: PodView) -> Iterator[tuple[str, int, str, str]]:
    for port in service["spec"].get("ports") or ():
        number = target_port(pod, port)
        if number is not None:
            yield port.get("name", ""), number, port.get("protocol", "TCP"), port.get("appProtocol", "")


def _endpoint(service: Obj, pod: PodView, family: str, zone: str) -> Obj:
    terminating = pod.metadata.deletion_timestamp is not None
    publish = bool(service["spec"].get("publishNotReadyAddresses"))
    body = {
        "addresses": addresses(pod, family),
        "conditions": {
            "ready": publish or (pod.ready and not terminating),
            "serving": pod.ready,
            "terminating": terminating,
        },
        "hostname": hostname(pod, service),
        "nodeName": pod.spec.node_name,
        "targetRef": reference(pod),
        "zone": zone,
    }
    return {name: value for name, value in body.items() if value}


# Packing


def _pack(
    service: Obj, group: tuple[str, Ports], endpoints: Sequence[Endpoint], present: Iterable[Obj], decided: Plan
) -> None:
    left = {endpoint.identity: endpoint.body for endpoint in endpoints}
    labels = _labels(service)
    changed: list[Obj] = []
    unchanged: list[Obj] = []
    for endpoint_slice in present:
        before = endpoint_slice.get("endpoints") or []
        after = [body for one in before if (body := left.pop(identity(one), None)) is not None]
        if not after:
            decided.delete.append(endpoint_slice)
        elif after != before or endpoint_slice["metadata"].get("labels") != labels:
            changed.append(_with(endpoint_slice, labels, after))
        else:
            unchanged.append(endpoint_slice)
    remaining = list(left.values())
    for endpoint_slice in sorted(changed, key=_size, reverse=True):
        remaining = _fill(endpoint_slice, remaining)
    if remaining and (fitting := _tightest(unchanged, len(remaining))) is not None:
        widened = _with(fitting, labels, fitting["endpoints"])
        remaining = _fill(widened, remaining)
        changed.append(widened)
    while remaining:
        fresh = _new(service, group)
        remaining = _fill(fresh, remaining)
        decided.create.append(fresh)
    decided.update += changed


def _size(endpoint_slice: Obj) -> int:
    return len(endpoint_slice["endpoints"])


def _fill(endpoint_slice: Obj, bodies: list[Obj]) -> list[Obj]:
    """Adds as many as fit to a slice of our own making; returns the rest."""
    room = LARGEST - _size(endpoint_slice)
    endpoint_slice["endpoints"] = [*endpoint_slice["endpoints"], *bodies[:room]]
    return bodies[room:]


def _tightest(slices: Iterable[Obj], count: int) -> Obj | None:
    """The fullest slice with room for `count` endpoints."""
    return max((one for one in slices if _size(one) + count <= LARGEST), key=_size, default=None)


def _with(endpoint_slice: Obj, labels: Obj, bodies: list[Obj]) -> Obj:
    return {**endpoint_slice, "metadata": {**endpoint_slice["metadata"], "labels": labels}, "endpoints": bodies}


def _new(service: Obj, group: tuple[str, Ports]) -> Obj:
    family, ports = group
    name = service["metadata"]["name"]
    metadata = {
        "namespace": service["metadata"]["namespace"],
        "generateName": f"{name}-",
        "labels": _labels(service),
        "ownerReferences": [ownership.reference(SERVICES, service)],
    }
    return {
        "apiVersion": ENDPOINTSLICES.api_version,
        "kind": ENDPOINTSLICES.kind,
        "metadata": metadata,
        "addressType": family,
        "ports": [_port(*port) for port in ports],
        "endpoints": [],
    }


def _port(name: str, number: int, protocol: str, application: str) -> Obj:
    port: Obj = {"name": name, "port": number, "protocol": protocol}
    return port | {"appProtocol": application} if application else port


def _ports_key(ports: Iterable[Obj]) -> Ports:
    return tuple((port.get("name", ""), port["port"], port["protocol"], port.get("appProtocol", "")) for port in ports)


def _labels(service: Obj) -> Obj:
    own = service["metadata"].get("labels") or {}
    labels = {name: value for name, value in own.items() if name not in _RESERVED}
    if is_headless(service):
        labels[HEADLESS] = ""
    return {**labels, SERVICE_NAME: service["metadata"]["name"], MANAGED_BY: MANAGER}


def _is_owned(endpoint_slice: Obj, service: Obj) -> bool:
    uid = service["metadata"]["uid"]
    return any(owner["uid"] == uid for owner in endpoint_slice["metadata"].get("ownerReferences") or ())


def _keep_place(service: Obj, family: str, decided: Plan) -> None:
    """Keeps one empty slice, which shows that there are no endpoints rather than that they are unknown."""
    wanted = _new(service, (family, ()))
    labels = wanted["metadata"]["labels"]
    for one in decided.delete:
        says_so = not one.get("endpoints") and not one.get("ports") and one["metadata"].get("labels") == labels
        if one["addressType"] == family and says_so and _is_owned(one, service):
            decided.delete.remove(one)
            return
    decided.create.append(wanted)


def _reuse(service: Obj, decided: Plan) -> None:
    """Rewrites a slice instead of deleting it and creating another."""
    for old in list(decided.delete):
        fresh = next((one for one in decided.create if one["addressType"] == old["addressType"]), None)
        if fresh is not None and _is_owned(old, service):
            decided.create.remove(fresh)
            decided.delete.remove(old)
            metadata = {**old["metadata"], "labels": fresh["metadata"]["labels"]}
            decided.update.append({**fresh, "metadata": metadata})


def _name(service: Obj, fresh: Iterable[Obj], taken: set[str]) -> None:
    number = 0
    for endpoint_slice in fresh:
        while (name := slice_name(service, number)) in taken:
            number += 1
        taken.add(name)
        endpoint_slice["metadata"]["name"] = name


def slice_name(service: Obj, number: int) -> str:
    metadata = service["metadata"]
    digest = hashlib.blake2b(f"{metadata['uid']} {number}".encode(), digest_size=5).digest()
    return f"{metadata['name']}-{''.join(_ALPHABET[byte % len(_ALPHABET)] for byte in digest)}"
