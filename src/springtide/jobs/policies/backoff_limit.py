# SPDX-License-Identifier: Apache-2.0
"""`backoffLimit`: how often a failed pod is created again, and after which delay: 10 s, 20 s, 40 s ... five minutes.

A pod that was taken down with its node has tries of its own, and a shutdown of the node uses up none. Of replicas that
keep their names restarts in place, which the kubelet makes, count like pods that are created again.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from springtide.api.kinds.replicas import RestartPolicy
from springtide.jobs.endings import causes
from springtide.jobs.ledger import Ledger
from springtide.jobs.observed import Pod
from springtide.jobs.snapshot import Snapshot

FIRST_DELAY: Final = timedelta(seconds=10)
LONGEST_DELAY: Final = timedelta(minutes=5)
CAP: Final = 10
"""Failures in a row that are no fault of the program, or of a worker and those that replaced it: one more fails the
job."""
FIRST_SIGNAL: Final = 128
"""With restart policy ExitCode: from here on it was the system that ended the program, and it is tried again."""
_IN_PLACE: Final = (RestartPolicy.ON_FAILURE, RestartPolicy.ALWAYS)


def is_used_up(snapshot: Snapshot, pod: Pod) -> bool:
    """Whether this failure is one too many."""
    if causes.shut_down(pod):
        return False
    if causes.disrupted(pod):
        return snapshot.ledger.disruptions >= CAP
    return snapshot.ledger.retries >= snapshot.job.run.retries.by_engine


def is_final(snapshot: Snapshot, role: str, pod: Pod) -> bool:
    """Of a replica that keeps its name: what its role says of restarting comes before all counting."""
    if causes.shut_down(pod) or causes.disrupted(pod):
        return is_used_up(snapshot, pod)
    policy, code = snapshot.job.roles[role].restart_policy, pod.exit.code if pod.exit else None
    if policy is RestartPolicy.NEVER:
        return True
    if policy is RestartPolicy.EXIT_CODE and code is not None and code < FIRST_SIGNAL:
        return True
    return is_used_up(snapshot, pod)


def restarted_in_place(snapshot: Snapshot, role: str, pod: Pod) -> int:
    """How often containers of this pod were restarted since that was last counted. It counts where the kubelet has
    been asked to restart what fails, as upstream has it."""
    if snapshot.job.roles[role].restart_policy not in _IN_PLACE:
        return 0
    return max(pod.restarts - snapshot.ledger.in_place.get(pod.uid, 0), 0)


def counted(ledger: Ledger, pod: Pod, now: datetime) -> Ledger:
    """With one more failure that is answered by another pod."""
    ledger = replace(ledger, restarted_at=now)
    if causes.shut_down(pod):
        return ledger
    if causes.disrupted(pod):
        return replace(ledger, disruptions=ledger.disruptions + 1)
    return replace(ledger, restarts=ledger.restarts + 1)


def delay(failures: int) -> timedelta:
    """After so many failures in a row."""
    return min(FIRST_DELAY * 2 ** min(failures - 1, 10), LONGEST_DELAY) if failures > 0 else timedelta(0)


def restarts_at(snapshot: Snapshot) -> datetime | None:
    """When what failed last may be created again, or could. Restarts in place have delays of their own, which the
    kubelet keeps."""
    ledger = snapshot.ledger
    return None if ledger.restarted_at is None else ledger.restarted_at + delay(ledger.restarts + ledger.disruptions)


def restart_left(snapshot: Snapshot) -> timedelta:
    at = restarts_at(snapshot)
    return timedelta(0) if at is None else max(at - snapshot.now, timedelta(0))
