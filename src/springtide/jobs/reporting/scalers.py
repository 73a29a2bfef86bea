# SPDX-License-Identifier: Apache-2.0
"""What users read about scalers on the job itself: the conditions Scaling, ScaleSucceeded and ScaleFailed, the state of
the job and its explanation.

As with et-operator these conditions are never set to False: the last one of them counts.
"""

from __future__ import annotations

from datetime import datetime

from msgspec.structs import replace

from springtide.api.kinds.conditions import Condition, condition
from springtide.api.kinds.scalers import ENDED, SCALING
from springtide.jobs.reporting import quoting
from springtide.jobs.reporting.conditions import REASON_LENGTH, Conditions, appended, true
from springtide.jobs.reporting.state_name import State, StateName
from springtide.jobs.scaling import advancing, newcomers, scripts, turns, victims
from springtide.jobs.scaling.scaler import Scaler
from springtide.jobs.snapshot import Snapshot
from springtide.jobs.times import LONG_AGO, clock


def told(snapshot: Snapshot, conditions: Conditions) -> Conditions:
    """The job's conditions with the end of the scaler that ended last, and with the one in progress. They are derived
    from the scalers alone, so that no end is missed if the operator dies before it writes them. Other clients may
    write the status of a scaler: an end in the future, which would hide all later ones, is not told."""
    ended = [each for each in snapshot.observed.scalers if turns.phase(each).ended and _ended_at(each) <= snapshot.now]
    last = max(ended, key=lambda each: (_ended_at(each), each.order), default=None)
    if last is not None and _ended_at(last) >= _told_at(conditions):
        own = _end(last)
        conditions = _added(conditions, last, own.type, own.reason, own.message, _ended_at(last))
    if snapshot.scaler is None:
        return conditions
    own = last_scaling(snapshot.scaler)
    since = snapshot.scaler.status.start_time or own.last_transition_time or LONG_AGO  # not now: that always changes
    return _added(conditions, snapshot.scaler, SCALING, own.reason, own.message, since)


def _end(scaler: Scaler) -> Condition:
    """The condition in which it ended. Other clients may write others behind it, such as one that finishes a job."""
    return _own(scaler, turns.phase(scaler).value)


def last_scaling(scaler: Scaler) -> Condition:
    """The condition of a scaler in progress."""
    return _own(scaler, SCALING)


def _own(scaler: Scaler, type_: str) -> Condition:
    """Other clients may have written its texts."""
    found = condition(scaler.status.conditions, type_) or Condition(type=type_, status="True")
    return replace(found, reason=quoting.line(found.reason, quoting.REASON), message=quoting.lines(found.message))


def _added(conditions: Conditions, scaler: Scaler, type_: str, reason: str, message: str, at: datetime) -> Conditions:
    text = f"{scaler.title}: {message}"[:REASON_LENGTH]
    new, before = true(type_, reason, text), condition(conditions, type_)
    known = before is not None and (before.status, before.message) == ("True", new.message)
    if known and before is not None and (before.last_update_time or LONG_AGO) >= at.replace(microsecond=0):
        return conditions
    return appended(conditions, new, at)


def _told_at(conditions: Conditions) -> datetime:
    """When the end of a scaler was last written: a scaler that ended before it does not count, even if the later one
    has been deleted."""
    times = (each.last_update_time for each in conditions if each.type in ENDED)
    return max((at.replace(microsecond=0) for at in times if at is not None), default=LONG_AGO)


def _ended_at(scaler: Scaler) -> datetime:
    return scaler.status.completion_time or LONG_AGO


def state(snapshot: Snapshot) -> State | None:
    """While a scaler is in progress. Drains are explained by `deliberate_waits`, so no worker drains here."""
    scaler = snapshot.scaler
    if scaler is None:
        return None
    name = StateName.SCALING_OUT if scaler.adds else StateName.SCALING_IN
    return State(name, f"{scaler.title}: {_script(snapshot) or _stage(snapshot, scaler)}")


def _script(snapshot: Snapshot) -> str:
    scaler, again = snapshot.scaler, scripts.again_at(snapshot)
    if scaler is None or turns.script_is_done(scaler):
        return ""
    if scripts.is_due(snapshot) and again is not None and again > snapshot.now:
        return f"{scaler.script} failed and is run again at {clock(again, snapshot.now)}"
    ran = scripts.run(snapshot)
    return f"{scaler.script} runs in the launcher" if scripts.is_due(snapshot) or ran is not None else ""


def _stage(snapshot: Snapshot, scaler: Scaler) -> str:
    if not scaler.adds:
        left = victims.remaining(snapshot)
        if not left:
            return "the workers are deleted, and the new size is written to the job"
        return f"{snapshot.worker_names(left)} {_is(len(left))} terminating"
    count = newcomers.awaited(snapshot)
    if not count:
        return "the new workers are in the host list"
    ready = len(newcomers.ready(snapshot))
    if ready >= count:
        return "all new workers are ready; they are added to the host list together"
    until = clock(advancing.deadline(scaler, snapshot.now), snapshot.now)
    return (
        f"{ready} of {count} new workers {_is(ready)} ready; all of them are removed again unless they are by {until}"
    )


def _is(count: int) -> str:
    return "is" if count == 1 else "are"
