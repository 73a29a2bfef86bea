# SPDX-License-Identifier: Apache-2.0
"""What the operator itself waits for, and until when, as clauses of the job's explanation.

Each is empty where nothing is waited for. Times are times of day: they stay true without being written again.
"""

from __future__ import annotations

from springtide.jobs.launchers import launching
from springtide.jobs.policies import backoff_limit
from springtide.jobs.replicas import resizing, workers
from springtide.jobs.snapshot import Situation
from springtide.jobs.times import clock


def settling(situation: Situation) -> str:
    """Workers that are ready and not yet given to a launcher that has just started."""
    until = launching.settled_at(situation)
    listed = set(situation.ledger.listed)
    held = [index for index in launching.ready(situation) if index not in listed]
    if until is None or until <= situation.now or not held:
        return ""
    join = "joins" if len(held) == 1 else "join"
    return (
        f"{situation.worker_names(held)} {join} at {clock(until, situation.now)}, because the launcher overlooks hosts "
        "that are added soon after its start (annotation springtide.dev/settle-seconds)"
    )


def starting(situation: Situation) -> str:
    """A launcher that could start with the workers that are ready, and waits a while for the others."""
    until, ready = launching.starts_at(situation), len(launching.ready(situation))
    if until is None or until <= situation.now:
        return ""
    with_them = f"{ready} of {situation.wanted_size} workers"
    return f"the launcher starts with all workers, or at {clock(until, situation.now)} with {with_them}"


def draining(situation: Situation) -> str:
    leaving = situation.ledger.draining
    if not leaving:
        return ""
    names, latest = situation.worker_names(leaving), max(resizing.drained_at(situation, index) for index in leaving)
    what = "it" if len(leaving) == 1 else "each"
    return (
        f"{names} left the host list; {what} is deleted as soon as the launcher no longer uses it, "
        f"at {clock(latest, situation.now)} at the latest"
    )


def replacing(situation: Situation) -> str:
    """Workers whose successors are held back because several in a row have failed."""
    due = workers.replaced_at(situation)
    if not due:
        return ""
    what = "a failed worker is replaced" if len(due) == 1 else f"{len(due)} failed workers are replaced"
    first = f"at {clock(min(due), situation.now)}"
    return f"{what} {first}" if len(due) == 1 else f"{what}, the first {first}"


def restarting(situation: Situation) -> str:
    at, ledger = backoff_limit.restarts_at(situation), situation.ledger
    if at is None or at <= situation.now:
        return ""
    what = "The launcher failed and is created" if situation.shape.launcher else "A replica failed and is created"
    tries = f", retry {ledger.retries} of {situation.job.run.retries.by_engine}" if ledger.retries else ""
    return f"{what} again at {clock(at, situation.now)}{tries}"
