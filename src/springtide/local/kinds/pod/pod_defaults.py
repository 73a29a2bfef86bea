# SPDX-License-Identifier: Apache-2.0
"""Defaults of pods and pod templates.

`default_pod_spec` is for pods and pod templates; `default_pod` adds the defaults of pods only: a template must be
returned as it was written, or applying it again would look like a change.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from springtide.api.quantity import ZERO, Quantity
from springtide.local.kinds.pod.containers_resources import amount, is_pod_level
from springtide.local.kinds.pod.volumes import default_volumes
from springtide.local.kinds.strategy import Obj

_COMPONENT = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_DOMAIN = r"(?:[a-zA-Z0-9](?:[-a-zA-Z0-9.]*[a-zA-Z0-9])?|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_REFERENCE = re.compile(
    rf"(?:{_DOMAIN}/)?{_COMPONENT}(?:/{_COMPONENT})*"
    r"(?::(?P<tag>\w[\w.-]{0,127}))?"
    r"(?:@(?P<digest>[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?",
    re.ASCII,
)
_LONGEST_REFERENCE = 1024  # a name has 255 characters, a tag 128; longer ones have a long digest or are invalid
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")


def pull_policy(image: str) -> str:
    """`Always` for images that can change under the same name: without tag and digest, or with the tag `latest`."""
    return _pull_policy(image) if len(image) <= _LONGEST_REFERENCE else "IfNotPresent"


@lru_cache(maxsize=512)
def _pull_policy(image: str) -> str:
    match = _REFERENCE.fullmatch(image)
    if match is None:
        return "IfNotPresent"
    tag, digest = match["tag"], match["digest"]
    return "Always" if tag == "latest" or not (tag or digest) else "IfNotPresent"


def default_pod_spec(spec: Obj) -> None:
    if not spec.get("dnsPolicy"):
        spec["dnsPolicy"] = "ClusterFirst"
    if not spec.get("restartPolicy"):
        spec["restartPolicy"] = "Always"
    if spec.get("securityContext") is None:
        spec["securityContext"] = {}
    if spec.get("terminationGracePeriodSeconds") is None:
        spec["terminationGracePeriodSeconds"] = 30
    if not spec.get("schedulerName"):
        spec["schedulerName"] = "default-scheduler"
    if account := spec.get("serviceAccountName") or spec.get("serviceAccount"):
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    if volumes := spec.get("volumes"):
        default_volumes(volumes)
    for kind in ("containers", "initContainers", "ephemeralContainers"):
        if containers := spec.get(kind):
            default_containers(containers)


def default_containers(containers: Iterable[Obj]) -> None:
    for container in containers:
        _default_plain_fields(container)
        if ports := container.get("ports"):
            _default_protocols(ports)
        if variables := container.get("env"):
            _default_references(variables)
        for probe in _PROBES:
            if probe in container:
                _default_probe(container[probe])
        if lifecycle := container.get("lifecycle"):
            _default_lifecycle(container, lifecycle)


def _default_lifecycle(container: Obj, lifecycle: Obj) -> None:
    if lifecycle.pop("stopSignal", None) is not None and not lifecycle:  # off by default in Kubernetes
        del container["lifecycle"]
    _default_handlers(lifecycle.values())


def _default_plain_fields(container: Obj) -> None:
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = pull_policy(container.get("image", ""))
    if not container.get("terminationMessagePath"):
        container["terminationMessagePath"] = "/dev/termination-log"
    if not container.get("terminationMessagePolicy"):
        container["terminationMessagePolicy"] = "File"
    if container.get("resources") is None:
        container["resources"] = {}


def _default_protocols(ports: Iterable[Obj]) -> None:
    for port in ports:
        if not port.get("protocol"):
            port["protocol"] = "TCP"


def _default_references(variables: Iterable[Obj]) -> None:
    for variable in variables:
        if not (source := variable.get("valueFrom")):
            continue
        if (field := source.get("fieldRef")) is not None and not field.get("apiVersion"):
            field["apiVersion"] = "v1"
        if (resource := source.get("resourceFieldRef")) is not None:
            resource.setdefault("divisor", "0")


def _default_probe(probe: Obj) -> None:
    for field, value in (
        ("timeoutSeconds", 1),
        ("periodSeconds", 10),
        ("successThreshold", 1),
        ("failureThreshold", 3),
    ):
        if not probe.get(field):
            probe[field] = value
    if (grpc := probe.get("grpc")) is not None and grpc.get("service") is None:
        grpc["service"] = ""
    _default_handlers((probe,))


def _default_handlers(handlers: Iterable[object]) -> None:
    for handler in handlers:
        if isinstance(handler, dict) and (get := handler.get("httpGet")) is not None:
            if not get.get("path"):
                get["path"] = "/"
            if not get.get("scheme"):
                get["scheme"] = "HTTP"


def default_pod(pod: Obj) -> None:
    spec: Obj = pod.setdefault("spec", {})
    default_pod_spec(spec)
    if spec["terminationGracePeriodSeconds"] < 0:
        spec["terminationGracePeriodSeconds"] = 1
    containers: Sequence[Obj] = spec.get("containers") or ()
    initial: Sequence[Obj] = spec.get("initContainers") or ()
    _default_requests(containers)
    _default_requests(initial)
    if spec.get("resources") is not None:
        _default_pod_requests(spec["resources"], containers)
    if spec.get("enableServiceLinks") is None:
        spec["enableServiceLinks"] = True
    if spec.get("hostNetwork"):
        _default_host_ports((*containers, *initial))
    status: Obj = pod.setdefault("status", {})
    address, addresses = status.get("podIP"), status.get("podIPs")
    if address and (not addresses or addresses[0].get("ip") != address):
        status["podIPs"] = [{"ip": address}]
    elif addresses and not address:
        status["podIP"] = addresses[0].get("ip", "")


def _default_requests(containers: Iterable[Obj]) -> None:
    """A container with only a limit requests the same amount."""
    for container in containers:
        if limits := container["resources"].get("limits"):
            requests = container["resources"].setdefault("requests", {})
            for name, quantity in limits.items():
                requests.setdefault(name, quantity)


def _default_pod_requests(resources: Obj, containers: Iterable[Obj]) -> None:
    """A pod with its own limits requests the sum of its containers' requests, or else the limit."""
    limits = resources.get("limits")
    if not limits:
        return
    totals: dict[str, Quantity] = {}
    for container in containers:
        for name, quantity in (container["resources"].get("requests") or {}).items():
            totals[name] = totals.get(name, ZERO) + amount(quantity)
    requests = dict(resources.get("requests") or {})
    for name in ("cpu", "memory"):
        if name in totals:
            requests.setdefault(name, str(totals[name]))
    for name, quantity in limits.items():
        if is_pod_level(name):
            requests.setdefault(name, quantity)
    if requests:
        resources["requests"] = requests


def _default_host_ports(containers: Iterable[Obj]) -> None:
    for container in containers:
        for port in container.get("ports") or ():
            if not port.get("hostPort"):
                port["hostPort"] = port.get("containerPort", 0)
