# SPDX-License-Identifier: Apache-2.0
"""The choice of a service's endpoint for a connection. Pure: time is a parameter. Standard library only."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    Target = tuple[str, int]
    ServicePort = tuple[str, int, str]

_MOST_CLIENTS = 10_000


class Backends:
    """The targets of one service port: round-robin, or by client where the service has session affinity."""

    def __init__(self, targets: Sequence[Target] = (), affinity: int = 0) -> None:
        self.targets, self._affinity = tuple(targets), affinity
        self._turn = 0
        self._clients: dict[str, tuple[Target, float]] = {}

    def update(self, targets: Sequence[Target], affinity: int) -> None:
        self.targets, self._affinity = tuple(targets), affinity
        if not affinity:
            self._clients.clear()

    def order(self, client: str, now: float) -> list[Target]:
        """All targets, the one to try first in front."""
        if not self.targets:
            return []
        start = self._turn % len(self.targets)
        self._turn += 1
        order = [*self.targets[start:], *self.targets[:start]]
        if self._affinity:
            order = self._stay(client, order, now)
        return order

    def used(self, client: str, target: Target, now: float) -> None:
        """Records the target that accepted the connection: with affinity, the client keeps it."""
        if not self._affinity:
            return
        if len(self._clients) >= _MOST_CLIENTS:
            self._clients = {name: seen for name, seen in self._clients.items() if now - seen[1] < self._affinity}
        self._clients[client] = target, now

    def _stay(self, client: str, order: list[Target], now: float) -> list[Target]:
        target, seen = self._clients.get(client, (None, 0.0))
        if target is None or target not in order or now - seen >= self._affinity:
            return order
        return [target, *(other for other in order if other != target)]


def service_ports(table: dict[str, Any]) -> dict[ServicePort, tuple[tuple[Target, ...], int]]:
    """Every (address, port, protocol) with endpoints, with its targets and affinity.

    Without endpoints there is no listener, and the kernel refuses connections itself.
    """
    found: dict[ServicePort, tuple[tuple[Target, ...], int]] = {}
    for service in table.get("services", ()):
        for port in service["ports"]:
            targets = tuple((str(address), int(number)) for address, number in port["targets"])
            if service["address"] and targets and port["protocol"] in ("TCP", "UDP"):
                service_port = service["address"], int(port["port"]), port["protocol"]
                found[service_port] = targets, int(service["affinity"])
    return found
