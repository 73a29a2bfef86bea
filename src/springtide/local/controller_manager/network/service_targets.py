# SPDX-License-Identifier: Apache-2.0
"""The pods behind a service and their addresses: the part that Endpoints and EndpointSlices share.

Pure; the two controllers fetch the pods and write the objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from springtide.kube.resources import Key, Obj
from springtide.local.controller_manager.timestamps import read, stamp
from springtide.local.controller_manager.views import Container, PodView

HEADLESS = "service.kubernetes.io/headless"
_LOOPBACK = ("127.", "::1")
TRIGGER = "endpoints.kubernetes.io/last-change-trigger-time"


def has_targets(service: Obj) -> bool:
    """Whether this controller writes the service's endpoints; those of other services are written by users."""
    spec = service["spec"]
    return spec.get("type") != "ExternalName" and spec.get("selector") is not None


def selects(service: Obj, pod: PodView) -> bool:
    labels = pod.metadata.labels
    return all(labels.get(name) == value for name, value in service["spec"]["selector"].items())


def services_for(services: Iterable[Obj], pod: PodView) -> list[Key]:
    """The services that a change of this pod may affect: none before it has an address."""
    if not pod.status.pod_ips or pod.terminal:
        return []
    return [Key.of(service) for service in services if has_targets(service) and selects(service, pod)]


def targets(service: Obj, pods: Iterable[PodView], *, terminating: bool) -> list[PodView]:
    """The pods that have an address and are not finished, in a stable order."""
    found = [
        pod
        for pod in pods
        if pod.status.pod_ips
        and not pod.terminal
        and (terminating or pod.metadata.deletion_timestamp is None)
        and selects(service, pod)
    ]
    return sorted(found, key=lambda pod: (pod.status.pod_ips[0].ip, pod.uid))


def families(service: Obj) -> list[str]:
    return service["spec"].get("ipFamilies") or ["IPv4"]


def addresses(pod: PodView, family: str) -> list[str]:
    """The reachable addresses: pods without their own network have loopback addresses, which no service may use."""
    return [
        address.ip
        for address in pod.status.pod_ips
        if (":" in address.ip) == (family == "IPv6") and not address.ip.startswith(_LOOPBACK)
    ]


def is_headless(service: Obj) -> bool:
    return service["spec"].get("clusterIP", "") in ("", "None")


def hostname(pod: PodView, service: Obj) -> str:
    """The pod's hostname in the service's DNS, or empty."""
    return pod.spec.hostname if pod.spec.subdomain == service["metadata"]["name"] else ""


def target_port(pod: PodView, port: Obj) -> int | None:
    """The port on which the pod listens; None when the pod lacks the named port."""
    target = port.get("targetPort") or port["port"]
    if isinstance(target, int):
        return target
    protocol = port.get("protocol", "TCP")
    for container in _serving(pod):
        for offered in container.ports:
            if offered.name == target and offered.protocol == protocol:
                return offered.container_port
    return None


def _serving(pod: PodView) -> Iterable[Container]:
    yield from pod.spec.containers
    yield from (container for container in pod.spec.init_containers if container.restart_policy == "Always")


def reference(pod: PodView) -> Obj:
    metadata = pod.metadata
    return {"kind": "Pod", "namespace": metadata.namespace, "name": metadata.name, "uid": metadata.uid}


@dataclass(slots=True)
class _Seen:
    service: datetime
    pods: dict[str, datetime] = field(default_factory=dict)


class TriggerTimes:
    """The time of the changes behind an update of the endpoints, from which network programming latency is measured."""

    def __init__(self) -> None:
        self._seen: dict[Key, _Seen] = {}

    def forget(self, key: Key) -> None:
        self._seen.pop(key, None)

    def next(self, service: Obj, pods: Sequence[PodView]) -> str:
        """The earliest change since the last call, or empty. For a new service: its creation."""
        key, created = Key.of(service), read(service["metadata"]["creationTimestamp"])
        before = self._seen.get(key)
        now = _Seen(created, {pod.metadata.name: changed for pod in pods if (changed := _ready_since(pod))})
        self._seen[key] = now
        if before is None:
            return stamp(created)
        changes = [time for name, time in now.pods.items() if name not in before.pods or time > before.pods[name]]
        if created > before.service:
            changes.append(created)
        return stamp(min(changes)) if changes else ""


def _ready_since(pod: PodView) -> datetime | None:
    condition = pod.ready_condition
    return None if condition is None else condition.last_transition_time


def triggered(annotations: Obj | None, trigger: str) -> Obj:
    """Annotations with the trigger time, or without it when there is none."""
    kept = {name: value for name, value in (annotations or {}).items() if name != TRIGGER}
    return kept | {TRIGGER: trigger} if trigger else kept
