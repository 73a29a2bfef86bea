# SPDX-License-Identifier: Apache-2.0
"""Training progress: from the launcher's report to the job's status."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from msgspec.structs import replace

from springtide.api.kinds.status import JobStatus, TrainingProgress
from springtide.jobs.reporting import progress
from springtide.jobs.snapshot import Snapshot

OFTEN: Final = timedelta(seconds=10)
"""The shortest time between status writes that change only the progress."""


def reported(snapshot: Snapshot) -> TrainingProgress | None:
    """The newest report. Ranks of a launcher that has ended do not train; a launcher that has just started has reported
    nothing yet, and may continue from any step."""
    old, pod = snapshot.job.status.progress, snapshot.reporter
    said = progress.of(pod)
    if pod is None or said.at is None:
        begins = pod is not None and snapshot.launcher_runs and old is not None and old.launcher != pod.uid
        return None if old is None or begins else _unless_same(snapshot, replace(old, ranks=0))
    ranks = said.ranks if snapshot.launcher_runs else 0
    last = max((each.number for each in said.membership), default=None)
    if last is None and old is not None and old.launcher == pod.uid:
        last = old.last_change
    new = TrainingProgress(step=said.reached, loss=said.loss_text, ranks=ranks, last_change=last, launcher=pod.uid)
    return _unless_same(snapshot, new)


def _unless_same(snapshot: Snapshot, new: TrainingProgress) -> TrainingProgress:
    old = snapshot.job.status.progress
    if old is not None and replace(new, update_time=old.update_time) == old:
        return old
    return replace(new, update_time=snapshot.now)


def too_soon(snapshot: Snapshot, new: JobStatus) -> timedelta:
    """How long a status that changes only step or loss has to wait; zero if it need not."""
    old = snapshot.job.status
    before, now = old.progress, new.progress
    if before is None or now is None or before.update_time is None or replace(new, progress=before) != old:
        return timedelta(0)
    if (before.ranks, before.last_change, before.launcher) != (now.ranks, now.last_change, now.launcher):
        return timedelta(0)
    return max(before.update_time + OFTEN - snapshot.now, timedelta(0))
