# SPDX-License-Identifier: Apache-2.0
"""The fields of watched objects that the scheduler reads.

The caches hold ten thousand pods, so a view omits all fields that placement does not read. Selectors and affinity stay
as written: they are parsed once, when a `Pod` is first built (`pods`).
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from springtide.kube.resources import Key, Obj

Quantities = dict[str, str | int | float]


class View(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Field names in Kubernetes' spelling."""


class OwnerView(View, frozen=True):
    uid: str
    controller: bool = False


class Metadata(View, frozen=True):
    name: str
    namespace: str = ""
    uid: str = ""
    generation: int = 0
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    owner_references: tuple[OwnerView, ...] = ()


class Resources(View, frozen=True):
    requests: Quantities | None = None


NO_RESOURCES = Resources()


class Port(View, frozen=True):
    host_port: int = 0
    host_ip: str = msgspec.field(default="", name="hostIP")
    protocol: str = "TCP"


class Container(View, frozen=True):
    resources: Resources = NO_RESOURCES
    ports: tuple[Port, ...] = ()
    restart_policy: str = ""


class ClaimSource(View, frozen=True):
    claim_name: str = ""


class VolumeSource(View, frozen=True):
    name: str
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: Obj | None = None


class Gate(View, frozen=True):
    name: str


class Toleration(View, frozen=True):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


class Spread(View, frozen=True):
    max_skew: int
    topology_key: str
    when_unsatisfiable: str
    label_selector: Obj | None = None
    match_label_keys: tuple[str, ...] = ()
    min_domains: int = 1
    node_affinity_policy: str = "Honor"
    node_taints_policy: str = "Ignore"


class PodSpec(View, frozen=True):
    node_name: str = ""
    scheduler_name: str = ""
    priority: int = 0
    preemption_policy: str = ""
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    resources: Resources = NO_RESOURCES
    overhead: Quantities | None = None
    volumes: tuple[VolumeSource, ...] = ()
    scheduling_gates: tuple[Gate, ...] = ()
    node_selector: dict[str, str] | None = None
    affinity: Obj | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[Spread, ...] = ()


class Condition(View, frozen=True):
    type: str
    status: str = ""
    reason: str = ""
    message: str = ""


class PodStatus(View, frozen=True):
    phase: str = ""
    start_time: datetime | None = None
    nominated_node_name: str = ""
    conditions: tuple[Condition, ...] = ()


class PodView(View, frozen=True):
    metadata: Metadata
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    def condition(self, kind: str) -> Condition | None:
        for condition in self.status.conditions:
            if condition.type == kind:
                return condition
        return None


class Taint(View, frozen=True):
    key: str
    effect: str
    value: str = ""


class NodeSpec(View, frozen=True):
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class NodeStatus(View, frozen=True):
    allocatable: Quantities | None = None


class NodeView(View, frozen=True):
    metadata: Metadata
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class NamespaceView(View, frozen=True):
    metadata: Metadata


class ClaimSpec(View, frozen=True):
    volume_name: str = ""
    storage_class_name: str = ""
    volume_mode: str = "Filesystem"
    access_modes: tuple[str, ...] = ()
    resources: Resources = NO_RESOURCES
    selector: Obj | None = None


class ClaimStatus(View, frozen=True):
    phase: str = ""


class ClaimView(View, frozen=True):
    metadata: Metadata
    spec: ClaimSpec = ClaimSpec()
    status: ClaimStatus = ClaimStatus()

    @property
    def key(self) -> Key:
        return Key(self.metadata.namespace, self.metadata.name)

    @property
    def selected_node(self) -> str:
        """The node on which the claim is to be provisioned, once a scheduler has chosen it."""
        return (self.metadata.annotations or {}).get(SELECTED_NODE, "")

    @property
    def bound(self) -> bool:
        annotated = BIND_COMPLETED in (self.metadata.annotations or {})
        return bool(self.spec.volume_name) and annotated


SELECTED_NODE = "volume.kubernetes.io/selected-node"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"


class ClaimRef(View, frozen=True):
    namespace: str = ""
    name: str = ""
    uid: str = ""


class VolumeNodeAffinity(View, frozen=True):
    required: Obj | None = None


class VolumeSpec(View, frozen=True):
    storage_class_name: str = ""
    volume_mode: str = "Filesystem"
    access_modes: tuple[str, ...] = ()
    capacity: Quantities | None = None
    claim_ref: ClaimRef | None = None
    node_affinity: VolumeNodeAffinity | None = None


class VolumeStatus(View, frozen=True):
    phase: str = ""


class VolumeView(View, frozen=True):
    metadata: Metadata
    spec: VolumeSpec = VolumeSpec()
    status: VolumeStatus = VolumeStatus()


class ClassView(View, frozen=True):
    metadata: Metadata
    provisioner: str = ""
    volume_binding_mode: str = "Immediate"
    allowed_topologies: tuple[Obj, ...] = ()


class BudgetSpec(View, frozen=True):
    selector: Obj | None = None


class BudgetStatus(View, frozen=True):
    disruptions_allowed: int = 0
    disrupted_pods: dict[str, Any] | None = None


class BudgetView(View, frozen=True):
    metadata: Metadata
    spec: BudgetSpec = BudgetSpec()
    status: BudgetStatus = BudgetStatus()


class PriorityClassView(View, frozen=True):
    metadata: Metadata
    value: int = 0


class GroupSpec(View, frozen=True):
    min_member: int = 0
    min_resources: Quantities | None = None
    priority_class_name: str = ""
    queue: str = ""


class GroupView(View, frozen=True):
    """A PodGroup of either API; the status is a plain mapping because it is compared as a whole."""

    metadata: Metadata
    spec: GroupSpec = GroupSpec()
    status: Obj | None = None


class QueueSpec(View, frozen=True):
    weight: int = 1
    capability: Quantities | None = None


class QueueView(View, frozen=True):
    metadata: Metadata
    spec: QueueSpec = QueueSpec()
    status: Obj | None = None
