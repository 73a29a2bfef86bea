# SPDX-License-Identifier: Apache-2.0
"""Changes of the ranks: from the launcher's report to events of the job and to its explanation.

Each change has a number, and the status records the last one reported, so that a restarted operator reports none twice.
"""

from __future__ import annotations

from typing import Final

from springtide.api.kinds.status import JobStatus
from springtide.jobs.actions import Event
from springtide.jobs.reporting import progress
from springtide.jobs.reporting.progress import Change, Idle
from springtide.jobs.snapshot import Snapshot
from springtide.jobs.times import clock

_HOST: Final = 63
_EVENTS: Final = {"began": "TrainingStarted", "lost": "RankLost", "joined": "RankJoined", "left": "RankLeft"}


def events(snapshot: Snapshot, new: JobStatus) -> tuple[Event, ...]:
    """The changes that this status is the first to include. Ranks that a suspension ends are not lost."""
    after, now = snapshot.job.status.progress, new.progress
    if now is None or now.last_change is None:
        return ()
    known = (after.last_change or 0) if after is not None and after.launcher == now.launcher else 0
    changes = [each for each in progress.of(snapshot.reporter).membership if known < each.number <= now.last_change]
    if snapshot.job.run.suspend:
        changes = [each for each in changes if each.what != "lost"]
    return tuple(event for each in changes if (event := _event(each)) is not None)


def _event(change: Change) -> Event | None:
    reason = _EVENTS.get(change.what)
    if reason is None:
        return None  # from a later release
    hosts = ", ".join(host(each) for each in change.hosts[:3])
    where = hosts if change.count <= len(change.hosts[:3]) else f"{hosts} and others"
    match change.what:
        case "began":
            return Event("Normal", reason, f"{_training(change.size)} on {where}.")
        case "lost":
            who = "A rank" if change.rank is None else f"Rank {change.rank}"
            return Event("Warning", reason, f"{who} on {hosts} {change.why or 'was lost'}; {_remaining(change.size)}.")
        case "left":
            return Event("Normal", reason, f"{_ranks(change)} left {where}; {_training(change.size)}.")
        case _:
            number = f" as rank {change.rank}" if change.rank is not None else ""
            return Event("Normal", reason, f"{_ranks(change)} on {where} joined{number}; {_training(change.size)}.")


def _training(size: int) -> str:
    return "no rank trains" if not size else "1 rank trains" if size == 1 else f"{size} ranks train"


def _remaining(size: int) -> str:
    return "no rank trains" if not size else f"{size} {'rank continues' if size == 1 else 'ranks continue'} training"


def _ranks(change: Change) -> str:
    return "A rank" if change.count == 1 else f"{change.count} ranks"


def explained(snapshot: Snapshot) -> str:
    """Why fewer workers train than are listed; empty if all do, or if the number is not known."""
    said, listed, wanted = progress.of(snapshot.launcher), len(snapshot.ledger.listed), snapshot.wanted_size
    if said.trains is None or said.trains >= listed:
        return ""
    why = "; ".join(_idle(each, snapshot) for each in said.waits[:3]) or "the others are joining"
    return f"{said.trains} of {wanted} workers {'trains' if said.trains == 1 else 'train'}; {why}"


def _idle(idle: Idle, snapshot: Snapshot) -> str:
    until = f" until {clock(idle.until, snapshot.now)}" if idle.until is not None else ""
    who = f"{host(idle.host)} " if idle.host else ""
    return f"{who}{idle.why}{until}"


def host(name: str) -> str:
    """The host name without its domain."""
    return name.partition(".")[0][:_HOST]
