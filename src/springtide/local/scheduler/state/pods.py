# SPDX-License-Identifier: Apache-2.0
"""A pod as the scheduler sees it: its requests and constraints, parsed once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, NamedTuple

from springtide.kube.resources import Key, Obj
from springtide.local.scheduler.state import amounts, requirements
from springtide.local.scheduler.state.amounts import Amounts
from springtide.local.scheduler.state.requirements import NodeTerm, NodeTerms, PodTerms, Spreading
from springtide.local.scheduler.state.views import Container, PodView, Toleration

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

    def clashes(self, other: HostPort) -> bool:
        same = (self.protocol, self.port) == (other.protocol, other.port)
        return same and (self.ip == other.ip or "0.0.0.0" in (self.ip, other.ip))


class Claim(NamedTuple):
    name: str
    ephemeral: bool = False


@dataclass(frozen=True, slots=True)
class NodeDemand:
    """The node selector and the required node affinity."""

    labels: tuple[tuple[str, str], ...] = ()
    terms: NodeTerms | None = None

    def matches(self, name: str, labels: Mapping[str, str]) -> bool:
        if any(labels.get(key) != value for key, value in self.labels):
            return False
        return self.terms is None or any(term.matches(name, labels) for term in self.terms)


ANYWHERE: Final = NodeDemand()


@dataclass(frozen=True, slots=True)
class Wishes:
    """Placement constraints; pods without any share one empty instance."""

    nodes: NodeDemand = ANYWHERE
    preferred_nodes: tuple[tuple[int, NodeTerm], ...] = ()
    near: PodTerms = ()
    apart: PodTerms = ()
    rather_near: PodTerms = ()
    rather_apart: PodTerms = ()
    spread: tuple[Spreading, ...] = ()
    rather_spread: tuple[Spreading, ...] = ()
    stated_spread: bool = False
    """Whether the pod itself states spread constraints, hard or soft."""


NO_WISHES: Final = Wishes()


@dataclass(frozen=True, slots=True, eq=False)
class Pod:
    """Compared by identity: a changed pod is another `Pod`."""

    key: Key
    uid: str
    labels: Mapping[str, str]
    priority: int
    requests: Amounts
    usual: Amounts
    wishes: Wishes = NO_WISHES
    tolerations: tuple[Toleration, ...] = ()
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


def from_view(view: PodView) -> Pod:
    metadata, spec, status = view.metadata, view.spec, view.status
    labels = metadata.labels or {}
    disruption = view.condition(DISRUPTION_TARGET)
    requests = amounts.requested(spec)
    return Pod(
        Key(metadata.namespace, metadata.name),
        metadata.uid,
        labels,
        spec.priority,
        requests,
        requests if "cpu" in requests and "memory" in requests else amounts.usual(spec),
        _wishes(view, labels),
        spec.tolerations,
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


def _wishes(view: PodView, labels: Mapping[str, str]) -> Wishes:
    spec = view.spec
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
        requirements.required_terms(near, namespace, labels),
        requirements.required_terms(apart, namespace, labels),
        requirements.preferred_terms(near, namespace, labels),
        requirements.preferred_terms(apart, namespace, labels),
        tuple(requirements.spreading(each, labels) for each in hard),
        tuple(requirements.spreading(each, labels) for each in soft),
        bool(spec.topology_spread_constraints),
    )


def _node_demand(labels: Mapping[str, str], affinity: Obj) -> NodeDemand:
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    terms = None if required is None else requirements.node_terms(required.get("nodeSelectorTerms") or ())
    return NodeDemand(tuple(labels.items()), terms)


def _preferred_nodes(affinity: Obj) -> tuple[tuple[int, NodeTerm], ...]:
    preferred = affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
    parsed = ((each.get("weight", 0), requirements.node_term(each.get("preference") or {})) for each in preferred)
    return tuple((weight, term) for weight, term in parsed if weight and term is not None)


def _ports(containers: tuple[Container, ...]) -> tuple[HostPort, ...]:
    ports = [port for container in containers for port in container.ports if port.host_port]
    return tuple(HostPort(port.host_ip or "0.0.0.0", port.protocol, port.host_port) for port in ports)


def _claims(view: PodView) -> tuple[Claim, ...]:
    found = []
    for volume in view.spec.volumes:
        if volume.persistent_volume_claim is not None:
            found.append(Claim(volume.persistent_volume_claim.claim_name))
        elif volume.ephemeral is not None:
            found.append(Claim(f"{view.metadata.name}-{volume.name}", ephemeral=True))
    return tuple(found)
