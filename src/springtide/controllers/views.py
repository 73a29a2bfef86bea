# SPDX-License-Identifier: Apache-2.0
"""The cached parts of objects: only the fields that decisions need.

Templates stay raw mappings and are never written back: every write is a patch of the changed fields.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import Struct, field


class View(Struct, rename="camel", omit_defaults=True, gc=False):
    """Immutable once decoded, and without cycles, so it is not tracked by the garbage collector."""


class Owner(View):
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


class Metadata(View):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    owner_references: tuple[Owner, ...] = ()
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None

    @property
    def controller(self) -> Owner | None:
        return next((owner for owner in self.owner_references if owner.controller), None)


class JobView(Struct, rename="camel"):
    """A job of any kind, undecoded."""

    metadata: dict[str, Any]
    spec: Any = None
    status: Any = None

    def __post_init__(self) -> None:
        # Often larger than all the rest, and never used.
        self.metadata.pop("managedFields", None)


class Named(View):
    name: str = ""


class InitContainer(Named):
    restart_policy: str = ""


class PodSpec(View):
    node_name: str = ""
    containers: tuple[Named, ...] = ()
    init_containers: tuple[InitContainer, ...] = ()


class Condition(View):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class Started(View):
    started_at: datetime | None = None


class Terminated(View):
    exit_code: int | None = None
    reason: str = ""
    message: str = ""
    started_at: datetime | None = None


class WaitingState(View):
    reason: str = ""
    message: str = ""


class ContainerState(View):
    waiting: WaitingState | None = None
    running: Started | None = None
    terminated: Terminated | None = None


class ContainerStatus(View):
    name: str = ""
    restart_count: int = 0
    state: ContainerState = field(default_factory=ContainerState)
    last_state: ContainerState = field(default_factory=ContainerState)


class PodStatus(View):
    phase: str = ""
    reason: str = ""
    message: str = ""
    host_ip: str = field(default="", name="hostIP")
    start_time: datetime | None = None
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()


class PodView(View):
    metadata: Metadata
    spec: PodSpec = field(default_factory=PodSpec)
    status: PodStatus = field(default_factory=PodStatus)


class TemplateMetadata(View):
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class TemplateSpec(View):
    """The placement of pods, which a queue may change while a job is suspended."""

    node_selector: dict[str, str] | None = None
    tolerations: tuple[dict[str, Any], ...] | None = None
    scheduling_gates: tuple[dict[str, Any], ...] | None = None


class Template(View):
    metadata: TemplateMetadata = field(default_factory=TemplateMetadata)
    spec: TemplateSpec = field(default_factory=TemplateSpec)


class BatchJobSpec(View):
    suspend: bool = False
    template: Template = field(default_factory=Template)


class BatchJobStatus(View):
    conditions: tuple[Condition, ...] = ()
    failed: int = 0
    start_time: datetime | None = None
    completion_time: datetime | None = None


class BatchJobView(View):
    metadata: Metadata
    spec: BatchJobSpec = field(default_factory=BatchJobSpec)
    status: BatchJobStatus = field(default_factory=BatchJobStatus)


class HeldView(View):
    """A small object beside a job's pods, with the parts that some types have."""

    metadata: Metadata
    spec: Any = None
    data: Any = None
    rules: Any = None
    subjects: Any = None


class Taint(View):
    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: datetime | None = None


class NodeSpec(View):
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class PriorityView(View):
    metadata: Metadata
    value: int = 0


class NodeView(View):
    metadata: Metadata
    spec: NodeSpec = field(default_factory=NodeSpec)


class ScalerMetadata(Metadata):
    """With whole owner references: a merge patch of the list has to repeat those that stay."""

    owner_references: tuple[dict[str, Any], ...] = ()  # type: ignore[assignment]

    @property
    def controlling(self) -> dict[str, Any] | None:
        return next((each for each in self.owner_references if each.get("controller")), None)


class ScalerView(View):
    """A ScaleOut or ScaleIn. Spec and status are read leniently: an invalid scaler must end with a condition."""

    metadata: ScalerMetadata
    spec: Any = None
    status: Any = None
