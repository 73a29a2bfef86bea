# SPDX-License-Identifier: Apache-2.0
"""`max-wait-time`, an annotation of TrainingJobs: how long a job may wait until its launcher runs for the first time.

The time runs from the job's creation, for a job that was suspended from its last resumption. When it is over the job is
annotated, so that clients can tell this failure from others, and the plan that observes the annotation ends the job. A
launcher that runs meanwhile comes too late.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from springtide.api.kinds.conditions import RUNNING, SUSPENDED, condition, holds
from springtide.jobs import observed, times
from springtide.jobs.actions import Patch
from springtide.jobs.endings import outcomes
from springtide.jobs.endings.outcomes import MAX_WAIT_EXCEEDED, Outcome
from springtide.jobs.launchers import launching
from springtide.jobs.ledger import Ledger
from springtide.jobs.observed import Key
from springtide.jobs.reporting import wait_causes
from springtide.jobs.snapshot import Snapshot
from springtide.jobs.times import NEVER

_OVER: Final = timedelta(0)


def left(snapshot: Snapshot) -> timedelta:
    """How long the job may still wait."""
    limit, since = snapshot.shape.max_wait, _since(snapshot)
    if limit is None or since is None or _has_run(snapshot) or (_runs(snapshot) and not _is_marked(snapshot)):
        return NEVER
    return times.after(since, limit.time) - snapshot.now


def marking(snapshot: Snapshot) -> Patch | None:
    """The annotations of a job that has waited too long, unless it has them."""
    limit, job = snapshot.shape.max_wait, snapshot.job
    if limit is None or left(snapshot) > _OVER or _is_marked(snapshot):
        return None
    key, body = Key(job.api_version, job.kind, job.metadata.name), {"metadata": {"annotations": dict(limit.marks)}}
    return Patch(key, body, job.metadata.resource_version, job.metadata.uid)


def passed(snapshot: Snapshot) -> Outcome | None:
    limit = snapshot.shape.max_wait
    if limit is None or left(snapshot) > _OVER or not _is_marked(snapshot):
        return None
    seconds, ready = int(limit.time.total_seconds()), len(launching.ready(snapshot))
    message = (
        f"{snapshot.title} has failed because its launcher did not run within {seconds} s ({limit.source}); "
        f"{ready} of {snapshot.wanted_size} workers were ready"
    )
    cause = wait_causes.found(snapshot)
    return outcomes.failure(snapshot, MAX_WAIT_EXCEEDED, f"{message}: {cause.message}" if cause else message)


def noted(snapshot: Snapshot) -> Ledger:
    """The ledger with the fact that a launcher has run."""
    ledger = snapshot.ledger
    if snapshot.shape.max_wait is None or ledger.has_run or not (_has_run(snapshot) or _runs(snapshot)):
        return ledger
    return replace(ledger, has_run=True)


def _since(snapshot: Snapshot) -> datetime | None:
    job, status = snapshot.job, snapshot.job.status
    if job.run.suspend or holds(status.conditions, SUSPENDED):
        return None
    if condition(status.conditions, SUSPENDED) is not None:
        return status.start_time
    return job.metadata.creation_timestamp or status.start_time


def _has_run(snapshot: Snapshot) -> bool:
    """The ledger may be lost. The condition is also set for a job that is suspended before it has run."""
    conditions = snapshot.job.status.conditions
    ran = condition(conditions, RUNNING) is not None and condition(conditions, SUSPENDED) is None
    return snapshot.ledger.has_run or ran


def _runs(snapshot: Snapshot) -> bool:
    pod = snapshot.launcher
    return pod is not None and (pod.started is not None or pod.phase in (observed.RUNNING, observed.SUCCEEDED))


def _is_marked(snapshot: Snapshot) -> bool:
    limit = snapshot.shape.max_wait
    return limit is not None and limit.marks.items() <= snapshot.job.metadata.annotations.items()
