# SPDX-License-Identifier: Apache-2.0
"""Nodes and the pods on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from springtide.local.scheduler.state import amounts
from springtide.local.scheduler.state.amounts import Amounts
from springtide.local.scheduler.state.pods import ANY_IP, HostPort, Pod
from springtide.local.scheduler.state.views import NodeView, Taint


@dataclass(frozen=True, slots=True)
class Node:
    """Only the fields that affect placement: a heartbeat leaves nodes equal."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    unschedulable: bool
    allocatable: Amounts


def from_view(view: NodeView) -> Node:
    metadata, spec = view.metadata, view.spec
    allocatable = amounts.read(view.status.allocatable)
    return Node(metadata.name, metadata.labels or {}, spec.taints, spec.unschedulable, allocatable)


@dataclass(slots=True)
class NodeState:
    """A node and its pods. Sums are updated as pods are added and removed, so that reading them is cheap."""

    node: Node
    pods: dict[str, Pod] = field(default_factory=dict)
    used: Amounts = field(default_factory=dict)
    usual: Amounts = field(default_factory=lambda: {"cpu": 0, "memory": 0})
    ports: dict[tuple[str, int], Counter[str]] = field(default_factory=dict)
    """How often pods have taken a port, by protocol and port, then by address."""

    @property
    def name(self) -> str:
        return self.node.name

    def add(self, pod: Pod) -> None:
        self.pods[pod.uid] = pod
        amounts.add(self.used, pod.requests)
        amounts.add(self.usual, pod.usual)
        for port in pod.ports:
            self.ports.setdefault((port.protocol, port.port), Counter())[port.ip] += 1

    def remove(self, pod: Pod) -> None:
        del self.pods[pod.uid]
        amounts.subtract(self.used, pod.requests)
        amounts.subtract(self.usual, pod.usual)
        for port in pod.ports:
            addresses = self.ports[port.protocol, port.port]
            addresses[port.ip] -= 1
            if not addresses[port.ip]:
                del addresses[port.ip]
            if not addresses:
                del self.ports[port.protocol, port.port]

    def has_taken(self, port: HostPort) -> bool:
        taken = self.ports.get((port.protocol, port.port))
        return taken is not None and (port.ip == ANY_IP or ANY_IP in taken or port.ip in taken)

    def free(self, name: str) -> int:
        return self.node.allocatable.get(name, 0) - self.used.get(name, 0)

    def replaced(self, node: Node) -> NodeState:
        """The new version of the node with the same pods on it."""
        return NodeState(node, self.pods, self.used, self.usual, self.ports)


def by_name(states: Iterable[NodeState]) -> list[NodeState]:
    return sorted(states, key=lambda state: state.node.name)
