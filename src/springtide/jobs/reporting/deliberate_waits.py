# SPDX-License-Identifier: Apache-2.0
"""The operator's own waits and their ends, as clauses of the job's explanation.

Each function returns an empty text if there is no wait. Times are times of day: they stay true without further writes.
"""

from __future__ import annotations

from springtide.jobs.launchers import launching
from springtide.jobs.policies import backoff_limit
from springtide.jobs.replicas import resizing, workers
from springtide.jobs.snapshot import Snapshot
from springtide.jobs.times import clock


def settling(snapshot: Snapshot) -> str:
    """Workers that are ready but held back from a launcher that has just started."""
    until = launching.settled_at(snapshot)
    listed = set(snapshot.ledger.listed)
    held = [index for index in launching.ready(snapshot) if index not in listed]
    if until is None or until <= snapshot.now or not held:
        return ""
    join = "joins" if len(held) == 1 else "join"
    return (
        f"{snapshot.worker_names(held)} {join} at {clock(until, snapshot.now)}, because the launcher overlooks hosts "
        "that are added soon after its start (annotation springtide.dev/settle-seconds)"
    )


def starting(snapshot: Snapshot) -> str:
    """A launcher that could start with the workers that are ready, and waits a while for the others."""
    until, ready = launching.starts_at(snapshot), len(launching.ready(snapshot))
    if until is None or until <= snapshot.now:
        return ""
    with_them = f"{ready} of {snapshot.wanted_size} workers"
    return f"the launcher starts with all workers, or at {clock(until, snapshot.now)} with {with_them}"


def draining(snapshot: Snapshot) -> str:
    leaving = snapshot.ledger.draining
    if not leaving:
        return ""
    names, latest = snapshot.worker_names(leaving), max(resizing.drained_at(snapshot, index) for index in leaving)
    what = "it" if len(leaving) == 1 else "each"
    return (
        f"{names} left the host list; {what} is deleted as soon as the launcher no longer uses it, "
        f"at {clock(latest, snapshot.now)} at the latest"
    )


def replacing(snapshot: Snapshot) -> str:
    """Workers whose replacements are in back-off after consecutive failures."""
    due = workers.replaced_at(snapshot)
    if not due:
        return ""
    what = "a failed worker is replaced" if len(due) == 1 else f"{len(due)} failed workers are replaced"
    first = f"at {clock(min(due), snapshot.now)}"
    return f"{what} {first}" if len(due) == 1 else f"{what}, the first {first}"


def restarting(snapshot: Snapshot) -> str:
    at, ledger = backoff_limit.restarts_at(snapshot), snapshot.ledger
    if at is None or at <= snapshot.now:
        return ""
    what = "The launcher failed and is created" if snapshot.shape.launcher else "A replica failed and is created"
    tries = f", retry {ledger.retries} of {snapshot.job.run.retries.by_engine}" if ledger.retries else ""
    return f"{what} again at {clock(at, snapshot.now)}{tries}"
