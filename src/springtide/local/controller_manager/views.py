# SPDX-License-Identifier: Apache-2.0
"""Pods as the controllers cache them: only the fields that some controller reads.

Every controller gets pods by `pods(informers)`, so that all share one cache of one type; 5,000 whole pods would cost
tens of megabytes. A controller that needs another field adds it here. The predicates are those of
kube-controller-manager. Nothing here does I/O.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from datetime import datetime, timedelta

import msgspec

from springtide.kube.informer import Informer, Informers
from springtide.kube.resources import PODS, Key, Obj, Resource
from springtide.local.controller_manager.selection.label_postings import postings

BY_CONTROLLER = "controller uid"
"""Index of pods by the uid of the owner that manages them."""
BY_LABEL = "label"
"""Index of pods for `label_postings`."""
UNMANAGED = "label, unmanaged"
"""The same for pods without a managing owner: those that a controller may adopt."""
BY_NODE = "node name"
"""Index of pods by the node that they are bound to; empty for unbound pods."""


Amounts = dict[str, str | int | float]
"""Quantities by resource name, as they were written."""


class View(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Never part of a reference cycle, so Python's garbage collector need not track thousands of them."""


class OwnerView(View, frozen=True):
    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False

    @property
    def group(self) -> str:
        group, slash, _ = self.api_version.rpartition("/")
        return group if slash else ""

    def is_one_of(self, resource: Resource) -> bool:
        return self.kind == resource.kind and self.group == resource.group


class Annotations(View, frozen=True):
    """The annotations that a controller reads; all others would waste memory."""

    deletion_cost: str = msgspec.field(default="", name="controller.kubernetes.io/pod-deletion-cost")
    completion_index: str = msgspec.field(default="", name="batch.kubernetes.io/job-completion-index")
    index_failures: str = msgspec.field(default="", name="batch.kubernetes.io/job-index-failure-count")
    index_ignored_failures: str = msgspec.field(default="", name="batch.kubernetes.io/job-index-ignored-failure-count")


NO_ANNOTATIONS = Annotations()


class Metadata(View, frozen=True):
    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str] = {}
    annotations: Annotations = NO_ANNOTATIONS
    owner_references: tuple[OwnerView, ...] = ()
    finalizers: tuple[str, ...] = ()
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    deletion_grace_period_seconds: int = 0


class Port(View, frozen=True):
    container_port: int
    name: str = ""
    protocol: str = "TCP"


class Resources(View, frozen=True):
    requests: Amounts | None = None
    limits: Amounts | None = None


NO_RESOURCES = Resources()


class Container(View, frozen=True):
    name: str
    ports: tuple[Port, ...] = ()
    resources: Resources = NO_RESOURCES
    restart_policy: str = ""
    """`Always` makes an init container a sidecar."""


class Claim(View, frozen=True):
    claim_name: str


class Volume(View, frozen=True):
    name: str
    persistent_volume_claim: Claim | None = None
    ephemeral: Obj | None = None


class Toleration(View, frozen=True):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class Spec(View, frozen=True):
    node_name: str = ""
    tolerations: tuple[Toleration, ...] = ()
    hostname: str = ""
    subdomain: str = ""
    restart_policy: str = ""
    host_network: bool = False
    priority_class_name: str = ""
    active_deadline_seconds: int | None = None
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    resources: Resources = NO_RESOURCES
    overhead: Amounts | None = None
    volumes: tuple[Volume, ...] = ()


class Condition(View, frozen=True):
    type: str
    status: str
    last_transition_time: datetime | None = None
    reason: str = ""


class Terminated(View, frozen=True):
    exit_code: int = 0
    finished_at: datetime | None = None


class ContainerState(View, frozen=True):
    terminated: Terminated | None = None


NO_STATE = ContainerState()


class ContainerStatus(View, frozen=True):
    name: str
    ready: bool = False
    restart_count: int = 0
    state: ContainerState = NO_STATE


class Address(View, frozen=True):
    ip: str = ""


class Status(View, frozen=True):
    phase: str = ""
    reason: str = ""
    host_ip: str = msgspec.field(default="", name="hostIP")
    pod_ip: str = msgspec.field(default="", name="podIP")
    pod_ips: tuple[Address, ...] = msgspec.field(default=(), name="podIPs")
    start_time: datetime | None = None
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()


NO_SPEC, NO_STATUS = Spec(), Status()


class PodView(View, frozen=True):
    metadata: Metadata
    spec: Spec = NO_SPEC
    status: Status = NO_STATUS

    @property
    def key(self) -> Key:
        return Key(self.metadata.namespace, self.metadata.name)

    @property
    def uid(self) -> str:
        return self.metadata.uid

    @property
    def controller(self) -> OwnerView | None:
        """The owner that manages this pod."""
        for owner in self.metadata.owner_references:
            if owner.controller:
                return owner
        return None

    @property
    def active(self) -> bool:
        """Neither finished nor terminating."""
        return self.metadata.deletion_timestamp is None and self.status.phase not in ("Succeeded", "Failed")

    @property
    def terminal(self) -> bool:
        return self.status.phase in ("Succeeded", "Failed")

    @property
    def terminating(self) -> bool:
        return self.metadata.deletion_timestamp is not None and not self.terminal

    @property
    def ready(self) -> bool:
        condition = self.condition("Ready")
        return condition is not None and condition.status == "True"

    @property
    def ready_condition(self) -> Condition | None:
        return self.condition("Ready")

    @property
    def reference(self) -> dict[str, str]:
        """An ObjectReference, for events."""
        named = {"namespace": self.metadata.namespace, "name": self.metadata.name, "uid": self.metadata.uid}
        return {"apiVersion": "v1", "kind": "Pod", **named}

    def condition(self, kind: str) -> Condition | None:
        # Plain loops here and above: controllers of a thousand pods call this for each of them after every change.
        for condition in self.status.conditions:
            if condition.type == kind:
                return condition
        return None

    def available(self, min_ready_seconds: int, now: datetime) -> bool:
        """Whether it has been ready for long enough."""
        return self.ready and self.available_in(min_ready_seconds, now) == 0

    def available_in(self, min_ready_seconds: int, now: datetime) -> float:
        """Seconds until a ready pod counts as available; 0 when it does, infinite when unknown."""
        if min_ready_seconds == 0:
            return 0
        condition = self.ready_condition
        if condition is None or condition.last_transition_time is None:
            return float("inf")
        due = condition.last_transition_time + timedelta(seconds=min_ready_seconds)
        return max(0.0, (due - now).total_seconds())


def pods(informers: Informers) -> Informer[PodView]:
    """The controllers' only pod cache, with its indexes."""
    informer = informers.of(PODS, into=PodView)
    informer.add_index(BY_CONTROLLER, _controller_uids)
    informer.add_index(BY_LABEL, _labels)
    informer.add_index(UNMANAGED, _unmanaged_labels)
    informer.add_index(BY_NODE, _node_names)
    return informer


def managed_by(resource: Resource) -> Callable[[PodView], list[Key]]:
    """A `keys` function: the managing owner of a pod, if its kind is `resource`."""

    def keys(pod: PodView) -> list[Key]:
        owner = pod.controller
        if owner is None or not owner.is_one_of(resource):
            return []
        return [Key(pod.metadata.namespace, owner.name)]

    return keys


def _controller_uids(pod: PodView) -> Iterable[str]:
    owner = pod.controller
    return () if owner is None else (owner.uid,)


def _node_names(pod: PodView) -> Iterable[str]:
    return (pod.spec.node_name,)


def _labels(pod: PodView) -> Iterable[Hashable]:
    return postings(pod.metadata.namespace, pod.metadata.labels)


def _unmanaged_labels(pod: PodView) -> Iterable[Hashable]:
    return _labels(pod) if pod.controller is None else ()
