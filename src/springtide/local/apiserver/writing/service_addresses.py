# SPDX-License-Identifier: Apache-2.0
"""Allocation of cluster addresses and node ports when a service is written.

Addresses in use are read from the stored services each time: there are few, and no second record can become
inconsistent. An address or port given to a write that has not reached the store yet is reserved for a short while only:
it must be free again when that write was rejected, or its service deleted.
"""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Callable, Iterator
from typing import Any

from springtide.api import field_errors as field
from springtide.local import status
from springtide.local.apiserver.encoding.objects import decode
from springtide.local.kinds.basic.services import validate_before_allocation
from springtide.local.kinds.strategy import Obj
from springtide.local.store.backend import Store

Clock = Callable[[], float]
NODE_PORTS = range(30000, 32768)
_PROMISE = 2.0
"""Seconds that a write may take to reach the store."""


class ServiceAddresses:
    def __init__(self, store: Store, network: str, pick: Callable[[int], int], clock: Clock = time.monotonic) -> None:
        """`pick(n)` returns a number below n; addresses are spread so that a new service rarely reuses an old one."""
        self._store, self._pick, self._clock = store, pick, clock
        self._network = ipaddress.ip_network(network)
        self._promised: dict[str | int, tuple[str, float]] = {}
        """Address or node port -> the service it is reserved for, and until when."""

    def complete(self, service: Obj, old: Obj | None) -> None:
        spec = service.get("spec") or {}
        if spec.get("type") == "ExternalName":
            for gone in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"):
                spec.pop(gone, None)
            return
        if self._promised:
            self._taken()  # drops reservations of stored services, so that a deletion frees the address
        before = (old or {}).get("spec") or {}
        if old is None and (errors := field.collected(validate_before_allocation, service)):
            raise status.invalid("", "Service", service["metadata"].get("name", ""), errors)
        self._address(service, spec, before)
        spec.setdefault("ipFamilies", ["IPv4"])
        spec.setdefault("ipFamilyPolicy", "SingleStack")
        if spec.get("type") in ("NodePort", "LoadBalancer"):
            self._node_ports(service, spec, before)

    def _address(self, service: Obj, spec: Obj, before: Obj) -> None:
        if not spec.get("clusterIP") and spec.get("clusterIPs"):
            spec["clusterIP"] = spec["clusterIPs"][0]
        if not spec.get("clusterIP"):
            spec["clusterIP"] = before.get("clusterIP") or self._free_address(service)
        elif spec["clusterIP"] != "None" and spec["clusterIP"] != before.get("clusterIP"):
            self._claim(service, spec["clusterIP"])
        spec["clusterIPs"] = [spec["clusterIP"]]

    def _claim(self, service: Obj, address: str) -> None:
        try:
            inside = ipaddress.ip_address(address) in self._network
        except ValueError:
            return  # validation has the better message
        if not inside:
            why = (
                f"failed to allocate IP {address}: the provided IP ({address}) is not in the valid range. "
                f"The range of valid IPs is {self._network}"
            )
            raise _invalid(service, "spec.clusterIPs", [address], why)
        self._take_back(address, service)
        if address in self._taken():
            raise _invalid(
                service,
                "spec.clusterIPs",
                [address],
                f"failed to allocate IP {address}: provided IP is already allocated",
            )
        self._promise(address, service)

    def _free_address(self, service: Obj) -> str:
        taken = self._taken()
        size = self._network.num_addresses - 2
        start = self._pick(size)
        for step in range(size):
            address = str(self._network[1 + (start + step) % size])
            if address not in taken:
                self._promise(address, service)
                return address
        raise status.internal("failed to allocate a serviceIP: range is full")

    def _node_ports(self, service: Obj, spec: Obj, before: Obj) -> None:
        own = set(_ports(spec))
        for wanted in own:
            self._take_back(wanted, service)
        taken = self._taken()
        self._check_ports(service, spec, before, taken)
        unfree = taken | own
        by_port = {port["port"]: port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")}
        for port in spec.get("ports") or ():
            if not port.get("nodePort") and port["port"] in by_port:
                port["nodePort"] = by_port[port["port"]]  # the same port with another protocol
            elif not port.get("nodePort"):
                start = self._pick(len(NODE_PORTS))
                port["nodePort"] = _free_port(start, unfree)
                own.add(port["nodePort"])
                unfree.add(port["nodePort"])
                by_port[port["port"]] = port["nodePort"]
        for given in own - set(_ports(before)):
            self._promise(given, service)

    def _check_ports(self, service: Obj, spec: Obj, before: Obj, taken: set[str | int]) -> None:
        others = taken - set(_ports(before))
        for index, port in enumerate(spec.get("ports") or ()):
            wanted = port.get("nodePort")
            if wanted in others:
                raise _invalid(service, f"spec.ports[{index}].nodePort", wanted, "provided port is already allocated")

    def _taken(self) -> set[str | int]:
        """Addresses and node ports in use."""
        stored: set[str | int] = set()
        for spec in self._specs():
            stored.update((spec.get("clusterIP", ""), *_ports(spec)))
        now = self._clock()
        self._promised = {
            thing: promise for thing, promise in self._promised.items() if promise[1] > now and thing not in stored
        }
        return stored | self._promised.keys()

    def _specs(self) -> Iterator[Obj]:
        for record in self._store.list("services"):
            yield decode(record.body).get("spec") or {}

    def _promise(self, thing: str | int, service: Obj) -> None:
        self._promised[thing] = (_name(service), self._clock() + _PROMISE)

    def _take_back(self, thing: str | int, service: Obj) -> None:
        """Release the service's own reservation: it may ask again after a rejected write or a deletion."""
        if self._promised.get(thing, ("", 0.0))[0] == _name(service):
            del self._promised[thing]


def _free_port(start: int, unfree: set[str | int]) -> int:
    for step in range(len(NODE_PORTS)):
        candidate = NODE_PORTS[(start + step) % len(NODE_PORTS)]
        if candidate not in unfree:
            return candidate
    raise status.internal("failed to allocate a nodePort: range is full")


def _name(service: Obj) -> str:
    meta = service["metadata"]
    return f"{meta.get('namespace', '')}/{meta.get('name', '')}"


def _ports(spec: Obj) -> Iterator[int]:
    return (port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort"))


def _invalid(service: Obj, path: str, value: Any, why: str) -> status.StatusError:
    return status.invalid("", "Service", service["metadata"].get("name", ""), [field.invalid(path, value, why)])
