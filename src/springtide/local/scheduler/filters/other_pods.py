# SPDX-License-Identifier: Apache-2.0
"""Required pod affinity and anti-affinity, of the pod itself and of the pods already placed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from springtide.local.scheduler.filters.refusal import Check, Refusal, never, not_now
from springtide.local.scheduler.state.nodes import NodeState
from springtide.local.scheduler.state.pods import Pod
from springtide.local.scheduler.state.requirements import Labels, PodTerm, PodTerms
from springtide.local.scheduler.state.snapshot import Snapshot

ALONE: Final = never("node(s) didn't match pod affinity rules")
CROWDED: Final = not_now("node(s) didn't match pod anti-affinity rules")
UNWELCOME: Final = not_now("node(s) didn't satisfy existing pods anti-affinity rules")

Domain = tuple[str, str]
"""A label and its value: all nodes that have it."""


def check(pod: Pod, snapshot: Snapshot) -> Check | None:
    wishes = pod.wishes
    if not (wishes.near or wishes.apart or snapshot.any_anti_affinity):
        return None
    near = _domains_with_all(wishes.near, snapshot) if wishes.near else Counter()
    crowded = _domains_with_any(wishes.apart, snapshot) if wishes.apart else set()
    unwelcome = _domains_against(pod, snapshot) if snapshot.any_anti_affinity else set()
    # The first pod of a group with affinity to itself may be placed anywhere.
    first = not near and all(_matches(term, pod, snapshot) for term in wishes.near)

    def on_node(state: NodeState) -> Refusal | None:
        labels = state.node.labels
        if wishes.near and not _satisfied(wishes.near, labels, near, first):
            return ALONE
        if crowded and any((term.topology, labels.get(term.topology)) in crowded for term in wishes.apart):
            return CROWDED
        if unwelcome and any(domain in unwelcome for domain in labels.items()):
            return UNWELCOME
        return None

    return on_node


def _matches(term: PodTerm, pod: Pod, snapshot: Snapshot) -> bool:
    namespace = pod.key.namespace
    return term.matches(namespace, pod.labels, snapshot.namespaces.get(namespace, {}))


def _satisfied(terms: PodTerms, labels: Labels, near: Counter[Domain], first: bool) -> bool:
    if not all(term.topology in labels for term in terms):
        return False
    return first or all(near[(term.topology, labels[term.topology])] > 0 for term in terms)


def _domains_with_all(terms: PodTerms, snapshot: Snapshot) -> Counter[Domain]:
    """Domains with pods that match every term at once."""
    found: Counter[Domain] = Counter()
    for state, pod in _everybody(snapshot):
        if all(_matches(term, pod, snapshot) for term in terms):
            labels = state.node.labels
            found.update((term.topology, labels[term.topology]) for term in terms if term.topology in labels)
    return found


def _domains_with_any(terms: PodTerms, snapshot: Snapshot) -> set[Domain]:
    found: set[Domain] = set()
    for state, pod in _everybody(snapshot):
        labels = state.node.labels
        found.update(
            (term.topology, labels[term.topology])
            for term in terms
            if term.topology in labels and _matches(term, pod, snapshot)
        )
    return found


def _domains_against(pod: Pod, snapshot: Snapshot) -> set[Domain]:
    """Domains with a pod whose anti-affinity rejects this pod."""
    found: set[Domain] = set()
    for state, other in _everybody(snapshot):
        labels = state.node.labels
        found.update(
            (term.topology, labels[term.topology])
            for term in other.wishes.apart
            if term.topology in labels and _matches(term, pod, snapshot)
        )
    return found


def _everybody(snapshot: Snapshot) -> Iterable[tuple[NodeState, Pod]]:
    return ((state, pod) for state in snapshot.nodes for pod in state.pods.values())
