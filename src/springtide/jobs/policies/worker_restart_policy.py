# SPDX-License-Identifier: Apache-2.0
"""`restartPolicy` of the workers: which of them are replaced after they have ended or were deleted.

Workers that were lost with their nodes are replaced under every policy: drained, evicted, preempted, on a node that was
shut down or does not respond. A worker that is not replaced stays a member of the job, which keeps its size.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from springtide.api.kinds.replicas import RestartPolicy
from springtide.jobs.endings import causes
from springtide.jobs.observed import FAILED, Pod
from springtide.jobs.snapshot import Snapshot

NOT_REPLACED: Final = "WorkerNotReplaced"
CREATED: Final = "WorkerCreated"
"""Reasons of decisions."""
_FIRST_SIGNAL: Final = 129
_NOT_A_SIGNAL: Final = 255
"""With policy ExitCode workers are replaced from the first of these exit codes up to, but without, the second: a shell
reports 128 + N after signal N."""


def replaces(snapshot: Snapshot, pod: Pod | None) -> bool:
    """Whether a worker that has ended, or whose pod does not exist any more, is replaced."""
    policy = snapshot.shape.worker_restarts
    if policy in (None, RestartPolicy.ALWAYS) or (pod is not None and _lost_with_node(snapshot, pod)):
        return True
    if pod is None or pod.phase != FAILED or pod.terminating:
        return False
    code = pod.exit.code if pod.exit is not None else None
    signalled = code is not None and _FIRST_SIGNAL <= code < _NOT_A_SIGNAL
    return policy is RestartPolicy.ON_FAILURE or (policy is RestartPolicy.EXIT_CODE and signalled)


def _lost_with_node(snapshot: Snapshot, pod: Pod) -> bool:
    drained = pod.terminating and pod.node in snapshot.observed.leaving_nodes
    return drained or causes.disrupted(pod) or causes.shut_down(pod) or bool(pod.disruption)


def told(snapshot: Snapshot, name: str, cause: str) -> str:
    return f"{name} {cause}; it is not replaced ({_rule(snapshot)})"


def _rule(snapshot: Snapshot) -> str:
    return f"worker.restartPolicy {snapshot.shape.worker_restarts}"


def explained(snapshot: Snapshot) -> str:
    """`job-worker-1 exited with code 1 and is not replaced (worker.restartPolicy Never)`; empty if all workers live or
    are replaced. The last lines of the program's output are in the event."""
    dead = snapshot.ledger.dead
    if not dead:
        return ""
    if len(dead) > 1:
        return f"{snapshot.worker_names(sorted(dead))} have ended and are not replaced ({_rule(snapshot)})"
    cause = _briefly(snapshot.workers.get(dead[0]))
    return f"{snapshot.worker_name(dead[0])} {cause} and is not replaced ({_rule(snapshot)})"


def _briefly(pod: Pod | None) -> str:
    if pod is None:
        return "was deleted"
    return causes.worker(replace(pod, exit=replace(pod.exit, message="")) if pod.exit is not None else pod)


def too_few(snapshot: Snapshot) -> str:
    """Why the launcher will never be started with the workers that it waits for; empty if it may be. Once a launcher
    runs, it decides what becomes of the job."""
    ledger, needed = snapshot.ledger, snapshot.needed_size
    if not ledger.dead or ledger.serves or snapshot.wanted_size - len(ledger.dead) >= needed:
        return ""
    return f"{explained(snapshot)}, and the launcher starts with {needed} workers"
