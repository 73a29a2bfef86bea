# SPDX-License-Identifier: Apache-2.0
"""The uplink for root where no tool is installed: a veth pair to the host, and address translation there.

The host only ever sees one veth and one nf_tables table, both named after the cluster, and packet forwarding on the
default route's link while the cluster runs. All of it is removed when netd exits.

The link that did not forward before is recorded in the kernel, as the name of another, empty table. The record survives
a killed process; while another cluster needs the link, the record is passed on to that cluster. Standard library only.
"""

from __future__ import annotations

import contextlib
import socket
import zlib

from springtide.local.network.kernel import netfilter, netlink
from springtide.local.network.kernel.netlink import NEW_ADDRESS, NEW_LINK, Route

_FORWARD = "/proc/sys/net/ipv4/conf/{}/forwarding"
_FORWARD_ALL = "/proc/sys/net/ipv4/ip_forward"
_ROUTES = "/proc/net/route"
_LINK, _TABLE, _OPENED = "tide-", "springtide-", "-opened-"


class Place:
    """The names and addresses of one cluster's veth pair, distinct between clusters on a machine."""

    def __init__(self, cluster: str) -> None:
        number = zlib.crc32(cluster.encode())
        self.table = f"{_TABLE}{number:08x}"
        self.link = f"{_LINK}{number:08x}"
        # Link-local, so that it cannot collide with a real network.
        base = f"169.254.{1 + (number >> 6) % 254}."
        self.host, self.inside = base + str((number & 63) * 4 + 1), base + str((number & 63) * 4 + 2)


class Translation:
    """Address translation on the host: for root, in the host's network namespace."""

    def __init__(self, cluster: str) -> None:
        self._place = Place(cluster)

    def install(self, namespace: int, link: str) -> None:
        """Afterwards the other end of the veth pair is `link` in `namespace`, without an address. Raises OSError."""
        place, leaving = self._place, _default_link()
        route = Route()
        try:
            route.remove_link(place.link)
            cable = netlink.veth(place.link, 0, link, b"\x0a\x58" + socket.inet_aton(place.inside), namespace)
            route.create(NEW_LINK, cable)
            route.ensure(NEW_ADDRESS, netlink.address(route.index(place.link), place.host, 30))
            netfilter.send(netfilter.masquerade(place.table, leaving))
        finally:
            route.close()
        if _read(_FORWARD.format(leaving)) == "0":
            netfilter.send(netfilter.empty(f"{place.table}{_OPENED}{leaving}"))
        for name in (place.link, leaving):
            _set(_FORWARD.format(name), "1")

    def remove(self) -> None:
        """Also removes what a killed predecessor left; does nothing where nothing is left."""
        with contextlib.suppress(OSError):
            netfilter.remove(self._place.table)
        route = Route()
        try:
            with contextlib.suppress(OSError):
                route.remove_link(self._place.link)
        finally:
            route.close()
        with contextlib.suppress(OSError):
            self._restore()

    def _restore(self) -> None:
        mark = f"{self._place.table}{_OPENED}"
        heirs = [name.removeprefix(_LINK) for _, name in socket.if_nameindex() if name.startswith(_LINK)]
        for note in [name for name in netfilter.tables() if name.startswith(mark)]:
            link = note.removeprefix(mark)
            if heirs:
                netfilter.send(netfilter.empty(f"{_TABLE}{heirs[0]}{_OPENED}{link}"))
            elif _read(_FORWARD_ALL) == "0":  # otherwise the machine has enabled forwarding for all links since
                with contextlib.suppress(OSError):  # the link is gone
                    _set(_FORWARD.format(link), "0")
            netfilter.remove(note)


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


def _set(path: str, value: str) -> None:
    if _read(path) != value:  # it may be read-only and already correct
        with open(path, "w") as file:
            file.write(value)
