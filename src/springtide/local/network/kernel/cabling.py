# SPDX-License-Identifier: Apache-2.0
"""The pod network in the kernel: a bridge in its own namespace and a veth pair to every pod.

    10.244.0.1      the bridge: every pod's gateway
    10.244.n.m      pods, n by node; all on one bridge, so pods reach each other without netd
    10.96.0.0/16    services: all these addresses are local in netd's namespace, so netd can listen on any of them

All operations are idempotent: after a restart netd finds most of the network still in place. Standard library only.
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
    """A MAC address derived from the IP: a pod that reuses an IP matches its neighbours' ARP caches."""
    return b"\x0a\x58" + socket.inet_aton(ip)


def build() -> None:
    """Creates the bridge, the gateway and the service addresses in the current network namespace."""
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
        forward()  # without an uplink too: pods then get "unreachable" immediately


def forward() -> None:
    """Enables forwarding of packets from pods to an uplink. Raises OSError where the sysctl cannot be written."""
    _set(*_FORWARD)


def port_name(ip: str) -> str:
    """The name of the bridge's end of a pod's veth pair, within the length limit of link names."""
    return "pod" + ip.split(".", 2)[2]


def attach(ip: str, namespace: int, inside: socket.socket) -> None:
    """Connects a pod by a veth pair; `inside` is a NETLINK_ROUTE socket of its namespace."""
    route, pod = Route(), Route(inside)
    try:
        route.remove_link(port_name(ip))  # left by a deleted pod whose namespace still exists
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
    """Writes the settings of the pod's namespace, which can only be written from inside it.

    Unprivileged processes may bind port 80 there, as in containers. IPv6 is off: pods would only wait for unused
    addresses.
    """
    home = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        namespaces.join(namespace, namespaces.NEW_NET)
        try:
            for path, value in (_OPEN_PORTS, _NO_IPV6):
                with contextlib.suppress(OSError):  # without a writable /proc/sys only these two settings are lost
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
