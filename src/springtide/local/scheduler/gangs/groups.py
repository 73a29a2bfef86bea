# SPDX-License-Identifier: Apache-2.0
"""PodGroups of both APIs that training jobs use, as gangs, and their status. Pure.

Volcano's groups (`scheduling.volcano.sh`) have a queue, a priority class and conditions; those of scheduler-plugins
(`scheduling.x-k8s.io`) have phases and counts only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from springtide.kube.resources import Key, Obj, Resource
from springtide.local.scheduler.gangs.gangs import ANY_QUEUE, Gang, Queue
from springtide.local.scheduler.state import amounts
from springtide.local.scheduler.state.pods import EPOCH, Pod
from springtide.local.scheduler.state.views import GroupView

VOLCANO_GROUPS: Final = Resource("scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup")
PLUGIN_GROUPS: Final = Resource("scheduling.x-k8s.io", "v1alpha1", "podgroups", "PodGroup")
QUEUES: Final = Resource("scheduling.volcano.sh", "v1beta1", "queues", "Queue", namespaced=False)

DEFAULT_QUEUE: Final = "default"
READY: Final = "pod group is ready"


@dataclass(frozen=True, slots=True)
class Group:
    resource: Resource
    view: GroupView

    @property
    def key(self) -> Key:
        return Key(self.view.metadata.namespace, self.view.metadata.name)

    @property
    def queue(self) -> str:
        """The name of its queue; groups of scheduler-plugins have none."""
        return (self.view.spec.queue or DEFAULT_QUEUE) if self.resource is VOLCANO_GROUPS else ""

    @property
    def reference(self) -> dict[str, str]:
        """The object reference for events."""
        metadata = self.view.metadata
        about = {"apiVersion": self.resource.api_version, "kind": self.resource.kind, "uid": metadata.uid}
        return about | {"namespace": metadata.namespace, "name": metadata.name}


def gang(group: Group, members: Sequence[Pod], queue: Queue | None, priorities: Mapping[str, int]) -> Gang:
    spec = group.view.spec
    highest = max((pod.priority for pod in members), default=0)
    return Gang(
        group.key,
        spec.min_member,
        priorities.get(spec.priority_class_name, highest),
        members,
        group.view.metadata.creation_timestamp or EPOCH,
        amounts.read(spec.min_resources),
        queue or ANY_QUEUE,
    )


@dataclass(frozen=True, slots=True)
class Standing:
    """A gang's last scheduling decision and its pods."""

    members: Sequence[Pod]
    holding: int
    message: str = ""
    """Why the gang waits; empty when it does not."""
    enqueued: bool = False


def status(group: Group, standing: Standing, now: str) -> Obj:
    """The group's whole desired status; equal to the current one when nothing needs writing."""
    if group.resource is VOLCANO_GROUPS:
        return _volcano_status(group, standing, now)
    return _plugin_status(group, standing, now)


def _counts(pods: Sequence[Pod]) -> Counter[str]:
    return Counter(pod.phase for pod in pods)


def _volcano_status(group: Group, standing: Standing, now: str) -> Obj:
    counts = _counts(standing.members)
    old = group.view.status or {}
    found: Obj = {"phase": _volcano_phase(group, standing, counts)}
    found |= {
        name: counts[phase]
        for name, phase in (("running", "Running"), ("succeeded", "Succeeded"), ("failed", "Failed"))
        if counts[phase]
    }
    conditions = list(old.get("conditions") or ())
    if standing.message:
        told = {"type": "Unschedulable", "reason": "NotEnoughResources", "message": standing.message}
        conditions = _with_condition(conditions, told, now)
    elif standing.holding and standing.holding >= group.view.spec.min_member:
        told = {"type": "Scheduled", "reason": "tasks in gang are ready to be scheduled"}
        conditions = _with_condition(conditions, told, now)
    return found | ({"conditions": conditions} if conditions else {})


def _volcano_phase(group: Group, standing: Standing, counts: Counter[str]) -> str:
    members, least = standing.members, group.view.spec.min_member
    if members and all(pod.finished for pod in members):
        return "Completed"
    if members and standing.holding >= least and not standing.message:
        return "Running"
    if counts["Running"]:
        return "Unknown"
    return "Inqueue" if standing.enqueued else "Pending"


def _with_condition(conditions: list[Obj], told: Obj, now: str) -> list[Obj]:
    """Replaces the condition of this type in place, or adds it; keeps it if it has the same content."""
    told = told | {"status": "True"}
    for index, old in enumerate(conditions):
        if old.get("type") == told["type"]:
            if all(old.get(name, "") == told.get(name, "") for name in ("status", "reason", "message")):
                return conditions
            return [*conditions[:index], told | {"lastTransitionTime": now}, *conditions[index + 1 :]]
    return [*conditions, told | {"lastTransitionTime": now}]


def _plugin_status(group: Group, standing: Standing, now: str) -> Obj:
    counts = _counts(standing.members)
    least = group.view.spec.min_member
    old = group.view.status or {}
    phase = _plugin_phase(counts, least, len(standing.members))
    found: Obj = {"phase": phase}
    found |= {
        name: counts[kind]
        for name, kind in (("running", "Running"), ("succeeded", "Succeeded"), ("failed", "Failed"))
        if counts[kind]
    }
    if begun := old.get("scheduleStartTime"):
        found["scheduleStartTime"] = begun
    elif phase != "Pending":
        found["scheduleStartTime"] = now
    if occupied := old.get("occupiedBy"):
        found["occupiedBy"] = occupied
    return found


def _plugin_phase(counts: Counter[str], least: int, members: int) -> str:
    running, succeeded, failed = counts["Running"], counts["Succeeded"], counts["Failed"]
    if members < least or not members:
        return "Pending"
    if succeeded >= least:
        return "Finished"
    if failed and failed + running + succeeded >= least:
        return "Failed"
    return "Running" if running + succeeded >= least else "Scheduling"
