# SPDX-License-Identifier: Apache-2.0
"""Conditions on nodes and on other pods, parsed once: node selectors, tolerations, affinity, spreading.

An invalid condition matches nothing, as in kube-scheduler: the API server validates conditions when a pod is created,
and one invalid pod must not stop the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from springtide.kube.resources import Obj
from springtide.local.kinds import label_selectors
from springtide.local.kinds.label_selectors import Requirement, Selector
from springtide.local.scheduler.state.views import Spread, Taint, Toleration

Labels = Mapping[str, str]

_OPERATORS: Final = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!", "Gt": "gt", "Lt": "lt"}


def selector(written: Obj | None) -> Selector:
    """A label selector; an absent one selects nothing."""
    try:
        return label_selectors.from_object(written)
    except label_selectors.SelectorError:
        return label_selectors.NOTHING


# ------------------------------------------------------------------------------------------------------------- nodes


@dataclass(frozen=True, slots=True)
class NodeTerm:
    """Requirements that one node must meet together; `names` and `not_names` come from `matchFields`."""

    requirements: tuple[Requirement, ...]
    names: frozenset[str] | None = None
    not_names: frozenset[str] = frozenset()

    def matches(self, name: str, labels: Labels) -> bool:
        if self.names is not None and name not in self.names:
            return False
        if name in self.not_names:
            return False
        return all(requirement.matches(labels) for requirement in self.requirements)


NodeTerms = tuple[NodeTerm, ...]


def node_terms(written: Iterable[Obj]) -> NodeTerms:
    """Alternatives; an empty or invalid term is dropped, and so matches nothing."""
    parsed = (node_term(term) for term in written)
    return tuple(term for term in parsed if term is not None)


def node_term(written: Obj) -> NodeTerm | None:
    expressions, fields = written.get("matchExpressions") or (), written.get("matchFields") or ()
    requirements = [_requirement(expression) for expression in expressions]
    if not (expressions or fields) or None in requirements:
        return None
    names: frozenset[str] | None = None
    not_names: frozenset[str] = frozenset()
    for field in fields:
        values = frozenset(field.get("values") or ())
        if field.get("operator") == "In":
            names = values if names is None else names & values
        else:
            not_names |= values
    return NodeTerm(tuple(found for found in requirements if found is not None), names, not_names)


def _requirement(expression: Obj) -> Requirement | None:
    operator = _OPERATORS.get(expression.get("operator", ""))
    values = tuple(expression.get("values") or ())
    if operator is None or (operator in ("gt", "lt") and not _is_integer(values)):
        return None
    return Requirement(expression.get("key", ""), operator, values)


def _is_integer(values: tuple[str, ...]) -> bool:
    return len(values) == 1 and values[0].lstrip("+-").isdecimal()


# ------------------------------------------------------------------------------------------------------------ taints


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == taint.value
    return toleration.operator == "Exists"


def tolerated(tolerations: Iterable[Toleration], taint: Taint) -> bool:
    return any(tolerates(toleration, taint) for toleration in tolerations)


# -------------------------------------------------------------------------------------------------------- other pods


@dataclass(frozen=True, slots=True)
class PodTerm:
    """Which other pods, and in which domain: nodes with the same value of the label `topology`."""

    topology: str
    selector: Selector
    namespaces: frozenset[str]
    namespace_selector: Selector
    weight: int = 0

    def matches(self, namespace: str, labels: Labels, namespace_labels: Labels) -> bool:
        inside = namespace in self.namespaces or self.namespace_selector.matches(namespace_labels)
        return inside and self.selector.matches(labels)


PodTerms = tuple[PodTerm, ...]


def required_terms(affinity: Obj | None, namespace: str, labels: Labels) -> PodTerms:
    written = (affinity or {}).get("requiredDuringSchedulingIgnoredDuringExecution") or ()
    return tuple(_pod_term(term, namespace, labels) for term in written)


def preferred_terms(affinity: Obj | None, namespace: str, labels: Labels) -> PodTerms:
    written = (affinity or {}).get("preferredDuringSchedulingIgnoredDuringExecution") or ()
    return tuple(
        _pod_term(preference["podAffinityTerm"], namespace, labels, preference.get("weight", 0))
        for preference in written
    )


def _pod_term(written: Obj, namespace: str, labels: Labels, weight: int = 0) -> PodTerm:
    # The API server merges matchLabelKeys into the selector when the pod is created.
    namespaces = frozenset(written.get("namespaces") or ())
    in_namespaces = written.get("namespaceSelector")
    if not namespaces and in_namespaces is None:
        namespaces = frozenset((namespace,))
    return PodTerm(
        written["topologyKey"], selector(written.get("labelSelector")), namespaces, selector(in_namespaces), weight
    )


@dataclass(frozen=True, slots=True)
class Spreading:
    """One topology spread constraint."""

    topology: str
    max_skew: int
    selector: Selector
    min_domains: int = 1
    honors_affinity: bool = True
    honors_taints: bool = False
    owner: str = ""
    """Selects the replicas of this controller in place of the selector: the default for pods without constraints."""


def spreading(constraint: Spread, labels: Labels) -> Spreading:
    chosen = selector(constraint.label_selector)
    keys = [key for key in constraint.match_label_keys if key in labels]
    if keys and not chosen.nothing:
        more = tuple(Requirement(key, "=", (labels[key],)) for key in keys)
        chosen = Selector(chosen.requirements + more)
    return Spreading(
        constraint.topology_key,
        constraint.max_skew,
        chosen,
        constraint.min_domains,
        constraint.node_affinity_policy == "Honor",
        constraint.node_taints_policy == "Honor",
    )


@lru_cache(maxsize=1024)
def default_spreading(owner: str) -> tuple[Spreading, ...]:
    """Spreads the replicas of one controller, as a soft constraint."""
    nothing = label_selectors.NOTHING
    return (
        Spreading("kubernetes.io/hostname", 3, nothing, owner=owner),
        Spreading("topology.kubernetes.io/zone", 5, nothing, owner=owner),
    )
