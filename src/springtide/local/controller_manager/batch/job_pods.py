# SPDX-License-Identifier: Apache-2.0
"""A batch Job's terms, its pods' fields, and the creation of its pods. Pure.

Every pod of a Job carries a finalizer until it has been counted in the Job's status, so that no result is lost when a
pod is deleted early. An indexed Job gives each pod an index: in its name, hostname, annotation, label and in the
environment of its containers.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from springtide.api import whole_numbers
from springtide.kube.resources import JOBS, Obj
from springtide.local.controller_manager.views import ContainerStatus, PodView
from springtide.local.controller_manager.workloads.pod_control import pod_from

TRACKING = "batch.kubernetes.io/job-tracking"
INDEX = "batch.kubernetes.io/job-completion-index"
INDEX_FAILURES = "batch.kubernetes.io/job-index-failure-count"
INDEX_IGNORED_FAILURES = "batch.kubernetes.io/job-index-ignored-failure-count"
OURS = "kubernetes.io/job-controller"

NO_INDEX = -1
_ENVIRONMENT = "JOB_COMPLETION_INDEX"
_LONGEST_PREFIX = 58
"""A generated name has 63 characters, five of them random."""


@dataclass(frozen=True, slots=True)
class Terms:
    """The frequently used fields of a Job's spec."""

    completions: int | None
    parallelism: int
    indexed: bool
    suspended: bool
    backoff_limit: int
    backoff_per_index: int | None
    deadline: int | None
    restarts_in_place: bool
    """`restartPolicy: OnFailure`: failures are restarts of containers, not pods."""
    failure_rules: tuple[Obj, ...] | None
    replaces_failed_only: bool
    """A terminating pod is replaced only after it has ended."""

    @classmethod
    def of(cls, job: Obj) -> Terms:
        spec = job["spec"]
        policy = spec.get("podFailurePolicy")
        return cls(
            spec.get("completions"),
            spec.get("parallelism", 1),
            spec.get("completionMode") == "Indexed",
            bool(spec.get("suspend")),
            spec.get("backoffLimit", 6),
            spec.get("backoffLimitPerIndex"),
            spec.get("activeDeadlineSeconds"),
            spec["template"]["spec"].get("restartPolicy") == "OnFailure",
            None if policy is None else tuple(policy.get("rules") or ()),
            policy is not None or spec.get("podReplacementPolicy") == "Failed",
        )

    def valid_index(self, pod: PodView) -> bool:
        return 0 <= completion_index(pod) < (self.completions or 0)


def managed_elsewhere(job: Obj) -> bool:
    """Whether the Job is assigned to another controller."""
    return bool(job["spec"].get("managedBy", OURS) != OURS)


def tracked(pod: PodView) -> bool:
    return TRACKING in pod.metadata.finalizers


def has_failed(pod: PodView, terms: Terms) -> bool:
    if pod.status.phase == "Failed":
        return True
    if terms.replaces_failed_only:
        return False
    return pod.metadata.deletion_timestamp is not None and pod.status.phase != "Succeeded"


def completion_index(pod: PodView) -> int:
    return _count(pod.metadata.annotations.completion_index, NO_INDEX)


def index_failures(pod: PodView) -> int:
    """Counted failures of its index before this pod."""
    return _count(pod.metadata.annotations.index_failures, 0)


def all_index_failures(pod: PodView) -> int:
    return index_failures(pod) + _count(pod.metadata.annotations.index_ignored_failures, 0)


def _count(text: str, otherwise: int) -> int:
    number = whole_numbers.parse(text) if text.isdecimal() else None
    return otherwise if number is None else number


def restarts(pod: PodView) -> int:
    statuses = (*pod.status.container_statuses, *pod.status.init_container_statuses)
    return sum(status.restart_count for status in statuses)


def finished_at(pod: PodView) -> datetime:
    """When a pod ended: by its container statuses, else the best estimate."""
    ends = [_end(status) for status in pod.status.container_statuses]
    known = [end for end in ends if end is not None]
    if known and len(known) == len(ends):
        return max(known)
    ready = pod.ready_condition
    if ready is not None and ready.status == "False" and ready.last_transition_time is not None:
        return ready.last_transition_time
    metadata = pod.metadata
    if metadata.deletion_timestamp is not None:
        return metadata.deletion_timestamp - timedelta(seconds=metadata.deletion_grace_period_seconds)
    assert metadata.creation_timestamp is not None  # every stored object has one
    return metadata.creation_timestamp


def _end(status: ContainerStatus) -> datetime | None:
    return None if status.state.terminated is None else status.state.terminated.finished_at


# Creating them


@dataclass(frozen=True, slots=True)
class Wanted:
    """A pod to create. The failures are those of its index so far, for jobs that limit them per index."""

    index: int = NO_INDEX
    failures: int | None = None
    ignored_failures: int = 0


def new_pod(job: Obj, wanted: Wanted) -> Obj:
    template = job["spec"]["template"]
    pod = pod_from(template, JOBS, job)
    metadata = pod["metadata"]
    finalizers = metadata.get("finalizers") or []
    metadata["finalizers"] = finalizers if TRACKING in finalizers else [*finalizers, TRACKING]
    if wanted.index == NO_INDEX:
        return pod
    index, name = str(wanted.index), job["metadata"]["name"]
    annotations = {INDEX: index}
    if wanted.failures is not None:
        annotations[INDEX_FAILURES] = str(wanted.failures)
    if wanted.ignored_failures:
        annotations[INDEX_IGNORED_FAILURES] = str(wanted.ignored_failures)
    metadata["annotations"] = {**metadata.get("annotations", {}), **annotations}
    metadata["labels"] = {**metadata.get("labels", {}), INDEX: index}
    ending = f"-{index}-"
    metadata["generateName"] = name[: _LONGEST_PREFIX - len(ending)] + ending
    pod["spec"] = {**template["spec"], "hostname": f"{name}-{index}"}
    for part in ("containers", "initContainers"):
        if containers := template["spec"].get(part):
            pod["spec"][part] = [_with_index(container) for container in containers]
    return pod


def _with_index(container: Obj) -> Obj:
    environment = container.get("env") or []
    if any(variable["name"] == _ENVIRONMENT for variable in environment):
        return container
    source = {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}}
    return {**container, "env": [*environment, {"name": _ENVIRONMENT, "valueFrom": source}]}
