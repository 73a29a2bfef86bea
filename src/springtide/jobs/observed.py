# SPDX-License-Identifier: Apache-2.0
"""All that a plan may look at: a job, what exists in its name, and what the operator was started with.

Views are lean: of a pod the few fields that decide anything, of small objects the body they were last seen with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from springtide.api.job import Job

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
    """What keeps a pod from running, as the scheduler or the kubelet says it in the pod's status."""

    reason: str
    message: str = ""
    container: str = ""
    since: datetime | None = None
    """Since when the pod is on its node."""
    sandbox: bool = False
    """Volumes are mounted and the network is there: what is missing are images and containers."""
    exit: Exit | None = None
    """How the last attempt of a container ended that is restarted again and again."""
    restarted: datetime | None = None
    """When that container was started again, if it runs at this moment."""


@dataclass(frozen=True, slots=True)
class WarningEvent:
    """The newest Warning event about an object whose status does not say what it waits for."""

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
    reason: str = ""
    message: str = ""
    disrupted: bool = False
    """It has ended because somebody took it down, and said so."""
    disruption: str = ""
    """By whom it was taken down, or is told to end: the reason of its condition `DisruptionTarget`."""
    created: datetime | None = None
    started: datetime | None = None
    """When the main container started, not when the pod did."""
    exit: Exit | None = None
    restarts: int = 0
    """How often its containers were restarted in place, by the kubelet; init containers that are sidecars do not
    count."""
    last_exit: Exit | None = None
    """How a container ended that was restarted in place: the main one, or else one that failed."""
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
        """Whether ranks can run in it."""
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
    """Cleared while it is suspended, by servers that then let its template be changed."""
    template: Mapping[str, Any] = field(default_factory=dict)
    """Of the pod template what `PLACING` names."""


PLACING = {"metadata": ("labels", "annotations"), "spec": ("nodeSelector", "tolerations", "schedulingGates")}
"""What a queue may have changed about a pod template while its job was suspended."""


@dataclass(frozen=True, slots=True)
class Held:
    """An object of the job's own beside its pods."""

    uid: str
    resource_version: str
    body: Mapping[str, Any]

    @property
    def annotations(self) -> Mapping[str, str]:
        found: Mapping[str, str] = self.body.get("metadata", {}).get("annotations") or {}
        return found


@dataclass(frozen=True, slots=True)
class Settings:
    """What the operator was started with."""

    gang_scheduler: str = ""
    """Empty: pods are placed one by one."""
    cluster_domain: str = ""
    kubectl_image: str = ""
    """Delivers /opt/kube/kubectl; empty where pods have a kubectl of their own, as on the embedded cluster."""
    max_workers: int = 10_000
    """The most workers that one job is run with."""


@dataclass(frozen=True, slots=True)
class Observed:
    """Whatever is here has this job's uid as its controller, or that of the job's own launcher Job: labels and names
    are anybody's to give. A name that somebody else has is met when the job tries to create an object under it."""

    job: Job[Any]
    pods: tuple[Pod, ...] = ()
    """Each under the name that its role and index give it."""
    objects: Mapping[Key, Held] = field(default_factory=dict)
    launcher_job: LauncherJob | None = None
    leaving_nodes: frozenset[str] = frozenset()
    """Nodes that are going away: reclaimed, drained, or tainted so that the job's pods are evicted."""
    cordoned_nodes: frozenset[str] = frozenset()
    """Nodes that take no new pods; nobody moves because of that alone."""
    reclaims: Mapping[str, datetime] = field(default_factory=dict)
    """When, of those that say so."""
    priorities: Mapping[str, int] = field(default_factory=dict)
    """Values of PriorityClasses; of one that is missing it is 0."""
    last_reports: Mapping[str, str] = field(default_factory=dict)
    """What launchers whose pods are gone said last of themselves, by uid."""
    troubles: Mapping[str, WarningEvent] = field(default_factory=dict)
    """Warning events about pods and launcher Jobs that make no progress, by uid; of at most one per job."""
    settings: Settings = Settings()

    def of(self, role: str) -> tuple[Pod, ...]:
        return tuple(pod for pod in self.pods if pod.role == role)
