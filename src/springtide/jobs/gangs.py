# SPDX-License-Identifier: Apache-2.0
"""Pods that are placed together: the PodGroup of a job, for Volcano and for the scheduler plugins."""

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
    """One of the two ways there are."""

    api_version: str
    annotations: Mapping[str, str]
    labels: Mapping[str, str]
    scheduler: str


def of(scheduler: str, group: str) -> Gangs | None:
    """Any name but Volcano's is a scheduler with the plugins."""
    if not scheduler:
        return None
    if scheduler == VOLCANO:
        return Gangs("scheduling.volcano.sh/v1beta1", {"scheduling.k8s.io/group-name": group}, {}, VOLCANO)
    return Gangs("scheduling.x-k8s.io/v1alpha1", {}, {"scheduling.x-k8s.io/pod-group": group}, scheduler)


def marked(manifest: Mapping[str, Any], gangs: Gangs | None) -> Mapping[str, Any]:
    """A pod, or a template, that belongs to the group."""
    if gangs is None:
        return manifest
    metadata = dict(manifest.get("metadata") or {})
    for name, more in (("annotations", gangs.annotations), ("labels", gangs.labels)):
        if more:
            metadata[name] = {**(metadata.get(name) or {}), **more}
    return {**manifest, "metadata": metadata, "spec": {**manifest["spec"], "schedulerName": gangs.scheduler}}


def group(job: Job[Any], shape: Shape, size: int, scheduler: str) -> Wanted | None:
    gangs = of(scheduler, job.metadata.name)
    if gangs is None:
        return None
    policy = job.run.scheduling or SchedulingPolicy()
    everybody = size if shape.waits_for_workers else size + 1
    members = everybody if policy.min_available is None else policy.min_available
    resources = policy.min_resources or resources_of(job, shape, size, members)
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
    priority = policy.priority_class or _priority(job, shape.launcher) or _priority(job, shape.workers)
    return {name: value for name, value in (("queue", queue), ("priorityClassName", priority)) if value}


def _plugins(policy: SchedulingPolicy) -> dict[str, Any]:
    return {"scheduleTimeoutSeconds": policy.schedule_timeout_seconds or 0}


def _priority(job: Job[Any], role: str) -> str:
    spec = job.roles[role].template.get("spec", {}) if role in job.roles else {}
    return str(spec.get("priorityClassName") or "")


def resources_of(job: Job[Any], shape: Shape, size: int, members: int) -> dict[str, str]:
    """What the smallest group needs, the launcher and then as many workers as count."""
    if not members:
        return {}
    counts = {shape.launcher: 1, shape.workers: min(size, max(members - 1, 0))}
    if shape.waits_for_workers:
        counts = {shape.launcher: 0, shape.workers: min(size, members)}
    total: dict[str, quantity.Quantity] = {}
    for name, count in counts.items():
        role = job.roles.get(name)
        for resource, amount in (_requests(role) if role else {}).items():
            for _ in range(count):
                total[resource] = total.get(resource, quantity.ZERO) + amount
    return {resource: str(amount) for resource, amount in sorted(total.items())}


def _requests(role: Role) -> dict[str, quantity.Quantity]:
    """Requests, or else limits, of the containers; init containers do not count."""
    total: dict[str, quantity.Quantity] = {}
    for container in role.template.get("spec", {}).get("containers") or ():
        resources = container.get("resources") or {}
        for name, amount in {**(resources.get("limits") or {}), **(resources.get("requests") or {})}.items():
            total[name] = total.get(name, quantity.ZERO) + quantity.parse(str(amount))
    return total
