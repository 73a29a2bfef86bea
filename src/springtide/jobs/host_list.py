# SPDX-License-Identifier: Apache-2.0
"""The pod names that a job may put into its Role and its host list, and messages about names that are taken.

A pod's name does not prove which job owns it: any user may have created a pod under a name that a job will need. So a
name is in the Role and in the host list only after its pod was observed with this job's uid as controller, and no
longer once that pod is about to be deleted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from springtide.api.kinds.conditions import condition, holds
from springtide.api.kinds.status import JobStatus
from springtide.jobs.actions import Event, Plan, RequeueAfter, StatusPatch
from springtide.jobs.endings import causes
from springtide.jobs.kind import Hosts, Replica
from springtide.jobs.observed import Pod
from springtide.jobs.reporting.conditions import REASON_LENGTH, Conditions, false, merged, true
from springtide.jobs.snapshot import Snapshot
from springtide.jobs.times import clock

NAME_TAKEN: Final = "NameTaken"
EXISTS: Final = "ErrResourceExists"
REMAINS: Final = "EarlierJobRemains"
_NAMED: Final = 5
"""The most objects that a message names."""


def hosts(snapshot: Snapshot, going: Iterable[Pod] = ()) -> Hosts:
    """The host list; `going` are pods that are deleted right after it is written."""
    gone = {pod.uid for pod in going}
    return Hosts(
        listed=_names(snapshot, snapshot.ledger.listed, gone),
        reachable=_names(snapshot, snapshot.workers, gone),
        serves=snapshot.ledger.serves,
        launcher_seen=_speaks(snapshot.launcher),
        fixed=snapshot.fixed,
        leaving=snapshot.leaving,
        members=_members(snapshot),
    )


def listed(snapshot: Snapshot) -> tuple[str, ...]:
    """The names in the host list that have a pod."""
    return _names(snapshot, snapshot.ledger.listed, ())


def _members(snapshot: Snapshot) -> tuple[Replica, ...]:
    if snapshot.shape.keeps_names:
        return ()
    alive = set(snapshot.ledger.members) - set(snapshot.ledger.dead)
    indices = sorted(alive | snapshot.workers.keys())
    return tuple(Replica(snapshot.shape.workers, index, snapshot.worker_name(index)) for index in indices)


def _names(snapshot: Snapshot, indices: Iterable[int], gone: Collection[str]) -> tuple[str, ...]:
    found = ((index, snapshot.workers.get(index)) for index in sorted(indices))
    here = (index for index, pod in found if pod is not None and pod.alive and pod.uid not in gone)
    return tuple(snapshot.worker_name(index) for index in here)


def _speaks(pod: Pod | None) -> bool:
    """A terminating launcher still reports its progress, and keeps its name until it is deleted."""
    return pod is not None and not pod.ended and not causes.lost(pod)


def exists(kind: str, name: str, manager: str) -> str:
    """Message about an object that does not belong to the job; its first sentence is upstream's."""
    return (
        f'Resource "{name}" of Kind "{kind}" already exists and is not managed by {manager}. It is left alone and the '
        f"job is given no rights to it: give the job another metadata.name, or delete that {kind}"
    )


def remains(kind: str, left: Mapping[str, datetime | None], now: datetime) -> str:
    """Message about objects left of an earlier job of the same name, with the time by which they are deleted."""
    more = f" and {len(left) - _NAMED} more" if len(left) > _NAMED else ""
    named = ", ".join(sorted(left)[:_NAMED])
    latest = max((at for at in left.values() if at is not None and at > now), default=None)
    until = f"; their grace periods end by {clock(latest, now)}" if latest is not None else ""
    return f"The job waits until objects of an earlier {kind} of the same name are deleted: {named}{more}{until}"


def told(old: JobStatus, planned: JobStatus, reason: str, message: str, now: datetime) -> JobStatus:
    """The planned status of a job that cannot use a name. Repeating it changes nothing, so it is written once."""
    message = message[:REASON_LENGTH]
    before = condition(old.conditions, NAME_TAKEN)
    known = before is not None and (before.status, before.message) == ("True", message)
    others = tuple(each for each in planned.conditions if each.type != NAME_TAKEN)
    new = (*others, before) if before and known else merged(others, true(NAME_TAKEN, reason, message), now)
    return replace(planned, conditions=new, explanation=message)


def is_news(old: JobStatus, message: str) -> bool:
    before = condition(old.conditions, NAME_TAKEN)
    return before is None or (before.status, before.message) != ("True", message[:REASON_LENGTH])


def waits(old: JobStatus, message: str, now: datetime, retry: timedelta) -> Plan:
    """The plan of a job while objects of its predecessor still exist: wait, and report it once."""
    again, before = RequeueAfter(retry), condition(old.conditions, NAME_TAKEN)
    if before is not None and (before.status, before.reason) == ("True", REMAINS):
        return Plan((again,), old)  # the remaining objects change all the time; no write for each change
    new = told(old, old, REMAINS, message, now)
    return Plan((StatusPatch(new), Event("Warning", REMAINS, message), again), new)


def freed(conditions: Conditions, now: datetime) -> Conditions:
    if not holds(conditions, NAME_TAKEN):
        return conditions
    return merged(conditions, false(NAME_TAKEN, "NamesFree", "All names that the job needs are its own."), now)
