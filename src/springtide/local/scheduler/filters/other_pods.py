# SPDX-License-Identifier: Apache-2.0
"""Required pod affinity and anti-affinity, of the pod itself and of the pods already placed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Final

from springtide.local.scheduler.filters.refusal import Check, Refusal, never, not_now
from springtide.local.scheduler.state.nodes import NodeState
from springtide.local.scheduler.state.pods import Pod
from springtide.local.scheduler.state.requirements import Labels, PodTerms
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
    near = _domains_with_all(wishes.near, snapshot) if wishes.near else set()
    crowded = _domains_with_any(wishes.apart, snapshot) if wishes.apart else set()
    unwelcome = _domains_against(pod, snapshot) if snapshot.any_anti_affinity else set()
    # The first pod of a group with affinity to itself may be placed anywhere.
    first = not near and bool(wishes.near) and snapshot.matched(wishes.near, pod).every

    def on_node(state: NodeState) -> Refusal | None:
        labels = state.node.labels
        if wishes.near and not _satisfied(wishes.near, labels, near, first):
            return ALONE
        if crowded and any(domain in crowded for domain in labels.items()):
            return CROWDED
        if unwelcome and any(domain in unwelcome for domain in labels.items()):
            return UNWELCOME
        return None

    return on_node


def _satisfied(terms: PodTerms, labels: Labels, near: set[Domain], first: bool) -> bool:
    if not all(topology in labels for topology in terms.topologies):
        return False
    return first or all((topology, labels[topology]) in near for topology in terms.topologies)


def _domains_with_all(terms: PodTerms, snapshot: Snapshot) -> set[Domain]:
    """Domains with pods that match every term at once."""
    found: set[Domain] = set()
    for state, pod in _everybody(snapshot):
        if snapshot.matched(terms, pod).every:
            found.update(_domains(terms.topologies, state))
    return found


def _domains_with_any(terms: PodTerms, snapshot: Snapshot) -> set[Domain]:
    found: set[Domain] = set()
    for state, pod in _everybody(snapshot):
        found.update(_domains(snapshot.matched(terms, pod).weights, state))
    return found


def _domains_against(pod: Pod, snapshot: Snapshot) -> set[Domain]:
    """Domains with a pod whose anti-affinity rejects this pod."""
    found: set[Domain] = set()
    for state, other in _everybody(snapshot):
        if other.wishes.apart:
            found.update(_domains(snapshot.matched(other.wishes.apart, pod).weights, state))
    return found


def _domains(topologies: Collection[str], state: NodeState) -> Iterator[Domain]:
    """The domains of a node for these topologies. A node has few labels, terms may have many topologies."""
    labels = state.node.labels
    if len(topologies) <= len(labels):
        return ((topology, labels[topology]) for topology in topologies if topology in labels)
    return (domain for domain in labels.items() if domain[0] in topologies)


def _everybody(snapshot: Snapshot) -> Iterable[tuple[NodeState, Pod]]:
    return ((state, pod) for state in snapshot.nodes for pod in state.pods.values())
