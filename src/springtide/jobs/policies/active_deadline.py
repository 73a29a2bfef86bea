# SPDX-License-Identifier: Apache-2.0
"""`activeDeadlineSeconds`: how long a job may run. A launcher that is a batch Job enforces the deadline itself."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from springtide.jobs import times
from springtide.jobs.endings.outcomes import DEADLINE_EXCEEDED, Outcome, failure
from springtide.jobs.snapshot import Snapshot
from springtide.jobs.times import NEVER

_CENTURY: Final = timedelta(days=36500)
"""A deadline is a 64-bit number, more seconds than `datetime` can represent."""


def passed(snapshot: Snapshot) -> Outcome | None:
    if left(snapshot) > timedelta(0):
        return None
    seconds = snapshot.job.run.active_deadline_seconds
    message = f"{snapshot.title} has failed because it was active longer than specified deadline ({seconds} s)"
    return failure(snapshot, DEADLINE_EXCEEDED, message)


def left(snapshot: Snapshot) -> timedelta:
    seconds, start = snapshot.job.run.active_deadline_seconds, snapshot.job.status.start_time
    if seconds is None or start is None or snapshot.job.run.suspend or snapshot.form.in_batch_job:
        return NEVER
    if seconds > _CENTURY.total_seconds():
        return NEVER
    return times.after(start, timedelta(seconds=seconds)) - snapshot.now
