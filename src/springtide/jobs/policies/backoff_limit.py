# SPDX-License-Identifier: Apache-2.0
"""`backoffLimit`: how often and after which delay a failed pod is created again: 10 s, 20 s, ... up to 5 min.

A pod disrupted with its node has a limit of its own; a node shutdown counts against neither. For replicas that keep
their names in-place restarts by the kubelet count like pods created again.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from springtide.api.kinds.replicas import RestartPolicy
from springtide.jobs import times
from springtide.jobs.endings import causes
from springtide.jobs.ledger import Ledger, token
from springtide.jobs.observed import Pod
from springtide.jobs.snapshot import Snapshot

FIRST_DELAY: Final = timedelta(seconds=10)
LONGEST_DELAY: Final = timedelta(minutes=5)
CAP: Final = 10
"""The most failures of a run that the program did not cause, and the most consecutive ones of a worker and its
replacements; one more fails the job."""
FIRST_SIGNAL: Final = 128
"""With restart policy ExitCode: from this exit code on a signal ended the program, and it is retried."""
_IN_PLACE: Final = (RestartPolicy.ON_FAILURE, RestartPolicy.ALWAYS)


def is_used_up(snapshot: Snapshot, pod: Pod) -> bool:
    """Whether this failure exceeds the limit."""
    if causes.shut_down(pod):
        return False
    if is_disruption(snapshot, pod):
        return snapshot.ledger.disruptions >= CAP
    return snapshot.ledger.retries >= snapshot.job.run.retries.by_engine


def is_disruption(snapshot: Snapshot, pod: Pod) -> bool:
    """Whether the pod was lost without its program's doing. Some kinds count evictions as failures of the program."""
    return causes.disrupted(pod) and not (snapshot.shape.evictions_count and causes.evicted(pod))


def is_final(snapshot: Snapshot, role: str, pod: Pod) -> bool:
    """For a replica that keeps its name: its role's restart policy is checked before the limits."""
    if causes.shut_down(pod) or causes.disrupted(pod):
        return is_used_up(snapshot, pod)
    policy, code = snapshot.job.roles[role].restart_policy, pod.exit.code if pod.exit else None
    if policy is RestartPolicy.NEVER:
        return True
    if policy is RestartPolicy.EXIT_CODE and code is not None and code < FIRST_SIGNAL:
        return True
    return is_used_up(snapshot, pod)


def restarted_in_place(snapshot: Snapshot, role: str, pod: Pod) -> int:
    """Container restarts of this pod that are not counted yet. They count if the restart policy tells the kubelet to
    restart, as upstream does."""
    if snapshot.job.roles[role].restart_policy not in _IN_PLACE:
        return 0
    return max(pod.restarts - snapshot.ledger.in_place.get(token(pod.uid), 0), 0)


def counted(snapshot: Snapshot, ledger: Ledger, pod: Pod) -> Ledger:
    """The ledger with one more failure after which a pod is created again."""
    ledger = replace(ledger, restarted_at=snapshot.now)
    if causes.shut_down(pod):
        return ledger
    if is_disruption(snapshot, pod):
        return replace(ledger, disruptions=ledger.disruptions + 1)
    return replace(ledger, restarts=ledger.restarts + 1)


def delay(failures: int) -> timedelta:
    """The delay after this many failures."""
    return min(FIRST_DELAY * 2 ** min(failures - 1, 10), LONGEST_DELAY) if failures > 0 else timedelta(0)


def restarts_at(snapshot: Snapshot) -> datetime | None:
    """When the pod that failed last may be (or could have been) created again. In-place restarts have the kubelet's
    delays."""
    ledger = snapshot.ledger
    if ledger.restarted_at is None:
        return None
    return times.after(ledger.restarted_at, delay(ledger.restarts + ledger.disruptions))


def restart_left(snapshot: Snapshot) -> timedelta:
    at = restarts_at(snapshot)
    return timedelta(0) if at is None else max(at - snapshot.now, timedelta(0))
