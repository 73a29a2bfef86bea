# SPDX-License-Identifier: Apache-2.0
"""`springtide.dev/restart: whole-job`: when one replica dies, all replicas are restarted together.

Without it a failed replica is created again alone, and its peers wait for it in a collective until they time out. Jobs
that are resized while they run ignore the annotation: their programs cope with members that come and go.

A restart is kept in the ledger like that of a single replica: the pods that are to go are those whose failure counts as
handled. Nothing is created before the last of them is gone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from springtide.api.job import Job
from springtide.jobs.actions import Decision
from springtide.jobs.endings import causes
from springtide.jobs.kind import Replica
from springtide.jobs.ledger import Ledger, token
from springtide.jobs.observed import Pod
from springtide.jobs.snapshot import Snapshot

ANNOTATION: Final = "springtide.dev/restart"
WHOLE_JOB: Final = "whole-job"
MOST: Final = 15_000
"""Replicas of a job that is restarted as a whole: the ledger names all pods that are to go."""


def asked(job: Job[Any]) -> bool:
    wanted = job.metadata.annotations.get(ANNOTATION) == WHOLE_JOB and job.elastic is None
    return wanted and sum(role.replicas for role in job.roles.values()) <= MOST


def waits(snapshot: Snapshot) -> bool:
    """Whether pods of the run before still exist."""
    return asked(snapshot.job) and any(map(snapshot.ledger.has_retried, snapshot.observed.pods))


def leaves(snapshot: Snapshot, pod: Pod) -> bool:
    """Whether the pod runs on without the replica that died."""
    return asked(snapshot.job) and pod.alive and snapshot.ledger.has_retried(pod)


def answered(snapshot: Snapshot, ledger: Ledger, there: Mapping[str, Pod]) -> tuple[Ledger, list[Decision]]:
    """The ledger with a restart of all replicas, if one of them has died since the last start. `ledger` has the new
    failures counted."""
    if not asked(snapshot.job):
        return ledger, []
    failed = set(ledger.retried) - set(snapshot.ledger.retried)
    names = [pod.name for pod in there.values() if token(pod.uid) in failed]
    names += [each.name for each in snapshot.fixed if snapshot.ledger.complete and _is_gone(ledger, each, there)]
    if names:
        message = f"{names[0]} {_how(there.get(names[0]))}; all replicas are restarted together ({ANNOTATION})"
        everyone = tuple(token(pod.uid) for pod in there.values())
        sizes = {} if snapshot.too_large else snapshot.asked_sizes  # pods may be created by this very plan
        again = replace(ledger, retried=everyone, done=(), sizes=sizes, complete=False, restarted_at=snapshot.now)
        return again, [Decision(snapshot.now, "JobRestarted", message, warning=True)]
    complete = all(each.name in there or each.name in ledger.done for each in snapshot.fixed)
    return (replace(ledger, complete=True) if complete and not waits(snapshot) else ledger), []


def _is_gone(ledger: Ledger, each: Replica, there: Mapping[str, Pod]) -> bool:
    """A replica that was deleted, by a user or by an eviction."""
    pod = there.get(each.name)
    return each.name not in ledger.done and (pod is None or (pod.terminating and not ledger.has_retried(pod)))


def _how(pod: Pod | None) -> str:
    return causes.worker(pod) if pod is not None else "was deleted"
