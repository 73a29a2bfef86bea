# SPDX-License-Identifier: Apache-2.0
"""The pods' network as the kernel sees it: a bridge in a namespace of its own, and a cable to every pod.

    10.244.0.1      the bridge: every pod's gateway
    10.244.n.m      pods, n by node; all on one bridge, so pods reach each other without us
    10.96.0.0/16    services: every one of these addresses is local here, so one can listen on any of them

Everything may be done again over what is there: after a restart the holder finds most of it standing. Standard library
only.
"""

from __future__ import annotations

import contextlib
import os
import socket

from springtide.local.network.kernel import namespaces, netlink
from springtide.local.network.kernel.netlink import NEW_ADDRESS, NEW_LINK, NEW_ROUTE, Route
from springtide.local.network.netd_log import say

BRIDGE, GATEWAY, PREFIX = "pods", "10.244.0.1", 16
SERVICES, SERVICES_PREFIX = "10.96.0.0", 16
POD_LINK = "eth0"

_OPEN_PORTS = ("/proc/sys/net/ipv4/ip_unprivileged_port_start", "0")
_NO_IPV6 = (f"/proc/sys/net/ipv6/conf/{POD_LINK}/disable_ipv6", "1")
_FORWARD = ("/proc/sys/net/ipv4/ip_forward", "1")


def hardware(ip: str) -> bytes:
    """An address that follows from the IP: a pod that takes over an address takes over the neighbours' memory of it."""
    return b"\x0a\x58" + socket.inet_aton(ip)


def build() -> None:
    """Bridge, gateway and service addresses in the network namespace that we are in."""
    route = Route()
    try:
        route.ensure(NEW_LINK, netlink.bridge(BRIDGE, hardware(GATEWAY)))
        loopback, bridge = route.index("lo"), route.index(BRIDGE)
        route.ensure(NEW_ADDRESS, netlink.address(bridge, GATEWAY, PREFIX))
        for index in (loopback, bridge):
            route.change(NEW_LINK, netlink.link_up(index))
        route.ensure(NEW_ROUTE, netlink.local_route(SERVICES, SERVICES_PREFIX, loopback))
    finally:
        route.close()
    with contextlib.suppress(OSError):
        forward()  # without an uplink too: pods are then told at once that no way leads out


def forward() -> None:
    """Let packets pass from pods to an uplink. OSError where the system's settings are out of reach."""
    _set(*_FORWARD)


def port_name(ip: str) -> str:
    """Our end of a pod's cable, short enough for a link's name."""
    return "pod" + ip.split(".", 2)[2]


def attach(ip: str, namespace: int, inside: socket.socket) -> None:
    """Lay a cable to a pod and configure both ends; `inside` is a NETLINK_ROUTE socket made in its namespace."""
    route, pod = Route(), Route(inside)
    try:
        route.remove_link(port_name(ip))  # of a pod that is gone, whose namespace lingers
        cable = netlink.veth(port_name(ip), route.index(BRIDGE), POD_LINK, hardware(ip), namespace)
        route.create(NEW_LINK, cable)
        _settle_inside(namespace)
        link = pod.index(POD_LINK)
        pod.ensure(NEW_ADDRESS, netlink.address(link, ip, PREFIX))
        pod.change(NEW_LINK, netlink.link_up(pod.index("lo")))
        pod.change(NEW_LINK, netlink.link_up(link))
        pod.replace(NEW_ROUTE, netlink.default_route(GATEWAY))
    finally:
        route.close()
        pod.close()


def _settle_inside(namespace: int) -> None:
    """Settings that belong to the pod's namespace can only be written from inside it.

    Port 80 is open to everybody there, as in containers. IPv6 would only make pods wait for addresses nobody uses.
    """
    home = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        namespaces.join(namespace, namespaces.NEW_NET)
        try:
            for path, value in (_OPEN_PORTS, _NO_IPV6):
                with contextlib.suppress(OSError):  # a read-only /proc/sys costs these comforts and nothing else
                    _set(path, value)
        finally:
            namespaces.join(home, namespaces.NEW_NET)
    except OSError as problem:
        say(f"cannot enter a pod's network namespace: {problem}")
    finally:
        os.close(home)


def _set(path: str, value: str) -> None:
    with open(path, "w") as file:
        file.write(value)
