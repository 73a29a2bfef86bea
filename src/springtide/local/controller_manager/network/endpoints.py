# SPDX-License-Identifier: Apache-2.0
"""Endpoints: one object per service with all its addresses, for clients that do not know EndpointSlices.

Pods that offer the same ports share a subset. User-written Endpoints of services without a selector are left alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from springtide.kube.client import Client
from springtide.kube.controller import Controller, Result
from springtide.kube.errors import ApiError, NotFound
from springtide.kube.events import EventRecorder
from springtide.kube.informer import Informers
from springtide.kube.resources import ENDPOINTS, Key, Obj
from springtide.local.controller_manager import views
from springtide.local.controller_manager.network import service_pods
from springtide.local.controller_manager.network.pacing import Pace
from springtide.local.controller_manager.network.service_targets import (
    HEADLESS,
    TriggerTimes,
    addresses,
    families,
    has_targets,
    hostname,
    is_headless,
    reference,
    target_port,
    targets,
    triggered,
)
from springtide.local.controller_manager.views import PodView

COMPONENT = "endpoint-controller"
MANAGED_BY = "endpoints.kubernetes.io/managed-by"
OVER_CAPACITY = "endpoints.kubernetes.io/over-capacity"
CAPACITY = 1000
_VANISHED = "resourceVersion should not be set on objects to be created"
"""The API server's answer to an update of Endpoints that were deleted."""


def plan(service: Obj, pods: Sequence[PodView], present: Obj | None, trigger: str) -> Obj | None:
    """The Endpoints to write, or None when the existing ones are up to date."""
    subsets, cut = truncated(subsets_of(service, pods))
    labels = _labels(service)
    if present is not None and _says(present, labels, subsets, cut):
        return None
    wanted = present or ENDPOINTS.describe(Key.of(service))
    annotations = triggered(wanted["metadata"].get("annotations"), trigger)
    annotations.pop(OVER_CAPACITY, None)
    if cut:
        annotations[OVER_CAPACITY] = "truncated"
    return wanted | {
        "metadata": wanted["metadata"] | {"labels": labels, "annotations": annotations},
        "subsets": subsets,
    }


def _labels(service: Obj) -> Obj:
    labels = {**(service["metadata"].get("labels") or {}), MANAGED_BY: COMPONENT}
    labels.pop(HEADLESS, None)
    return labels | {HEADLESS: ""} if is_headless(service) else labels


def _says(present: Obj, labels: Obj, subsets: list[Obj], cut: bool) -> bool:
    metadata = present["metadata"]
    marked = OVER_CAPACITY in (metadata.get("annotations") or {})
    return metadata.get("labels") == labels and marked == cut and _in_order(present.get("subsets") or []) == subsets


def subsets_of(service: Obj, pods: Sequence[PodView]) -> list[Obj]:
    publish = bool(service["spec"].get("publishNotReadyAddresses"))
    family = families(service)[0]
    found = [pod for pod in targets(service, pods, terminating=publish) if addresses(pod, family)]
    by_pods: dict[tuple[int, ...], list[Obj]] = {}
    for port, offering in _ports(service, found):
        by_pods.setdefault(offering, []).extend(port)
    subsets = []
    for offering, ports in by_pods.items():
        ready: list[Obj] = []
        waiting: list[Obj] = []
        for index in offering:
            pod = found[index]
            (ready if publish or pod.ready else waiting).append(_address(service, pod, family))
        lists = {"addresses": ready, "notReadyAddresses": waiting, "ports": ports}
        subsets.append({name: entries for name, entries in lists.items() if entries})
    return _in_order(subsets)


def _ports(service: Obj, pods: Sequence[PodView]) -> list[tuple[list[Obj], tuple[int, ...]]]:
    """Each port with the positions, in `pods`, of the pods that offer it."""
    ports = service["spec"].get("ports")
    if not ports:
        everybody = tuple(range(len(pods)))
        return [([], everybody)] if pods and service["spec"].get("clusterIP") == "None" else []
    found = []
    for port in ports:
        by_number: dict[int, list[int]] = {}
        for index, pod in enumerate(pods):
            number = target_port(pod, port)
            if number is not None:
                by_number.setdefault(number, []).append(index)
        found += [([_port(port, number)], tuple(offering)) for number, offering in by_number.items()]
    return found


def _port(port: Obj, number: int) -> Obj:
    shown = {"name": port.get("name"), "port": number, "protocol": port.get("protocol", "TCP")}
    shown["appProtocol"] = port.get("appProtocol")
    return {name: value for name, value in shown.items() if value}


def _address(service: Obj, pod: PodView, family: str) -> Obj:
    parts = {
        "ip": addresses(pod, family)[0],
        "hostname": hostname(pod, service),
        "nodeName": pod.spec.node_name,
        "targetRef": reference(pod),
    }
    return {name: value for name, value in parts.items() if value}


def _in_order(subsets: Sequence[Obj]) -> list[Obj]:
    """Subsets and their ports are unordered; sorting makes two lists comparable."""
    ordered = [
        {**subset, "ports": sorted(subset["ports"], key=_port_order)} if subset.get("ports") else subset
        for subset in subsets
    ]
    return sorted(ordered, key=lambda subset: [_port_order(port) for port in subset.get("ports") or ()])


def _port_order(port: Obj) -> tuple[str, int, str]:
    return port.get("name", ""), port["port"], port.get("protocol", "")


def truncated(subsets: list[Obj]) -> tuple[list[Obj], bool]:
    """At most a thousand addresses, the ready ones first: bounds the size of the object."""
    total = sum(len(subset.get(kind, ())) for subset in subsets for kind in ("addresses", "notReadyAddresses"))
    if total <= CAPACITY:
        return subsets, False
    kept = [dict(subset) for subset in subsets]
    left = CAPACITY
    for kind in ("addresses", "notReadyAddresses"):
        for subset in kept:
            entries = subset.pop(kind, [])[:left]
            left -= len(entries)
            if entries:
                subset[kind] = entries
    return [subset for subset in kept if subset.get("addresses") or subset.get("notReadyAddresses")], True


def controller(informers: Informers, client: Client, recorder: EventRecorder) -> Controller[Key]:
    async def reconcile(key: Key) -> Result | None:
        service, present = services.get(key), endpoints.get(key)
        if service is None:
            trigger_times.forget(key)
            pace.forget(key)
            if present is not None:
                await _delete(client, key)
        elif has_targets(service):
            with pace.measured(key):
                found = service_pods.candidates(service, pods)
                matching = await service_pods.worked_out(found, partial(targets, service, found, terminating=True))
                trigger = trigger_times.next(service, matching)
                wanted = await service_pods.worked_out(matching, partial(plan, service, matching, present, trigger))
                if wanted is not None:
                    await write(client, recorder, wanted)
        return None

    trigger_times, pace = TriggerTimes(), Pace()
    found: Controller[Key] = Controller("endpoints", reconcile, workers=2)
    services, endpoints, pods = service_pods.services(informers), informers.of(ENDPOINTS), views.pods(informers)
    found.watches(services)
    found.watches(endpoints, keys=_if_ours)
    found.reads(pods)
    pods.on_change(
        lambda key: found.enqueue(key, pace.delay(key)),
        lambda pod: service_pods.affected(services, pod),
    )
    return found


def _if_ours(present: Obj) -> list[Key]:
    """Endpoints that a user created before their service are not those of a deleted service."""
    labels = present["metadata"].get("labels") or {}
    return [Key.of(present)] if labels.get(MANAGED_BY) == COMPONENT else []


async def _delete(client: Client, key: Key) -> None:
    try:
        await client.delete(ENDPOINTS, key)
    except NotFound:
        return


async def write(client: Client, recorder: EventRecorder, wanted: Obj) -> None:
    exists = "resourceVersion" in wanted["metadata"]
    try:
        await (client.replace(ENDPOINTS, wanted) if exists else client.create(ENDPOINTS, wanted))
    except ApiError as error:
        if error.has_cause("NamespaceTerminating") or (exists and _VANISHED in error.message):
            return  # deleted meanwhile: the watch event causes a new reconcile, which creates them
        key = Key.of(wanted)
        if exists:
            recorder.warning(wanted, "FailedToUpdateEndpoint", f"Failed to update endpoint {key}: {error.message}")
        else:
            message = f"Failed to create endpoint for service {key}: {error.message}"
            recorder.warning(wanted, "FailedToCreateEndpoint", message)
        raise
