# SPDX-License-Identifier: Apache-2.0
"""A pod as the scheduler sees it: its requests and constraints, parsed once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Final, NamedTuple

import msgspec

from springtide.kube.resources import Key, Obj
from springtide.local.scheduler.state import amounts, requirements
from springtide.local.scheduler.state.amounts import Amounts
from springtide.local.scheduler.state.requirements import (
    FEW,
    NO_TERMS,
    NodeTerms,
    PerNode,
    PodTerms,
    Preferences,
    Spreading,
    Subject,
    Tolerations,
)
from springtide.local.scheduler.state.views import Container, PodSpec, PodView

GROUP_ANNOTATION: Final = "scheduling.k8s.io/group-name"
GROUP_LABEL: Final = "scheduling.x-k8s.io/pod-group"
PREEMPTED: Final = "PreemptionByScheduler"
DISRUPTION_TARGET: Final = "DisruptionTarget"

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FINISHED: Final = ("Succeeded", "Failed")


class HostPort(NamedTuple):
    ip: str
    protocol: str
    port: int


ANY_IP: Final = "0.0.0.0"


class Claim(NamedTuple):
    name: str
    ephemeral: bool = False


@dataclass(frozen=True)
class NodeDemand:
    """The node selector and the required node affinity."""

    labels: tuple[tuple[str, str], ...] = ()
    terms: NodeTerms | None = None

    @cached_property
    def _results(self) -> PerNode[bool]:
        return PerNode()

    @cached_property
    def names(self) -> frozenset[str] | None:
        """The only nodes that the terms name; None if they do not name nodes."""
        names: set[str] = set()
        for term in self.terms or ():
            if term.names is None:
                return None
            names |= term.names
        return frozenset(names) if self.terms else None

    @property
    def many(self) -> bool:
        return self.terms is not None and len(self.terms) > FEW

    def matches(self, name: str, labels: Mapping[str, str]) -> bool:
        return self._results.of(name, labels, self._matches) if self.many else self._matches(name, labels)

    def _matches(self, name: str, labels: Mapping[str, str]) -> bool:
        if any(labels.get(key) != value for key, value in self.labels):
            return False
        return self.terms is None or any(term.matches(name, labels) for term in self.terms)


ANYWHERE: Final = NodeDemand()
NO_PREFERENCES: Final = Preferences()


@dataclass(frozen=True, slots=True)
class Wishes:
    """Placement constraints; pods without any share one empty instance."""

    nodes: NodeDemand = ANYWHERE
    preferred_nodes: Preferences = NO_PREFERENCES
    near: PodTerms = NO_TERMS
    apart: PodTerms = NO_TERMS
    rather_near: PodTerms = NO_TERMS
    rather_apart: PodTerms = NO_TERMS
    spread: tuple[Spreading, ...] = ()
    rather_spread: tuple[Spreading, ...] = ()
    stated_spread: bool = False
    """Whether the pod itself states spread constraints, hard or soft."""

    @property
    def many_about_pods(self) -> bool:
        return any(terms.many for terms in (self.near, self.apart, self.rather_near, self.rather_apart))

    @property
    def many_about_nodes(self) -> bool:
        return self.nodes.many or len(self.preferred_nodes) > FEW


NO_WISHES: Final = Wishes()
NO_TOLERATIONS: Final = Tolerations()


@dataclass(frozen=True, slots=True, eq=False)
class Pod:
    """Compared by identity: a changed pod is another `Pod`."""

    key: Key
    uid: str
    subject: Subject
    labels: Mapping[str, str]
    priority: int
    requests: Amounts
    usual: Amounts
    wishes: Wishes = NO_WISHES
    tolerations: Tolerations = NO_TOLERATIONS
    ports: tuple[HostPort, ...] = ()
    claims: tuple[Claim, ...] = ()
    created: datetime = EPOCH
    started: datetime | None = None
    node: str = ""
    nominated: str = ""
    scheduler: str = ""
    group: str = ""
    phase: str = "Pending"
    owner: str = ""
    may_preempt: bool = True
    gated: bool = False
    deleting: bool = False
    preempted: bool = False
    """Chosen as a victim of preemption."""

    @property
    def finished(self) -> bool:
        return self.phase in _FINISHED

    @property
    def waiting(self) -> bool:
        """Whether the pod's own state requires a node."""
        return not (self.node or self.deleting or self.gated or self.finished)

    @property
    def sociable(self) -> bool:
        """Whether the placement of other pods may decide where this one fits."""
        return bool(self.wishes.near or self.wishes.apart or self.wishes.spread)

    @property
    def reference(self) -> dict[str, str]:
        """The object reference for events."""
        about = {"apiVersion": "v1", "kind": "Pod", "uid": self.uid}
        return about | {"namespace": self.key.namespace, "name": self.key.name}


def from_view(view: PodView, wishes: Wishes | None = None) -> Pod:
    """The pod; its wishes are read from the view unless they are known."""
    metadata, spec, status = view.metadata, view.spec, view.status
    labels = metadata.labels or {}
    disruption = view.condition(DISRUPTION_TARGET)
    requests = amounts.requested(spec)
    return Pod(
        Key(metadata.namespace, metadata.name),
        metadata.uid,
        Subject(metadata.namespace, frozenset(labels.items())),
        labels,
        spec.priority,
        requests,
        requests if "cpu" in requests and "memory" in requests else amounts.usual(spec),
        wishes_of(view) if wishes is None else wishes,
        Tolerations(dict.fromkeys(spec.tolerations)) if spec.tolerations else NO_TOLERATIONS,
        _ports(spec.containers),
        _claims(view),
        metadata.creation_timestamp or EPOCH,
        status.start_time,
        spec.node_name,
        status.nominated_node_name,
        spec.scheduler_name,
        (metadata.annotations or {}).get(GROUP_ANNOTATION) or labels.get(GROUP_LABEL, ""),
        status.phase or "Pending",
        next((owner.uid for owner in metadata.owner_references if owner.controller), ""),
        may_preempt=spec.preemption_policy != "Never",
        gated=bool(spec.scheduling_gates),
        deleting=metadata.deletion_timestamp is not None,
        preempted=disruption is not None and (disruption.status, disruption.reason) == ("True", PREEMPTED),
    )


_LONG: Final = 20_000
"""Characters of constraints that are read in some ten milliseconds."""


def _constraints(spec: PodSpec) -> tuple[object, ...]:
    return (spec.affinity, spec.node_selector, spec.topology_spread_constraints)


def takes_long(view: PodView) -> bool:
    """Whether reading the constraints would block the event loop too long."""
    constraints = _constraints(view.spec)
    return any(constraints) and len(msgspec.json.encode(constraints)) > _LONG


def same_wishes(view: PodView, other: PodView) -> bool:
    """Whether two versions of a pod have the same constraints."""
    if view is other:
        return True
    same_pod = (view.metadata.namespace, view.metadata.labels) == (other.metadata.namespace, other.metadata.labels)
    return same_pod and _constraints(view.spec) == _constraints(other.spec)


def wishes_of(view: PodView) -> Wishes:
    spec, labels = view.spec, view.metadata.labels or {}
    if not (spec.affinity or spec.node_selector or spec.topology_spread_constraints):
        return NO_WISHES
    namespace = view.metadata.namespace
    affinity = spec.affinity or {}
    near, apart = affinity.get("podAffinity"), affinity.get("podAntiAffinity")
    hard = [each for each in spec.topology_spread_constraints if each.when_unsatisfiable == "DoNotSchedule"]
    soft = [each for each in spec.topology_spread_constraints if each.when_unsatisfiable == "ScheduleAnyway"]
    of_nodes = affinity.get("nodeAffinity") or {}
    return Wishes(
        _node_demand(spec.node_selector or {}, of_nodes),
        _preferred_nodes(of_nodes),
        requirements.required_terms(near, namespace),
        requirements.required_terms(apart, namespace),
        requirements.preferred_terms(near, namespace),
        requirements.preferred_terms(apart, namespace),
        tuple(requirements.spreading(each, labels) for each in hard),
        tuple(requirements.spreading(each, labels) for each in soft),
        bool(spec.topology_spread_constraints),
    )


def _node_demand(labels: Mapping[str, str], affinity: Obj) -> NodeDemand:
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    terms = None if required is None else requirements.node_terms(required.get("nodeSelectorTerms") or ())
    return NodeDemand(tuple(labels.items()), terms)


def _preferred_nodes(affinity: Obj) -> Preferences:
    preferred = affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
    parsed = ((each.get("weight", 0), requirements.node_term(each.get("preference") or {})) for each in preferred)
    return Preferences((weight, term) for weight, term in parsed if weight and term is not None)


def _ports(containers: tuple[Container, ...]) -> tuple[HostPort, ...]:
    ports = [port for container in containers for port in container.ports if port.host_port]
    return tuple(HostPort(port.host_ip or ANY_IP, port.protocol, port.host_port) for port in ports)


def _claims(view: PodView) -> tuple[Claim, ...]:
    found = []
    for volume in view.spec.volumes:
        if volume.persistent_volume_claim is not None:
            found.append(Claim(volume.persistent_volume_claim.claim_name))
        elif volume.ephemeral is not None:
            found.append(Claim(f"{view.metadata.name}-{volume.name}", ephemeral=True))
    return tuple(dict.fromkeys(found))
