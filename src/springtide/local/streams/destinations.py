# SPDX-License-Identifier: Apache-2.0
"""Where `pods/proxy`, `services/proxy` and `nodes/proxy` lead.

The name in such a path is `name`, `name:port` or `scheme:name:port`. These functions turn it and the objects behind it
into a `Location` or into kube-apiserver's refusal. Loopback and link-local addresses are refused as there, unless the
caller says that its pods live on loopback.
"""

from __future__ import annotations

import ipaddress
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from springtide.local import status
from springtide.local.streams.kubelet import Kubelet, Location


@dataclass(frozen=True, slots=True)
class Name:
    """`https:web:443` taken apart; `scheme` is http or https, `port` may be a number, a name or empty."""

    scheme: str
    name: str
    port: str


def parse_name(text: str, kind: str) -> Name:
    """`kind` (pod, service, node) names the thing in the refusal."""
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
        raise status.bad_request(f'invalid {kind} request "{text}"')
    return name


def _checked(address: str, loopback: bool) -> str:
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        ip = None
    usable = ip is not None and not (ip.is_unspecified or ip.is_multicast or ip.is_link_local)
    if ip is None or not usable or (ip.is_loopback and not loopback):
        raise status.bad_request("address not allowed")
    return address


def _default_port(scheme: str) -> int:
    return 443 if scheme == "https" else 80


def pod_destination(
    pod: dict[str, Any], name: Name, target: str, tls: ssl.SSLContext, *, loopback: bool = False
) -> Location:
    """The asked port of the pod, or the first that a container declares."""
    ports = [port["containerPort"] for c in pod["spec"].get("containers") or [] for port in c.get("ports") or []]
    port = name.port or (str(ports[0]) if ports else "")
    addresses = pod.get("status", {}).get("podIPs") or [{}]
    host = _checked(addresses[0].get("ip", ""), loopback)
    if port and not (port.isascii() and port.isdigit()):
        raise status.bad_request(f'invalid pod request "{name.name}:{port}"')
    return Location(host, int(port) if port else _default_port(name.scheme), target, _tls(name, tls))


def service_port(service: dict[str, Any], name: Name) -> str:
    """The name of the service port that was asked for, by number or by name."""
    if not name.port.isdigit():
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
    choose: Callable[[Sequence[tuple[str, int]]], tuple[str, int]],
) -> Location:
    """One of the pods behind a service; `choose` picks it (at random, in the server)."""
    ready = [
        (address["ip"], port["port"])
        for subset in endpoints.get("subsets") or []
        for port in subset.get("ports") or []
        if port.get("name", "") == port_name
        for address in subset.get("addresses") or []
        if (address.get("targetRef") or {}).get("kind") == "Pod"
    ]
    if not ready:
        raise status.unavailable(f'no endpoints available for service "{name.name}"')
    host, port_number = choose(ready)
    return Location(host, port_number, target, _tls(name, tls))


def node_destination(
    kubelet: Kubelet, name: Name, target: str, tls: ssl.SSLContext, *, loopback: bool = False
) -> Location:
    """The kubelet itself, or another port of its node."""
    host = kubelet.host if kubelet.host == "localhost" and loopback else _checked(kubelet.host, loopback)
    if name.port in ("", str(kubelet.port)):
        return Location(host, kubelet.port, target, kubelet.tls)
    if not (name.port.isascii() and name.port.isdigit()):
        raise status.bad_request(f'invalid node request "{name.name}:{name.port}"')
    return Location(host, int(name.port), target, _tls(name, tls))


def _tls(name: Name, tls: ssl.SSLContext) -> ssl.SSLContext | None:
    return tls if name.scheme == "https" else None
