# SPDX-License-Identifier: Apache-2.0
"""The outcome of a job, and the pod counts of a role."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from springtide.api.kinds.run_policy import CleanPodPolicy
from springtide.api.kinds.status import ReplicaStatus
from springtide.jobs.endings import causes
from springtide.jobs.observed import FAILED, RUNNING, SUCCEEDED, Pod
from springtide.jobs.reporting import wait_causes
from springtide.jobs.snapshot import Snapshot

DEADLINE_EXCEEDED: Final = "DeadlineExceeded"
MAX_WAIT_EXCEEDED: Final = "MaxWaitTimeExceeded"
BACKOFF_EXCEEDED: Final = "BackoffLimitExceeded"


@dataclass(frozen=True, slots=True)
class Outcome:
    succeeded: bool
    reason: str
    message: str
    at: datetime


def failure(snapshot: Snapshot, reason: str, message: str) -> Outcome:
    return Outcome(False, reason, message, snapshot.now)


def with_log(snapshot: Snapshot, message: str, pod: Pod) -> str:
    """The message with the kubectl command that shows the full log, if the program ran, the pod is kept and the message
    names no command yet."""
    stays = snapshot.job.run.clean_pod_policy is not CleanPodPolicy.ALL and not causes.disrupted(pod)
    if not stays or pod.exit is None or wait_causes.names_command(message):
        return message
    return f"{message}; see kubectl logs {pod.name} -n {snapshot.job.metadata.namespace}"


def counts(pods: tuple[Pod, ...]) -> ReplicaStatus:
    def count(phase: str) -> int:
        return sum(pod.phase == phase for pod in pods)

    return ReplicaStatus(active=count(RUNNING), succeeded=count(SUCCEEDED), failed=count(FAILED))
