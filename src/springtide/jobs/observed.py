# SPDX-License-Identifier: Apache-2.0
"""The input of a plan: a job, its objects, and the operator's settings.

Views are lean: the few fields of a pod that decisions need, small objects with their last observed body.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from springtide.api.job import Job
from springtide.jobs.scaling.scaler import Scaler, ScriptRun

PENDING, RUNNING, SUCCEEDED, FAILED = "Pending", "Running", "Succeeded", "Failed"
"""Phases of a pod."""


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """An object in the job's namespace."""

    api_version: str
    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Exit:
    """How the main container of a pod ended."""

    code: int | None = None
    reason: str = ""
    message: str = ""

    @property
    def signal(self) -> int | None:
        return self.code - 128 if self.code is not None and 128 < self.code < 160 else None


@dataclass(frozen=True, slots=True)
class Waiting:
    """What keeps a pod from running, as reported by the scheduler or the kubelet in the pod's status."""

    reason: str
    message: str = ""
    container: str = ""
    since: datetime | None = None
    """When the pod was assigned to its node."""
    sandbox: bool = False
    """Volumes are mounted and the network is set up: only images and containers are missing."""
    exit: Exit | None = None
    """How the last attempt of a crash-looping container ended."""
    restarted: datetime | None = None
    """When that container was started again, if it runs now."""


@dataclass(frozen=True, slots=True)
class WarningEvent:
    """The newest Warning event of an object whose status does not explain why it waits."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Pod:
    name: str
    uid: str
    role: str
    index: int | None = None
    phase: str = PENDING
    ready: bool = False
    terminating: bool = False
    node: str = ""
    host_ip: str = ""
    """The address of the node, once the kubelet has reported it."""
    reason: str = ""
    message: str = ""
    disrupted: bool = False
    """The pod has ended and has the condition `DisruptionTarget`."""
    disruption: str = ""
    """The reason of the condition `DisruptionTarget` of a pod that is or was evicted."""
    created: datetime | None = None
    started: datetime | None = None
    """When the main container started, not when the pod did."""
    exit: Exit | None = None
    restarts: int = 0
    """In-place restarts of its containers by the kubelet, without sidecar init containers."""
    last_exit: Exit | None = None
    """How a container ended that was restarted in place: the main one, otherwise one that failed."""
    waiting: Waiting | None = None
    annotations: Mapping[str, str] = field(default_factory=dict)

    @property
    def ended(self) -> bool:
        return self.phase in (SUCCEEDED, FAILED)

    @property
    def alive(self) -> bool:
        return not self.terminating and self.phase not in (SUCCEEDED, FAILED)

    @property
    def serves(self) -> bool:
        """Whether ranks can run in the pod."""
        return self.ready and self.alive


@dataclass(frozen=True, slots=True)
class LauncherJob:
    """A launcher that is a batch Job."""

    uid: str
    suspended: bool = False
    succeeded: bool = False
    failed: bool = False
    reason: str = ""
    message: str = ""
    failures: int = 0
    completed: datetime | None = None
    terminating: bool = False
    started: datetime | None = None
    """Cleared while the Job is suspended, on API servers that then allow changes of its template."""
    template: Mapping[str, Any] = field(default_factory=dict)
    """The fields of the pod template that `PLACING` names."""


PLACING = {"metadata": ("labels", "annotations"), "spec": ("nodeSelector", "tolerations", "schedulingGates")}
"""Fields of a pod template that a queue may change while the job is suspended."""


@dataclass(frozen=True, slots=True)
class Held:
    """An object of the job other than a pod."""

    uid: str
    resource_version: str
    body: Mapping[str, Any]

    @property
    def annotations(self) -> Mapping[str, str]:
        found: Mapping[str, str] = self.body.get("metadata", {}).get("annotations") or {}
        return found


@dataclass(frozen=True, slots=True)
class Settings:
    """The operator's settings."""

    gang_scheduler: str = ""
    """Empty: pods are scheduled one by one."""
    cluster_domain: str = ""
    kubectl_image: str = ""
    """The image that delivers /opt/kube/kubectl; empty where pods have kubectl already, as on the embedded cluster."""
    max_workers: int = 10_000
    """The most workers of one job."""


@dataclass(frozen=True, slots=True)
class Observed:
    """Every object here has this job's uid, or that of its launcher Job, as controller: labels and names prove nothing.
    Name conflicts are detected when the job tries to create an object."""

    job: Job[Any]
    pods: tuple[Pod, ...] = ()
    """Each has the name that its role and index determine."""
    objects: Mapping[Key, Held] = field(default_factory=dict)
    launcher_job: LauncherJob | None = None
    leaving_nodes: frozenset[str] = frozenset()
    """Nodes that are going away: reclaimed, drained, or tainted so that the job's pods are evicted."""
    cordoned_nodes: frozenset[str] = frozenset()
    """Nodes that take no new pods; a cordon alone moves no pod."""
    reclaims: Mapping[str, datetime] = field(default_factory=dict)
    """The reclaim times of nodes that announce one."""
    priorities: Mapping[str, int] = field(default_factory=dict)
    """Values of PriorityClasses; a missing one counts as 0."""
    last_reports: Mapping[str, str] = field(default_factory=dict)
    """The last reports of launchers whose pods are gone, by uid."""
    troubles: Mapping[str, WarningEvent] = field(default_factory=dict)
    """Warning events of pods and launcher Jobs that make no progress, by uid; at most one per job."""
    scalers: tuple[Scaler, ...] = ()
    """Scalers that select the job and have no other controller."""
    scripts: Mapping[str, ScriptRun] = field(default_factory=dict)
    """The last runs of their scripts, by uid of the scaler."""
    settings: Settings = Settings()

    def of(self, role: str) -> tuple[Pod, ...]:
        return tuple(pod for pod in self.pods if pod.role == role)
