# SPDX-License-Identifier: Apache-2.0
"""The way out for root where no tool is installed: a cable to the host, and address translation there.

The only thing of ours that the host ever sees: one veth and one nf_tables table, both named after the cluster, and
packet forwarding on the link to the world while we are there. All of it goes when the holder ends. Standard library
only.
"""

from __future__ import annotations

import contextlib
import socket
import zlib

from springtide.local.network import netfilter, netlink
from springtide.local.network.netlink import NEW_ADDRESS, NEW_LINK, Route

_FORWARD = "/proc/sys/net/ipv4/conf/{}/forwarding"
_FORWARD_ALL = "/proc/sys/net/ipv4/ip_forward"
_ROUTES = "/proc/net/route"


class Place:
    """The names and addresses of one cluster's cable; two clusters on a machine must not meet."""

    def __init__(self, cluster: str) -> None:
        number = zlib.crc32(cluster.encode())
        self.table = f"springtide-{number:08x}"
        self.link = f"tide-{number:08x}"
        # Link-local, so that it can be nobody's real network.
        base = f"169.254.{1 + (number >> 6) % 254}."
        self.host, self.inside = base + str((number & 63) * 4 + 1), base + str((number & 63) * 4 + 2)


class Translation:
    """On the host, as root, from its own namespace."""

    def __init__(self, cluster: str) -> None:
        self._place = Place(cluster)
        self._opened: list[str] = []
        """Links that did not forward before us."""

    def install(self, namespace: int, link: str) -> None:
        """The other end of the cable is then `link` in `namespace`, without an address. OSError."""
        place, leaving = self._place, _default_link()
        route = Route()
        try:
            route.remove_link(place.link)
            cable = netlink.veth(place.link, 0, link, b"\x0a\x58" + socket.inet_aton(place.inside), namespace)
            route.create(NEW_LINK, cable)
            route.ensure(NEW_ADDRESS, netlink.address(route.index(place.link), place.host, 30))
        finally:
            route.close()
        netfilter.send(netfilter.masquerade(place.table, leaving))
        for name in (place.link, leaving):
            if _set(_FORWARD.format(name), "1"):
                self._opened.append(name)

    def remove(self) -> None:
        """Also what a predecessor left that was killed; nothing where there is nothing."""
        if _read(_FORWARD_ALL) == "0":  # otherwise somebody else has come to need it
            for name in self._opened:
                with contextlib.suppress(OSError):
                    _set(_FORWARD.format(name), "0")
        with contextlib.suppress(OSError):
            netfilter.remove(self._place.table)
        with contextlib.suppress(OSError):
            route = Route()
            try:
                route.remove_link(self._place.link)
            finally:
                route.close()


def _default_link() -> str:
    with open(_ROUTES) as file:
        for line in file.readlines()[1:]:
            name, target, *_ = line.split()
            if target == "00000000":
                return name
    raise OSError("this machine has no default route")


def _read(path: str) -> str:
    with open(path) as file:
        return file.read().strip()


def _set(path: str, value: str) -> bool:
    """Whether that changed anything."""
    if _read(path) == value:
        return False
    with open(path, "w") as file:
        file.write(value)
    return True
