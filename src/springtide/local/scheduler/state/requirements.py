# SPDX-License-Identifier: Apache-2.0
"""Conditions on nodes and on other pods, parsed once: node selectors, tolerations, affinity, spreading.

An invalid condition matches nothing, as in kube-scheduler: the API server validates conditions when a pod is created,
and one invalid pod must not stop the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Final, Generic, TypeVar

from springtide.kube.resources import Obj
from springtide.local.kinds import label_selectors
from springtide.local.kinds.label_selectors import Requirement, Selector
from springtide.local.scheduler.state.views import Spread, Taint, Toleration

Labels = Mapping[str, str]
T = TypeVar("T")

FEW: Final = 8
"""Up to here, evaluating conditions takes no longer than remembering the results."""
_MOST_REMEMBERED: Final = 4096

_OPERATORS: Final = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!", "Gt": "gt", "Lt": "lt"}


def selector(written: Obj | None) -> Selector:
    """A label selector; an absent one selects nothing."""
    try:
        return label_selectors.from_object(written).prepare()
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
    return tuple(dict.fromkeys(term for term in parsed if term is not None))


class PerNode(Generic[T]):
    """Results of a costly evaluation of a node's name and labels, one for each node."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[str, tuple[Labels, T]] = {}

    def of(self, name: str, labels: Labels, evaluate: Callable[[str, Labels], T]) -> T:
        known = self._known.get(name)
        if known is not None and known[0] is labels:
            return known[1]
        found = evaluate(name, labels)
        if len(self._known) >= _MOST_REMEMBERED:
            self._known.clear()
        self._known[name] = (labels, found)
        return found


class Preferences(tuple[tuple[int, NodeTerm], ...]):
    """Weighted node terms."""

    @cached_property
    def _sums(self) -> PerNode[int]:
        return PerNode()

    def weight(self, name: str, labels: Labels) -> int:
        """The sum of the weights that a node gets."""
        return self._sums.of(name, labels, self._weight) if len(self) > FEW else self._weight(name, labels)

    def _weight(self, name: str, labels: Labels) -> int:
        return sum(weight for weight, term in self if term.matches(name, labels))


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


class Tolerations(tuple[Toleration, ...]):
    """A pod's tolerations, found by what they tolerate: a pod may have tens of thousands."""

    @cached_property
    def _index(self) -> frozenset[tuple[str, str, str | None]]:
        """Key, effect and value; an empty key or effect stands for all, the value None for all values."""
        found: set[tuple[str, str, str | None]] = set()
        for each in self:
            if each.operator in ("", "Equal"):
                found.add((each.key, each.effect, each.value))
            elif each.operator == "Exists":
                found.add((each.key, each.effect, None))
        return frozenset(found)

    def tolerate(self, taint: Taint) -> bool:
        return bool(self) and any(
            (key, effect, value) in self._index
            for key in (taint.key, "")
            for effect in (taint.effect, "")
            for value in (taint.value, None)
        )


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


@dataclass(frozen=True, slots=True)
class Subject:
    """What terms about other pods see of a pod. Pods with the same labels are equal."""

    namespace: str
    labels: frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Matched:
    """The terms that match one pod."""

    every: bool
    """Whether all terms do."""
    weights: Mapping[str, int]
    """For each topology of a matching term, the sum of the weights."""


class PodTerms(tuple[PodTerm, ...]):
    """Terms without repetitions.

    A pod may have tens of thousands, and they are evaluated against every other pod at every attempt to place any of
    them. The result for a pod is therefore remembered, for as long as its labels and those of its namespace last.
    """

    @classmethod
    def of(cls, terms: Iterable[PodTerm]) -> PodTerms:
        weights: dict[PodTerm, int] = {}
        for term in terms:
            plain = replace(term, weight=0)
            weights[plain] = weights.get(plain, 0) + term.weight
        return cls(replace(term, weight=weight) for term, weight in weights.items())

    @cached_property
    def topologies(self) -> frozenset[str]:
        return frozenset(term.topology for term in self)

    @cached_property
    def _known(self) -> dict[Subject, tuple[Labels, Matched]]:
        return {}

    @property
    def many(self) -> bool:
        return len(self) > FEW

    def matched(self, subject: Subject, labels: Labels, namespace_labels: Labels) -> Matched:
        """The terms that match a pod with these labels, which are also those of the `subject`."""
        if not self.many:
            return self._evaluate(subject.namespace, labels, namespace_labels)
        known = self._known.get(subject)
        if known is not None and known[0] is namespace_labels:
            return known[1]
        found = self._evaluate(subject.namespace, labels, namespace_labels)
        if len(self._known) >= _MOST_REMEMBERED:
            self._known.clear()
        self._known[subject] = (namespace_labels, found)
        return found

    def _evaluate(self, namespace: str, labels: Labels, namespace_labels: Labels) -> Matched:
        weights: dict[str, int] = {}
        count = 0
        for term in self:
            if term.matches(namespace, labels, namespace_labels):
                count += 1
                weights[term.topology] = weights.get(term.topology, 0) + term.weight
        return Matched(count == len(self), weights)


NO_TERMS: Final = PodTerms()
REQUIRED: Final = 1
"""The weight of a required term where terms are preferences: for pods that other pods want to be near."""


def required_terms(affinity: Obj | None, namespace: str) -> PodTerms:
    written = (affinity or {}).get("requiredDuringSchedulingIgnoredDuringExecution") or ()
    return PodTerms.of(_pod_term(term, namespace, REQUIRED) for term in written) if written else NO_TERMS


def preferred_terms(affinity: Obj | None, namespace: str) -> PodTerms:
    written = (affinity or {}).get("preferredDuringSchedulingIgnoredDuringExecution") or ()
    terms = (_pod_term(each["podAffinityTerm"], namespace, each.get("weight", 0)) for each in written)
    return PodTerms.of(terms) if written else NO_TERMS


def _pod_term(written: Obj, namespace: str, weight: int) -> PodTerm:
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
        chosen = Selector(chosen.requirements + more).prepare()
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
