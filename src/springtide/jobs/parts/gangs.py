# SPDX-License-Identifier: Apache-2.0
"""Gang scheduling: the PodGroup of a job, for Volcano and for the scheduler plugins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from springtide.api import quantity
from springtide.api.job import Job, Role
from springtide.api.kinds.run_policy import SchedulingPolicy
from springtide.jobs.kind import Shape, Wanted
from springtide.jobs.objects import named

VOLCANO: Final = "volcano"
QUEUE: Final = "scheduling.volcano.sh/queue-name"


@dataclass(frozen=True, slots=True)
class Gangs:
    """One of the two supported PodGroup APIs."""

    api_version: str
    annotations: Mapping[str, str]
    labels: Mapping[str, str]
    scheduler: str


def of(scheduler: str, group: str) -> Gangs | None:
    """Every scheduler but Volcano is assumed to have the scheduler plugins."""
    if not scheduler:
        return None
    if scheduler == VOLCANO:
        return Gangs("scheduling.volcano.sh/v1beta1", {"scheduling.k8s.io/group-name": group}, {}, VOLCANO)
    return Gangs("scheduling.x-k8s.io/v1alpha1", {}, {"scheduling.x-k8s.io/pod-group": group}, scheduler)


def marked(manifest: Mapping[str, Any], gangs: Gangs | None) -> Mapping[str, Any]:
    """The manifest of a pod, or a pod template, as a member of the group."""
    if gangs is None:
        return manifest
    metadata = dict(manifest.get("metadata") or {})
    for name, more in (("annotations", gangs.annotations), ("labels", gangs.labels)):
        if more:
            metadata[name] = {**(metadata.get(name) or {}), **more}
    return {**manifest, "metadata": metadata, "spec": {**manifest["spec"], "schedulerName": gangs.scheduler}}


def group(
    job: Job[Any], shape: Shape, size: int, scheduler: str, priorities: Mapping[str, int] | None = None
) -> Wanted | None:
    gangs = of(scheduler, job.metadata.name)
    if gangs is None:
        return None
    policy, counts = job.run.scheduling or SchedulingPolicy(), _counts(job, shape, size)
    members = sum(counts.values()) if policy.min_available is None else policy.min_available
    resources = policy.min_resources or _resources(job, _smallest(job, counts, members, priorities or {}))
    spec: dict[str, Any] = {"minMember": members} | ({"minResources": resources} if resources else {})
    spec |= _volcano(job, shape, policy) if scheduler == VOLCANO else _plugins(policy)
    manifest = {
        "apiVersion": gangs.api_version,
        "kind": "PodGroup",
        "metadata": named(job, job.metadata.name),
        "spec": spec,
    }
    return Wanted(manifest, kept=("spec",))


def _volcano(job: Job[Any], shape: Shape, policy: SchedulingPolicy) -> dict[str, Any]:
    queue = policy.queue or job.metadata.annotations.get(QUEUE, "")
    roles = sorted(job.roles, key=lambda name: name == shape.workers)
    priority = policy.priority_class or next(filter(None, (_priority(job, name) for name in roles)), "")
    return {name: value for name, value in (("queue", queue), ("priorityClassName", priority)) if value}


def _plugins(policy: SchedulingPolicy) -> dict[str, Any]:
    return {"scheduleTimeoutSeconds": policy.schedule_timeout_seconds or 0}


def _priority(job: Job[Any], role: str) -> str:
    spec = job.roles[role].template.get("spec", {}) if role in job.roles else {}
    return str(spec.get("priorityClassName") or "")


def _counts(job: Job[Any], shape: Shape, size: int) -> dict[str, int]:
    """Pods of each role in the group, workers last. A launcher that waits for its workers is not counted: its pod is
    created only after theirs run."""
    absent = shape.launcher if shape.waits_for_workers else ""
    others = {name: role.replicas for name, role in job.roles.items() if name not in (shape.workers, absent)}
    return others | ({shape.workers: size} if shape.workers in job.roles else {})


def _smallest(job: Job[Any], counts: Mapping[str, int], members: int, priorities: Mapping[str, int]) -> dict[str, int]:
    """The `members` pods of highest priority; among equal priorities workers are cut."""
    left, found = members, {}
    for name in sorted(counts, key=lambda name: -priorities.get(_priority(job, name), 0)):
        found[name] = min(counts[name], left)
        left -= found[name]
    return found


def _resources(job: Job[Any], counts: Mapping[str, int]) -> dict[str, str]:
    total: dict[str, quantity.Quantity] = {}
    for name, count in counts.items():
        for resource, amount in _requests(job.roles[name]).items() if count else ():
            total[resource] = total.get(resource, quantity.ZERO) + amount * count
    return {resource: str(amount) for resource, amount in sorted(total.items())}


def _requests(role: Role) -> dict[str, quantity.Quantity]:
    """Requests, otherwise limits, of the containers; init containers do not count."""
    total: dict[str, quantity.Quantity] = {}
    for container in role.template.get("spec", {}).get("containers") or ():
        resources = container.get("resources") or {}
        for name, amount in {**(resources.get("limits") or {}), **(resources.get("requests") or {})}.items():
            total[name] = total.get(name, quantity.ZERO) + quantity.parse(str(amount))
    return total
