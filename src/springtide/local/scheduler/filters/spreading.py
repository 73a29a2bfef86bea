# SPDX-License-Identifier: Apache-2.0
"""Topology spread constraints that must hold (`DoNotSchedule`)."""

from __future__ import annotations

from typing import Final

from springtide.local.scheduler.filters.refusal import Check, Refusal, never, not_now
from springtide.local.scheduler.filters.taints import keeps_off
from springtide.local.scheduler.state.nodes import Node, NodeState
from springtide.local.scheduler.state.pods import Pod
from springtide.local.scheduler.state.requirements import Spreading
from springtide.local.scheduler.state.snapshot import Snapshot

UNEVEN: Final = not_now("node(s) didn't match pod topology spread constraints")
NO_LABEL: Final = never("node(s) didn't match pod topology spread constraints (missing required label)")


def check(pod: Pod, snapshot: Snapshot) -> Check | None:
    constraints = pod.wishes.spread
    if not constraints:
        return None
    topologies = {constraint.topology for constraint in constraints}
    complete = [state for state in snapshot.nodes if all(each in state.node.labels for each in topologies)]
    counts = [_counts(pod, constraint, complete) for constraint in constraints]
    own = [int(constraint.selector.matches(pod.labels)) for constraint in constraints]

    def on_node(state: NodeState) -> Refusal | None:
        for constraint, count, self_match in zip(constraints, counts, own, strict=True):
            value = state.node.labels.get(constraint.topology)
            if value is None:
                return NO_LABEL
            least = min(count.values(), default=0) if len(count) >= constraint.min_domains else 0
            if count.get(value, 0) + self_match - least > constraint.max_skew:
                return UNEVEN
        return None

    return on_node


def _counts(pod: Pod, constraint: Spreading, nodes: list[NodeState]) -> dict[str, int]:
    """The number of matching pods in each domain that has an included node, of nodes that have all topologies."""
    counts: dict[str, int] = {}
    for state in nodes:
        if includes(constraint, pod, state.node):
            value = state.node.labels[constraint.topology]
            counts[value] = counts.get(value, 0) + matching(state, constraint, pod)
    return counts


def includes(constraint: Spreading, pod: Pod, node: Node) -> bool:
    """Whether the node is counted: nodes that the pod cannot use need not be."""
    if constraint.honors_affinity and not pod.wishes.nodes.matches(node.name, node.labels):
        return False
    return not (constraint.honors_taints and keeps_off(node, pod))


def matching(state: NodeState, constraint: Spreading, pod: Pod) -> int:
    """How many pods of a node the constraint counts. An empty selector counts none, as in kube-scheduler."""
    namespace = pod.key.namespace
    if constraint.owner:
        return sum(other.owner == constraint.owner and not other.deleting for other in state.pods.values())
    if constraint.selector.empty:
        return 0
    return sum(
        other.key.namespace == namespace and not other.deleting and constraint.selector.matches(other.labels)
        for other in state.pods.values()
    )
