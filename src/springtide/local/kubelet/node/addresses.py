# SPDX-License-Identifier: Apache-2.0
"""Allocation of addresses to the pods of this node.

Pods with a network of their own get one of the node's /24; without, one of the node's part of 127/8. Allocations are
recorded in the pods' directories and passed to `keep` at start. Addresses are allocated round-robin, so that a released
one is reused last: other pods may still have connections to it or its name in their caches. 127/8 is shared by all
clusters of a machine, so each cluster starts at a different address.
"""

from __future__ import annotations

import zlib
from ipaddress import IPv4Address, IPv4Network
from itertools import chain


class NoAddressLeft(Exception):
    """Every address of the node's range is in use."""


class Addresses:
    def __init__(self, network: IPv4Network, cluster: str = "") -> None:
        first, last = int(network.network_address), int(network.broadcast_address)
        self._range = range(first + 2, last)
        """Without the network's own address, its first, which is usually a gateway, and its broadcast address."""
        self._network = network
        self._taken: dict[int, str] = {}
        self._owners: dict[str, int] = {}
        self._next = self._range[zlib.crc32(cluster.encode()) % len(self._range)] if cluster else self._range.start

    def take(self, uid: str) -> str:
        """The pod's address, allocated if it has none yet."""
        if uid not in self._owners:
            self._give(uid, self._free())
        return str(IPv4Address(self._owners[uid]))

    def keep(self, uid: str, address: str) -> None:
        """Restore an address from a pod's directory. One outside the range (the node's changed) or in use is
        dropped."""
        number = int(IPv4Address(address))
        if number in self._range and number not in self._taken:
            self._give(uid, number)

    def release(self, uid: str) -> None:
        number = self._owners.pop(uid, None)
        if number is not None:
            del self._taken[number]

    def _give(self, uid: str, number: int) -> None:
        self._taken[number] = uid
        self._owners[uid] = number
        self._next = number + 1

    def _free(self) -> int:
        for number in chain(range(self._next, self._range.stop), self._range):
            if number not in self._taken:
                return number
        raise NoAddressLeft(f"all {len(self._range)} addresses of {self._network} are taken")


def range_of(index: int, isolation: str) -> IPv4Network:
    """The node's range: 10.244.<index>.0/24, or 127.<index>.0.0/16 where all pods share the host's network."""
    return IPv4Network(f"127.{index}.0.0/16" if isolation == "none" else f"10.244.{index}.0/24")
