# SPDX-License-Identifier: Apache-2.0
"""The cluster at one moment, as placement sees it: nodes, the pods on them, and promised nodes.

The scheduler keeps one snapshot up to date. Hypothetical changes are tried and undone:

    with snapshot.trying():
        snapshot.remove(victim)
        ...                         # everything done in here is undone at the end
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from springtide.kube.resources import Key
from springtide.local.scheduler.state.long_selectors import LongSelectors
from springtide.local.scheduler.state.nodes import Node, NodeState, by_name
from springtide.local.scheduler.state.pods import Pod
from springtide.local.scheduler.state.requirements import Labels, Matched, PodTerms
from springtide.local.scheduler.state.storage import Storage
from springtide.local.scheduler.state.views import BudgetView

_NO_LABELS: Final[Labels] = {}


@dataclass(frozen=True, slots=True)
class _Step:
    pod: Pod
    node: str
    added: bool


@dataclass(slots=True)
class Snapshot:
    strict_resources: bool = False
    storage: Storage = field(default_factory=Storage)
    budgets: dict[Key, BudgetView] = field(default_factory=dict)
    budget_selectors: LongSelectors = field(default_factory=LongSelectors)
    namespaces: dict[str, Labels] = field(default_factory=dict)
    _nodes: dict[str, NodeState] = field(default_factory=dict)
    _where: dict[str, str] = field(default_factory=dict)
    _homeless: dict[str, dict[str, Pod]] = field(default_factory=dict)
    """Pods on nodes that do not exist yet or no longer exist."""
    _promised: dict[str, dict[str, Pod]] = field(default_factory=dict)
    _sorted: list[NodeState] | None = None
    _apart: int = 0
    _opinionated: int = 0
    _many_terms: dict[str, Pod] = field(default_factory=dict)
    _steps: list[_Step] | None = None

    # Nodes

    @property
    def nodes(self) -> list[NodeState]:
        """Sorted by name."""
        if self._sorted is None:
            self._sorted = by_name(self._nodes.values())
        return self._sorted

    def node(self, name: str) -> NodeState | None:
        return self._nodes.get(name)

    def put_node(self, node: Node) -> bool:
        """Adds or updates a node; True if the change may affect any pod."""
        known = self._nodes.get(node.name)
        if known is not None and known.node == node:
            return False
        state = NodeState(node) if known is None else known.replaced(node)
        if known is None:
            for pod in self._homeless.pop(node.name, {}).values():
                state.add(pod)
        self._nodes[node.name] = state
        self._sorted = None
        return True

    def drop_node(self, name: str) -> None:
        state = self._nodes.pop(name, None)
        if state is not None:
            self._homeless[name] = dict(state.pods)
            self._sorted = None

    # Pods on nodes

    def add(self, pod: Pod, node: str) -> None:
        state = self._nodes.get(node)
        if state is None:
            self._homeless.setdefault(node, {})[pod.uid] = pod
        else:
            state.add(pod)
        self._where[pod.uid] = node
        self._count(pod, 1)
        if self._steps is not None:
            self._steps.append(_Step(pod, node, added=True))

    def remove(self, pod: Pod) -> None:
        """Removes a pod from its node; the pod must be on it in this very version."""
        node = self._where.pop(pod.uid)
        state = self._nodes.get(node)
        if state is None:
            del self._homeless[node][pod.uid]
        else:
            state.remove(pod)
        self._count(pod, -1)
        if self._steps is not None:
            self._steps.append(_Step(pod, node, added=False))

    def where(self, uid: str) -> str:
        """The node a pod is on, or ""."""
        return self._where.get(uid, "")

    @property
    def any_anti_affinity(self) -> bool:
        """Whether any placed pod has required anti-affinity; if not, that check is skipped."""
        return self._apart > 0

    @property
    def anybody_opinionated(self) -> bool:
        """Whether any placed pod has affinity or preferences about other pods."""
        return self._opinionated > 0

    def _count(self, pod: Pod, by: int) -> None:
        wishes = pod.wishes
        self._apart += by * bool(wishes.apart)
        self._opinionated += by * bool(wishes.near or wishes.rather_near or wishes.rather_apart)
        if wishes.many_about_pods:
            if by > 0:
                self._many_terms[pod.uid] = pod
            else:
                self._many_terms.pop(pod.uid, None)

    def matched(self, terms: PodTerms, pod: Pod) -> Matched:
        """Which of the terms match a pod."""
        labels = self.namespaces.get(pod.key.namespace, _NO_LABELS)
        return terms.matched(pod.subject, pod.labels, labels)

    @property
    def with_many_terms(self) -> list[Pod]:
        """The placed pods with many terms about other pods."""
        return list(self._many_terms.values())

    @property
    def pods(self) -> list[Pod]:
        """The pods on nodes, and those that nodes are promised to."""
        placed = [pod for state in self._nodes.values() for pod in state.pods.values()]
        return placed + [pod for promised in self._promised.values() for pod in promised.values()]

    # Promises: nodes where victims make room for a pod

    def promise(self, pod: Pod, node: str) -> None:
        self._promised.setdefault(node, {})[pod.uid] = pod

    def release(self, uid: str) -> None:
        for node, pods in list(self._promised.items()):
            if pods.pop(uid, None) is not None and not pods:
                del self._promised[node]

    def promised(self, node: str, pod: Pod) -> list[Pod]:
        """The other pods of no lower priority that the node is promised to."""
        pods = self._promised.get(node)
        if not pods:
            return []
        return [other for other in pods.values() if other.uid != pod.uid and other.priority >= pod.priority]

    # Trying

    @contextmanager
    def trying(self) -> Iterator[None]:
        outer, self._steps = self._steps, []
        try:
            yield
        finally:
            steps, self._steps = self._steps, None
            for step in reversed(steps):
                if step.added:
                    self.remove(step.pod)
                else:
                    self.add(step.pod, step.node)
            self._steps = outer
