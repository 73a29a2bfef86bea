# SPDX-License-Identifier: Apache-2.0
"""`ttlSecondsAfterFinished`: when a finished job is deleted."""

from __future__ import annotations

from datetime import timedelta

from springtide.jobs import times
from springtide.jobs.actions import Delete
from springtide.jobs.observed import Key
from springtide.jobs.snapshot import Snapshot
from springtide.jobs.times import NEVER


def left(snapshot: Snapshot) -> timedelta:
    """The remaining time to live of the finished job."""
    seconds, end = snapshot.job.run.ttl_seconds_after_finished, snapshot.job.status.completion_time
    if seconds is None or end is None:
        return NEVER
    return times.after(end, timedelta(seconds=seconds)) - snapshot.now


def deletion(snapshot: Snapshot) -> Delete:
    job = snapshot.job
    return Delete(Key(job.api_version, job.kind, job.metadata.name), job.metadata.uid)
