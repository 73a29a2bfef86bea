# SPDX-License-Identifier: Apache-2.0
"""The choice among fitting nodes: the sum of scores from 0 to 100, weighted as in kube-scheduler.

kube-scheduler breaks ties at random; here the node with fewer pods wins, then the first by name, so that the result is
deterministic.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from enum import Enum, auto
from typing import Final

from springtide.local.scheduler.filters.spreading import includes, matching
from springtide.local.scheduler.state import requirements
from springtide.local.scheduler.state.nodes import NodeState
from springtide.local.scheduler.state.pods import Pod
from springtide.local.scheduler.state.requirements import Matched, Spreading
from springtide.local.scheduler.state.snapshot import Snapshot

FULL: Final = 100
_HOSTNAME: Final = "kubernetes.io/hostname"
_COMPARED: Final = ("cpu", "memory")


class Taste(Enum):
    SPREAD = auto()
    """Emptier nodes first, as kube-scheduler does by default."""
    PACK = auto()
    """Fuller nodes first, which leaves large gaps: for members of a gang that did not fit otherwise."""


Score = Callable[[Pod, Sequence[NodeState], Snapshot], list[int] | None]
"""A score for each node, or None when it makes no difference."""


def best(pod: Pod, nodes: Sequence[NodeState], snapshot: Snapshot, taste: Taste = Taste.SPREAD) -> NodeState:
    totals = [0] * len(nodes)
    for weight, score in _SCORES:
        scored = score(pod, nodes, snapshot)
        if scored is not None:
            totals = [total + weight * value for total, value in zip(totals, scored, strict=True)]
    if taste is Taste.PACK:
        return max(zip(nodes, totals, strict=True), key=lambda each: (_fullness(pod, each[0]), each[1]))[0]
    return max(zip(nodes, totals, strict=True), key=lambda each: (each[1], -len(each[0].pods)))[0]


def _fullness(pod: Pod, state: NodeState) -> float:
    """The higher, the less of the pod's requested resources is left over."""
    left = [state.free(name) / there for name in pod.requests if (there := state.node.allocatable.get(name, 0))]
    return -sum(left)


# ------------------------------------------------------------------------------------------------------------- taints


def untainted(pod: Pod, nodes: Sequence[NodeState], _snapshot: Snapshot) -> list[int] | None:
    """Prefers nodes with fewer taints of effect PreferNoSchedule that the pod does not tolerate."""
    if not any(taint.effect == "PreferNoSchedule" for state in nodes for taint in state.node.taints):
        return None
    bad = [
        sum(taint.effect == "PreferNoSchedule" and not pod.tolerations.tolerate(taint) for taint in state.node.taints)
        for state in nodes
    ]
    most = max(bad)
    return [FULL - FULL * count // most for count in bad] if most else None


# ----------------------------------------------------------------------------------------------------- node affinity


def preferred(pod: Pod, nodes: Sequence[NodeState], _snapshot: Snapshot) -> list[int] | None:
    """Prefers nodes that match more of the preferred node affinity."""
    terms = pod.wishes.preferred_nodes
    if not terms:
        return None
    sums = [terms.weight(state.node.name, state.node.labels) for state in nodes]
    most = max(sums)
    return [FULL * each // most for each in sums] if most else None


# --------------------------------------------------------------------------------------------------------- resources


def emptier(pod: Pod, nodes: Sequence[NodeState], _snapshot: Snapshot) -> list[int]:
    """Prefers nodes with more cpu and memory left over."""
    return [_left_over(pod, state) for state in nodes]


def _left_over(pod: Pod, state: NodeState) -> int:
    scores = []
    for name in _COMPARED:
        there = state.node.allocatable.get(name, 0)
        if there:
            wanted = state.usual.get(name, 0) + pod.usual.get(name, 0)
            scores.append(0 if wanted > there else (there - wanted) * FULL // there)
    return sum(scores) // len(scores) if scores else 0


def balanced(pod: Pod, nodes: Sequence[NodeState], _snapshot: Snapshot) -> list[int] | None:
    """Prefers nodes where the pod evens out the use of cpu and of memory."""
    if not any(pod.requests.get(name) for name in _COMPARED):
        return None
    scored = []
    for state in nodes:
        after, before = _balance(state, pod), _balance(state, None)
        scored.append(FULL // 2 + _halved(FULL // 2 + after - before))
    return scored


def _halved(number: int) -> int:
    """Rounds towards zero, as Go does."""
    return int(number / 2)


def _balance(state: NodeState, pod: Pod | None) -> int:
    fractions = []
    for name in _COMPARED:
        there = state.node.allocatable.get(name, 0)
        if there:
            wanted = state.used.get(name, 0) + (pod.requests.get(name, 0) if pod else 0)
            fractions.append(min(wanted / there, 1.0))
    deviation = abs(fractions[0] - fractions[1]) / 2 if len(fractions) == 2 else 0.0
    return int((1 - deviation) * FULL)


# ---------------------------------------------------------------------------------------------------------- spreading


def spread(pod: Pod, nodes: Sequence[NodeState], snapshot: Snapshot) -> list[int] | None:
    """Prefers domains with fewer pods matching the soft spread constraints, by default fewer replicas of its owner."""
    stated = pod.wishes.stated_spread
    constraints = pod.wishes.rather_spread
    if not stated and pod.owner:
        constraints = requirements.default_spreading(pod.owner)
    if not constraints:
        return None
    ignored = [stated and not all(each.topology in state.node.labels for each in constraints) for state in nodes]
    sums = [0.0] * len(nodes)
    for constraint in constraints if not all(ignored) else ():
        counts = _domain_counts(pod, constraint, nodes, snapshot)
        size = sum(not each for each in ignored) if constraint.topology == _HOSTNAME else len(counts)
        weight = math.log(size + 2)
        for index, state in enumerate(nodes):
            value = state.node.labels.get(constraint.topology)
            if value is None or ignored[index]:
                continue
            count = matching(state, constraint, pod) if constraint.topology == _HOSTNAME else counts[value]
            sums[index] += count * weight + constraint.max_skew - 1
    return _fewest_best([_rounded(each) for each in sums], ignored)


def _domain_counts(pod: Pod, constraint: Spreading, nodes: Sequence[NodeState], snapshot: Snapshot) -> dict[str, int]:
    if constraint.topology == _HOSTNAME:
        return {}
    values = (state.node.labels.get(constraint.topology) for state in nodes)
    counts = {value: 0 for value in values if value is not None}
    for state in snapshot.nodes if counts else ():
        value = state.node.labels.get(constraint.topology)
        if value in counts and includes(constraint, pod, state.node):
            counts[value] += matching(state, constraint, pod)
    return counts


def _fewest_best(sums: list[int], ignored: list[bool]) -> list[int]:
    counted = [each for each, left_out in zip(sums, ignored, strict=True) if not left_out]
    if not counted:
        return [0] * len(sums)
    least, most = min(counted), max(0, *counted)
    return [
        0 if left_out else FULL if most == 0 else FULL * (most + least - each) // most
        for each, left_out in zip(sums, ignored, strict=True)
    ]


def _rounded(number: float) -> int:
    return math.floor(number + 0.5)


# --------------------------------------------------------------------------------------------------------- other pods


def company(pod: Pod, nodes: Sequence[NodeState], snapshot: Snapshot) -> list[int] | None:
    """Prefers nodes by preferred pod affinity and anti-affinity, of the pod and of the pods already placed."""
    wishes = pod.wishes
    if not (wishes.rather_near or wishes.rather_apart or snapshot.anybody_opinionated):
        return None
    liked: dict[tuple[str, str], int] = {}
    for state in snapshot.nodes:
        labels = state.node.labels
        for other in state.pods.values():
            for sign, matched in _opinions(pod, other, snapshot):
                # A node has few labels, terms may have many topologies.
                for topology in matched.weights if len(matched.weights) < len(labels) else labels:
                    if (value := labels.get(topology)) and (weight := matched.weights.get(topology)):
                        liked[topology, value] = liked.get((topology, value), 0) + sign * weight
    sums = [sum(liked.get(domain, 0) for domain in state.node.labels.items()) for state in nodes]
    least, most = min(sums), max(sums)
    return [FULL * (each - least) // (most - least) for each in sums] if most > least else None


def _opinions(pod: Pod, other: Pod, snapshot: Snapshot) -> Iterator[tuple[int, Matched]]:
    """What the two pods' affinity says about each other: a sign, and what matches."""
    for sign, terms, about in (
        (1, pod.wishes.rather_near, other),
        (-1, pod.wishes.rather_apart, other),
        (1, other.wishes.near, pod),
        (1, other.wishes.rather_near, pod),
        (-1, other.wishes.rather_apart, pod),
    ):
        if terms:
            yield sign, snapshot.matched(terms, about)


_SCORES: Final[tuple[tuple[int, Score], ...]] = (
    (3, untainted),
    (2, preferred),
    (1, emptier),
    (2, spread),
    (2, company),
    (1, balanced),
)
