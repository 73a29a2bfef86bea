# SPDX-License-Identifier: Apache-2.0
"""The kubelet's endpoints for logs, exec, attach and port-forward, and validation of the requests to them.

The API server talks to a node through the kubelet's own HTTPS endpoint: its address is in the Node's status, its paths
and parameter names are fixed. Everything here is a function from objects and a query to a `Location` or to the error
that kube-apiserver would return; connecting is left to `proxy.py` and `logs.py`.
"""

from __future__ import annotations

import posixpath
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import unquote, urlencode

from springtide.api import field_errors
from springtide.api.field_errors import FieldError, cut
from springtide.local import status
from springtide.local.streams.channels import Wanted

# The order in which kube-apiserver, configured by kubeadm, tries addresses: names of our nodes are not host names.
_ADDRESS_TYPES: Final = ("InternalIP", "ExternalIP", "Hostname", "InternalDNS", "ExternalDNS")
_DEFAULT_PORT: Final = 10250
_WEBSOCKET_FEATURE: Final = "ExtendWebSocketsToKubelet"

_MAX_DIGITS: Final = 1000
"""Python refuses to parse longer numbers; no 64-bit number needs as many, however many leading zeros it has."""
_INT32_DIGITS: Final = 10
_NEW: Final = timedelta(seconds=10)
_BEING_MADE: Final = ("", "ContainerCreating", "PodInitializing")
_COMMAND_PATHS: Final = frozenset({"exec", "attach", "portforward", "run", "cri", "direct"})
_MOST_ENCODINGS: Final = 4

# A parsed query: every value of every parameter.
Query = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Location:
    """An HTTP(S) URL to connect to. `tls` holds our client certificate and the CA that must have signed the node's."""

    host: str
    port: int
    target: str
    tls: ssl.SSLContext | None = None

    @property
    def address(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://{self.address}{self.target}"


@dataclass(frozen=True, slots=True)
class Kubelet:
    """A node's endpoint."""

    host: str
    port: int
    tls: ssl.SSLContext | None = None
    speaks_websocket: bool = False
    """The node supports `v5.channel.k8s.io` and tunnelled port-forward itself; other nodes get SPDY."""

    def at(self, path: str, parameters: Sequence[tuple[str, str]] = ()) -> Location:
        # Go's url.Values.Encode sorts by name and keeps the order of equal names.
        query = urlencode(sorted(parameters, key=lambda pair: pair[0]))
        return Location(self.host, self.port, f"{path}?{query}" if query else path, self.tls)


def kubelet_of(node: dict[str, Any], tls: ssl.SSLContext | None) -> Kubelet:
    """The endpoint in a Node's status."""
    reported = node.get("status", {})
    addresses = reported.get("addresses") or []
    host = next((a["address"] for kind in _ADDRESS_TYPES for a in addresses if a["type"] == kind), None)
    if host is None:
        known = " ".join(f"{{{a['type']} {a['address']}}}" for a in addresses)
        raise status.StatusError(500, "", f"no preferred addresses found; known addresses: [{known}]")
    port = (reported.get("daemonEndpoints") or {}).get("kubeletEndpoint", {}).get("Port", 0)
    features = reported.get("declaredFeatures") or []
    return Kubelet(host, port if port > 0 else _DEFAULT_PORT, tls, _WEBSOCKET_FEATURE in features)


def runs_commands(path: str) -> bool:
    """Whether a path of a node gives access to its containers, in whatever encoding."""
    for _ in range(_MOST_ENCODINGS):
        path = unquote(path)
    clean = posixpath.normpath("/" + path.replace("\\", "/")).lstrip("/")
    return clean.partition("/")[0].lower() in _COMMAND_PATHS


def node_name(pod: dict[str, Any]) -> str:
    """The node that serves a pod's streams; an error for a pod without one (only its log is empty instead)."""
    name: str = pod["spec"].get("nodeName", "")
    if not name:
        raise status.bad_request(f"pod {pod['metadata']['name']} does not have a host assigned")
    return name


def is_ready(node: dict[str, Any]) -> bool:
    conditions = (node.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def is_starting(pod: dict[str, Any], container: str, now: datetime) -> bool:
    """Whether the container of a new pod is likely to start soon: no error and no other wait was reported."""
    reported, metadata = pod.get("status") or {}, pod["metadata"]
    age = now - datetime.fromisoformat(metadata["creationTimestamp"])
    if age > _NEW or reported.get("phase", "Pending") != "Pending" or metadata.get("deletionTimestamp"):
        return False
    conditions = reported.get("conditions") or ()
    if any(each["type"] == "PodScheduled" and each["status"] == "False" for each in conditions):
        return False
    statuses = (*(reported.get("initContainerStatuses") or ()), *(reported.get("containerStatuses") or ()))
    state = next((each.get("state") or {} for each in statuses if each["name"] == container), {})
    return not state or ("waiting" in state and state["waiting"].get("reason", "") in _BEING_MADE)


def container_of(pod: dict[str, Any], asked: str) -> str:
    """The container to use: the requested one, or the only one."""
    spec, name = pod["spec"], pod["metadata"]["name"]
    kinds = ("initContainers", "containers", "ephemeralContainers")
    names = [container["name"] for kind in kinds for container in spec.get(kind) or []]
    if asked:
        if asked not in names:
            raise status.bad_request(f"container {cut(asked)} is not valid for pod {name}")
        return asked
    containers = spec.get("containers") or []
    if len(containers) == 1:
        only: str = containers[0]["name"]
        return only
    choice = f", choose one of: [{' '.join(names)}]" if containers else ""
    raise status.bad_request(f"a container name must be specified for pod {name}{choice}")


def _first(query: Query, name: str) -> str:
    values = query.get(name)
    return values[0] if values else ""


def flag(query: Query, name: str) -> bool:
    """A boolean parameter as Go parses it: present, and neither `false` nor `0`."""
    values = query.get(name)
    return values is not None and values[0].lower() not in ("false", "0")


def number(query: Query, name: str) -> int | None:
    text = _first(query, name)
    if not text:
        return None
    digits = text[1:] if text[0] in "+-" else text
    if not (digits.isascii() and digits.isdigit()):
        raise status.bad_request(f'strconv.ParseInt: parsing "{cut(text)}": invalid syntax')
    value = int(text) if len(digits) < _MAX_DIGITS else None
    if value is None or not -(1 << 63) <= value < 1 << 63:
        raise status.bad_request(f'strconv.ParseInt: parsing "{cut(text)}": value out of range')
    return value


def since_time(query: Query) -> str:
    text = _first(query, "sinceTime")
    if not text:
        return ""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        layout = "2006-01-02T15:04:05Z07:00"
        raise status.bad_request(f'parsing time "{cut(text)}" as "{layout}": cannot parse "{cut(text)}" as "2006"')
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def log_location(kubelet: Kubelet, pod: dict[str, Any], query: Query) -> Location:
    """`/containerLogs/...` with the options of `pods/log`; call `check_log_options` first."""
    container = container_of(pod, _first(query, "container"))
    parameters = [(name, "true") for name in ("follow", "previous", "timestamps") if flag(query, name)]
    for name in ("sinceSeconds", "tailLines", "limitBytes"):
        value = number(query, name)
        if value is not None:
            parameters.append((name, str(value)))
    if since := since_time(query):
        parameters.append(("sinceTime", since))
    return kubelet.at(f"/containerLogs/{pod_path(pod)}/{container}", parameters)


def check_log_options(pod_name: str, query: Query) -> None:
    """The errors of `pods/log` that do not depend on the pod."""
    errors: list[FieldError] = []
    tail, limit, seconds = (number(query, name) for name in ("tailLines", "limitBytes", "sinceSeconds"))
    since = since_time(query)
    if tail is not None and tail < 0:
        errors.append(field_errors.invalid("tailLines", tail, "must be greater than or equal to 0"))
    if limit is not None and limit < 1:
        errors.append(field_errors.invalid("limitBytes", limit, "must be greater than 0"))
    if seconds is not None and since:
        errors.append(field_errors.forbidden("[]", "at most one of `sinceTime` or `sinceSeconds` may be specified"))
    elif seconds is not None and seconds < 1:
        errors.append(field_errors.invalid("sinceSeconds", seconds, "must be greater than 0"))
    if _first(query, "stream"):
        errors.append(field_errors.forbidden("stream", "may not be specified"))
    if errors:
        raise status.invalid("", "PodLogOptions", pod_name, errors)


def wanted(query: Query) -> Wanted:
    """The streams that an exec or attach requests."""
    return Wanted(flag(query, "stdin"), flag(query, "stdout"), flag(query, "stderr"), flag(query, "tty"))


def _stream_parameters(asked: Wanted) -> list[tuple[str, str]]:
    names = {"input": asked.stdin, "output": asked.stdout, "error": asked.stderr, "tty": asked.tty}
    return [(name, "1") for name, on in names.items() if on]


def exec_location(kubelet: Kubelet, pod: dict[str, Any], query: Query) -> Location:
    container = container_of(pod, _first(query, "container"))
    commands = [("command", word) for word in query.get("command", ())]
    return kubelet.at(f"/exec/{pod_path(pod)}/{container}", _stream_parameters(wanted(query)) + commands)


def attach_location(kubelet: Kubelet, pod: dict[str, Any], query: Query) -> Location:
    container = container_of(pod, _first(query, "container"))
    return kubelet.at(f"/attach/{pod_path(pod)}/{container}", _stream_parameters(wanted(query)))


def forward_location(kubelet: Kubelet, pod: dict[str, Any], query: Query) -> Location:
    ports = [text for value in query.get("ports", ()) for text in value.split(",")]
    for text in ports:
        if not (len(text) <= _INT32_DIGITS and text.isascii() and text.isdigit() and int(text) < 1 << 31):
            shown = text[:_MAX_DIGITS]
            raise status.bad_request(f'cannot convert to []int32: strconv.ParseUint: parsing "{shown}": invalid syntax')
    return kubelet.at(f"/portForward/{pod_path(pod)}", [("port", ",".join(ports))] if ports else [])


def pod_path(pod: dict[str, Any]) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
