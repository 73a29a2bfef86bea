# SPDX-License-Identifier: Apache-2.0
"""The destinations of `pods/proxy`, `services/proxy` and `nodes/proxy`.

The name in such a path is `name`, `name:port` or `scheme:name:port`. These functions resolve it, with the objects it
refers to, to a `Location` or to kube-apiserver's error. Loopback and link-local addresses are rejected as there: a
right to write an address into an object must not open the ports of this machine. Where pods have loopback addresses,
each node uses a part of 127/8 of its own, and 127.0/16, where the machine's programs listen, belongs to none.
"""

from __future__ import annotations

import ipaddress
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from springtide.local import status
from springtide.local.streams.kubelet import Kubelet, Location


@dataclass(frozen=True, slots=True)
class Name:
    """The parts of `https:web:443`; `scheme` is http or https, `port` may be a number, a name or empty."""

    scheme: str
    name: str
    port: str


def parse_name(text: str, kind: str) -> Name:
    """`kind` (pod, service, node) is used in the error message."""
    parts = text.split(":")
    if len(parts) == 1:
        name = Name("http", parts[0], "")
    elif len(parts) == 2:
        name = Name("http", *parts)
    elif len(parts) == 3 and parts[0] in ("", "http", "https"):
        name = Name(parts[0] or "http", *parts[1:])
    else:
        name = Name("", "", "")
    if not name.name:
        raise status.bad_request(f'invalid {kind} request "{text[:_SHOWN]}"')
    return name


_PORT_DIGITS: Final = 5
_SHOWN: Final = 256
_HOST: Final = ipaddress.ip_network("127.0.0.0/16")


def _checked(address: str, loopback: bool) -> str:
    """The address, if a pod may have it. `loopback`: pods have loopback addresses."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        raise status.bad_request("address not allowed") from None
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped is not None:
        ip = ip.ipv4_mapped
    own = loopback and ip.version == 4 and ip not in _HOST
    if ip.is_unspecified or ip.is_multicast or ip.is_link_local or (ip.is_loopback and not own):
        raise status.bad_request("address not allowed")
    return address


def _is_port(text: str) -> bool:
    return len(text) <= _PORT_DIGITS and text.isascii() and text.isdigit() and int(text) < 1 << 16


def _default_port(scheme: str) -> int:
    return 443 if scheme == "https" else 80


def pod_destination(
    pod: dict[str, Any], name: Name, target: str, tls: ssl.SSLContext, *, loopback: bool = False
) -> Location:
    """The requested port of the pod, or the first that a container declares."""
    ports = [port["containerPort"] for c in pod["spec"].get("containers") or [] for port in c.get("ports") or []]
    port = name.port or (str(ports[0]) if ports else "")
    addresses = pod.get("status", {}).get("podIPs") or [{}]
    host = _checked(addresses[0].get("ip", ""), loopback)
    if port and not _is_port(port):
        raise status.bad_request(f'invalid pod request "{name.name}:{port[:_SHOWN]}"')
    return Location(host, int(port) if port else _default_port(name.scheme), target, _tls(name, tls))


def service_port(service: dict[str, Any], name: Name) -> str:
    """The name of the requested service port, which is given by number or by name."""
    if not _is_port(name.port):
        return name.port
    number = int(name.port)
    for port in service["spec"].get("ports") or []:
        if port["port"] == number:
            found: str = port.get("name", "")
            return found
    raise status.unavailable(f'no service port {number} found for service "{name.name}"')


def service_destination(
    endpoints: dict[str, Any],
    name: Name,
    port_name: str,
    target: str,
    tls: ssl.SSLContext,
    behind: Behind,
) -> Location:
    """One of the pods of a service."""
    ready = [
        (address["ip"], port["port"])
        for subset in endpoints.get("subsets") or []
        for port in subset.get("ports") or []
        if port.get("name", "") == port_name
        for address in subset.get("addresses") or []
        if _is_a_pods(address, behind.pod)
    ]
    if not ready:
        raise status.unavailable(f'no endpoints available for service "{name.name}"')
    host, port_number = behind.choose(ready)
    return Location(_checked(host, behind.loopback), port_number, target, _tls(name, tls))


@dataclass(frozen=True, slots=True)
class Behind:
    """How to resolve a service's endpoints."""

    pod: Callable[[str], dict[str, Any] | None]
    """Finds a pod of the service's namespace by name."""
    choose: Callable[[Sequence[tuple[str, int]]], tuple[str, int]]
    loopback: bool = False


def _is_a_pods(address: dict[str, Any], pod_of: Callable[[str], dict[str, Any] | None]) -> bool:
    """Whether a pod really has the address: users with a right to Endpoints may write any address into them."""
    reference = address.get("targetRef") or {}
    pod = pod_of(reference.get("name", "")) if reference.get("kind") == "Pod" else None
    if pod is None or reference.get("namespace") != pod["metadata"]["namespace"]:
        return False
    return any(each.get("ip") == address["ip"] for each in pod.get("status", {}).get("podIPs") or ())


def node_destination(
    kubelet: Kubelet, name: Name, target: str, tls: ssl.SSLContext, *, loopback: bool = False
) -> Location:
    """The kubelet itself, or another port of its node. `loopback`: kubelets, and only they, may have loopback
    addresses."""
    if name.port in ("", str(kubelet.port)):
        host = kubelet.host if loopback and _is_loopback(kubelet.host) else _checked(kubelet.host, False)
        return Location(host, kubelet.port, target, kubelet.tls)
    host = _checked(kubelet.host, False)
    if not _is_port(name.port):
        raise status.bad_request(f'invalid node request "{name.name}:{name.port[:_SHOWN]}"')
    return Location(host, int(name.port), target, _tls(name, tls))


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _tls(name: Name, tls: ssl.SSLContext) -> ssl.SSLContext | None:
    return tls if name.scheme == "https" else None
