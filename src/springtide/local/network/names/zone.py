# SPDX-License-Identifier: Apache-2.0
"""The names inside the cluster, built from netd's table; the answers that CoreDNS would give.

    web.default.svc.cluster.local                   a service: its address, or those of its endpoints
    worker-0.web.default.svc.cluster.local          an endpoint by hostname, or by address as 10-244-1-5
    _http._tcp.web.default.svc.cluster.local        a named port (SRV)
    10-244-1-5.default.pod.cluster.local            a pod by its address
    5.1.244.10.in-addr.arpa                         a reverse lookup (PTR)

All answers are built when a table arrives; a lookup is a dictionary access. Pure: of `socket` only the functions that
turn addresses into bytes are used. Standard library only.
"""

from __future__ import annotations

import socket
import struct

from springtide.local.network.names.dns import ANY, CNAME, NO_NAME, OK, PTR, SOA, SRV, A, Record, encode_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

DOMAIN = "cluster.local"
SECONDS = 5
_REVERSED = ("244.10.in-addr.arpa", "96.10.in-addr.arpa")


class Found:
    """An answer: its code and records; `elsewhere` is an external name that must be resolved upstream."""

    __slots__ = ("code", "elsewhere", "records")

    def __init__(self, code: int, records: list[Record], elsewhere: str = "") -> None:
        self.code, self.records, self.elsewhere = code, records, elsewhere


class Zone:
    def __init__(self, table: dict[str, Any]) -> None:
        self._names: dict[str, dict[int, list[bytes]]] = {}
        for empty in (DOMAIN, f"svc.{DOMAIN}", f"pod.{DOMAIN}", *_REVERSED):
            self._names[empty] = {}
        for service in table.get("services", ()):
            self._add_service(service)
        self.authority = Record(DOMAIN, SOA, SECONDS, _authority())

    def owns(self, name: str) -> bool:
        return any(name == domain or name.endswith(f".{domain}") for domain in (DOMAIN, *_REVERSED))

    def find(self, name: str, kind: int, turn: int = 0) -> Found:
        """Looks up a name of the zone. `turn` rotates the order of several records."""
        known = self._names.get(name)
        if known is None:
            known = _pod_by_address(name)
        if known is None:
            return Found(NO_NAME, [])
        alias = known.get(CNAME)
        if alias and kind != CNAME:
            return self._follow(name, alias[0], kind, turn)
        kinds = known if kind == ANY else (kind,)
        return Found(OK, [Record(name, one, SECONDS, data) for one in kinds for data in _turned(known.get(one), turn)])

    def _follow(self, name: str, target: bytes, kind: int, turn: int) -> Found:
        alias = Record(name, CNAME, SECONDS, target)
        other = _decoded(target)
        if not self.owns(other):
            return Found(OK, [alias], other)
        if CNAME in self._names.get(other, {}):
            return Found(OK, [alias])  # an alias of an alias could form a loop
        found = self.find(other, kind, turn)
        return Found(found.code, [alias, *found.records], found.elsewhere)

    # Building

    def _add(self, name: str, kind: int, data: bytes) -> None:
        records = self._names.setdefault(name.lower(), {}).setdefault(kind, [])
        if data not in records:
            records.append(data)

    def _add_service(self, service: dict[str, Any]) -> None:
        space = f"{service['namespace']}.svc.{DOMAIN}"
        self._names.setdefault(space, {})
        name = f"{service['name']}.{space}"
        if service["external"]:
            self._add(name, CNAME, encode_name(service["external"].rstrip(".").lower()))
            return
        if service["address"]:
            self._add_clustered(name, service)
        for endpoint in service["endpoints"]:
            self._add_endpoint(name, endpoint, headless=not service["address"])

    def _add_clustered(self, name: str, service: dict[str, Any]) -> None:
        self._add(name, A, socket.inet_aton(service["address"]))
        self._add(_reverse(service["address"]), PTR, encode_name(name))
        for port in service["ports"]:
            self._add_port(name, (port["name"], port["protocol"], port["port"]), name)

    def _add_endpoint(self, name: str, endpoint: dict[str, Any], headless: bool) -> None:
        address = endpoint["address"]
        own = f"{endpoint['hostname'] or address.replace('.', '-')}.{name}"
        self._add(own, A, socket.inet_aton(address))
        self._add(_reverse(address), PTR, encode_name(own))
        if headless:
            self._add(name, A, socket.inet_aton(address))
            for port in endpoint["ports"]:
                self._add_port(name, port, own)

    def _add_port(self, name: str, port: Any, target: str) -> None:
        label, protocol, number = port
        data = struct.pack("!HHH", 0, 100, number) + encode_name(target)
        self._add(name, SRV, data)
        if label:
            self._names.setdefault(f"_{protocol}.{name}".lower(), {})
            self._add(f"_{label}._{protocol}.{name}", SRV, data)


def _turned(records: list[bytes] | None, turn: int) -> Iterator[bytes]:
    count = len(records or ())
    for place in range(count):
        yield (records or ())[(place + turn) % count]


def _reverse(address: str) -> str:
    return ".".join(reversed(address.split("."))) + ".in-addr.arpa"


def _pod_by_address(name: str) -> dict[int, list[bytes]] | None:
    """Such a name contains its own answer."""
    label, _, rest = name.partition(".")
    space, _, domain = rest.partition(".")
    if domain != f"pod.{DOMAIN}" or not space:
        return None
    try:
        return {A: [socket.inet_pton(socket.AF_INET, label.replace("-", "."))]}
    except OSError:
        return None


def _decoded(raw: bytes) -> str:
    labels = []
    at = 0
    while length := raw[at]:
        labels.append(raw[at + 1 : at + 1 + length].decode())
        at += 1 + length
    return ".".join(labels)


def _authority() -> bytes:
    """The SOA record: limits how long clients cache that a name does not exist."""
    numbers = struct.pack("!IIIII", 1, 7200, 1800, 86400, SECONDS)
    return encode_name(f"ns.dns.{DOMAIN}") + encode_name(f"hostmaster.{DOMAIN}") + numbers
