# SPDX-License-Identifier: Apache-2.0
"""Which pod of this node has which address.

Pods with a network of their own get one of the node's /24; without, one of the node's part of 127/8. Who has which is
written in the pods' directories and told to this book at start. Addresses are given round and round, so that one just
given back is the last to be used again: others may still have connections to it or its name in their caches. 127/8
belongs to all clusters of a machine, so each begins somewhere else.
"""

from __future__ import annotations

import zlib
from ipaddress import IPv4Address, IPv4Network
from itertools import chain


class NoAddressLeft(Exception):
    """Every address of the node's range is taken."""


class Addresses:
    def __init__(self, network: IPv4Network, cluster: str = "") -> None:
        first, last = int(network.network_address), int(network.broadcast_address)
        self._range = range(first + 2, last)
        """Without the network's own address, its first, where gateways are expected, and its broadcast address."""
        self._network = network
        self._taken: dict[int, str] = {}
        self._owners: dict[str, int] = {}
        self._next = self._range[zlib.crc32(cluster.encode()) % len(self._range)] if cluster else self._range.start

    def take(self, uid: str) -> str:
        """The pod's address, now or already its own."""
        if uid not in self._owners:
            self._give(uid, self._free())
        return str(IPv4Address(self._owners[uid]))

    def keep(self, uid: str, address: str) -> None:
        """What a pod's directory says. An address outside the range (the node's changed) or another's is not kept."""
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
