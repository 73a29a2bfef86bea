# SPDX-License-Identifier: Apache-2.0
"""A pod of a job as it is shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from springtide.api import gpus
from springtide.views import trainers
from springtide.views.pages.ages import instant, seconds
from springtide.views.pod_status import pod_status

Obj = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceView:
    name: str
    uid: str
    role: str
    """In small letters."""
    index: int
    status: str
    """The word of `kubectl get pods`."""
    phase: str
    ready: str
    """Ready containers of all, as in 1/2."""
    restarts: int
    is_chief: bool
    node: str
    """Empty until the pod has a node, even while it is pending."""
    node_ip: str
    ip: str
    gpus: int
    """Those that Arena shows beside the pod."""
    allocated_gpus: int
    """Those that the pod takes up."""
    created: datetime | None
    ran_from: datetime | None
    """When its first container started; None for a pending pod."""
    ran_until: datetime | None
    """When its last container ended, if the pod has ended."""

    @property
    def pending(self) -> bool:
        return self.phase == "Pending"

    def age(self, now: datetime) -> float:
        """Seconds since its creation, as kubectl counts."""
        return seconds(self.created, now)

    def duration(self, now: datetime) -> float:
        """Seconds that its containers run or ran; those since its creation while it is pending. Arena's AGE."""
        return seconds(self.created if self.pending else self.ran_from, self.ran_until or now)


def instances(job: Obj, pods: Iterable[Obj]) -> tuple[InstanceView, ...]:
    """The job's pods among these, by role and index."""
    own = [pod for pod in pods if trainers.owns(job, pod)]
    chief = trainers.chief(job, own)
    found = [_instance(pod, pod is chief) for pod in own]
    return tuple(sorted(found, key=lambda each: (each.role, each.index, each.name)))


def _instance(pod: Obj, is_chief: bool) -> InstanceView:
    metadata, spec, status = pod["metadata"], pod.get("spec") or {}, pod.get("status") or {}
    shown, phase = pod_status(pod), status.get("phase") or "Pending"
    created = instant(metadata.get("creationTimestamp"))
    began, ended = _life(status)
    return InstanceView(
        name=metadata["name"],
        uid=metadata.get("uid", ""),
        role=trainers.role(pod),
        index=trainers.index(pod),
        status=shown.word,
        phase=phase,
        ready=f"{shown.ready}/{shown.containers}",
        restarts=shown.restarts,
        is_chief=is_chief,
        node=spec.get("nodeName") or "",
        node_ip=status.get("hostIP") or "",
        ip=status.get("podIP") or "",
        gpus=gpus.of_instance(spec),
        allocated_gpus=gpus.of_job(spec) if _takes_room(pod) else 0,
        created=created,
        ran_from=None if phase == "Pending" else began or instant(status.get("startTime")) or created,
        ran_until=ended if phase in ("Succeeded", "Failed") else None,
    )


def _takes_room(pod: Obj) -> bool:
    """Whether the pod takes up resources of a node. A pod that is terminating still does, but its job has given them
    up."""
    given_up = pod["metadata"].get("deletionTimestamp") is not None
    ended = (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
    return bool((pod.get("spec") or {}).get("nodeName")) and not given_up and not ended


def _life(status: Obj) -> tuple[datetime | None, datetime | None]:
    """When the first container started, and when the last one ended."""
    begins, ends = [], []
    for each in (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())):
        state = each.get("state") or {}
        ended = state.get("terminated") or {}
        begins.append(instant((state.get("running") or ended).get("startedAt")))
        ends.append(instant(ended.get("finishedAt")))
    first = min((each for each in begins if each is not None), default=None)
    return first, max((each for each in ends if each is not None), default=None)
