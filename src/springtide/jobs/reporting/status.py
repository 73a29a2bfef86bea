# SPDX-License-Identifier: Apache-2.0
"""The status of a job as it is to be, and the events of its changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from springtide.api.bounds import limit_advice
from springtide.api.kinds import conditions as types
from springtide.api.kinds.conditions import Condition, condition, finished, holds
from springtide.api.kinds.scalers import SCALE_FAILED, SCALE_SUCCEEDED, SCALING
from springtide.api.kinds.status import JobStatus, ReplicaStatus
from springtide.api.names import LABEL_LENGTH
from springtide.jobs import host_list
from springtide.jobs.actions import Event
from springtide.jobs.endings.outcomes import Outcome, counts
from springtide.jobs.launchers import launching
from springtide.jobs.replicas import deferring
from springtide.jobs.reporting import (
    placement,
    progress,
    refusing,
    scalers,
    setbacks,
    state,
    training_progress,
    wait_causes,
)
from springtide.jobs.reporting.conditions import Conditions, false, merged, true, updated
from springtide.jobs.snapshot import Snapshot

BOUNDED: Final = "SizeOutOfBounds"
LIMITED: Final = "TooManyWorkers"
NAMES_USED_UP: Final = "NamesUsedUp"
CANNOT_START: Final = "CannotStart"
SET_BACK: Final = "TrainingSetBack"
_MESSAGE_LENGTH: Final = 1024


def ongoing(snapshot: Snapshot) -> JobStatus:
    """The status of a job that has neither finished nor is suspended."""
    old = snapshot.job.status
    conditions = _created(snapshot, old.conditions)
    resumed = holds(conditions, types.SUSPENDED)
    kind = snapshot.job.kind
    if resumed:
        conditions = merged(conditions, false(types.SUSPENDED, f"{kind}Resumed", f"{kind} resumed"), snapshot.now)
    if state.restarts(snapshot):
        message = f"{snapshot.title} is restarting."
        conditions = merged(conditions, true(types.RESTARTING, f"{kind}Restarting", message), snapshot.now)
    if state.all_run(snapshot):
        message = f"{snapshot.title} is running."
        conditions = merged(conditions, true(types.RUNNING, f"{kind}Running", message), snapshot.now)
    conditions = _named(snapshot, _limited(snapshot, _bounded(snapshot, conditions)))
    conditions = _set_back(snapshot, _deferred(snapshot, _startable(snapshot, conditions)))
    conditions = scalers.told(snapshot, conditions)
    cause = wait_causes.found(snapshot)
    conditions = wait_causes.told(conditions, cause, snapshot.now)
    start = snapshot.now if resumed or old.start_time is None else old.start_time
    told = wait_causes.explained(conditions, cause)
    return _filled(snapshot, replace(old, conditions=conditions, start_time=start), told)


def held_back(snapshot: Snapshot) -> JobStatus:
    """The status of a job that asks for more workers than can run, and has none."""
    conditions = _limited(snapshot, _created(snapshot, snapshot.job.status.conditions))
    if snapshot.shape.fixed:
        conditions = _startable(snapshot, conditions)
    return replace(
        _filled(snapshot, replace(snapshot.job.status, conditions=conditions)),
        explanation=snapshot.too_long or _too_large(snapshot),
    )


def suspended(snapshot: Snapshot) -> JobStatus:
    kind, conditions = snapshot.job.kind, _created(snapshot, snapshot.job.status.conditions)
    if not holds(conditions, types.SUSPENDED):
        new = true(types.SUSPENDED, f"{kind}Suspended", f"{kind} suspended")
        conditions = merged(conditions, new, snapshot.now)
    stopped = false(types.RUNNING, f"{kind}Suspended", f"{snapshot.title} is suspended.")
    conditions = wait_causes.told(merged(conditions, stopped, snapshot.now), None, snapshot.now)
    conditions = scalers.told(snapshot, conditions)
    return _filled(snapshot, replace(snapshot.job.status, conditions=conditions))


def ended(snapshot: Snapshot, outcome: Outcome) -> JobStatus:
    old, kind, now = snapshot.job.status, snapshot.job.kind, snapshot.now
    conditions = _created(snapshot, old.conditions)
    if condition(conditions, types.RUNNING) is None:
        message = f"{snapshot.title} is finished but Running condition was never set."
        conditions = merged(conditions, false(types.RUNNING, f"{kind}Running", message), outcome.at)
    if outcome.succeeded:
        conditions = _made_good(snapshot, conditions)  # some launchers report only when they end
    conditions = wait_causes.told(conditions, None, now)
    type_ = types.SUCCEEDED if outcome.succeeded else types.FAILED
    conditions = merged(conditions, true(type_, outcome.reason, outcome.message[:_MESSAGE_LENGTH]), now)
    start = old.start_time or now
    return _filled(snapshot, replace(old, conditions=conditions, start_time=start, completion_time=outcome.at))


def over(snapshot: Snapshot) -> JobStatus:
    """The status of a job that finished before: remaining worker pods no longer count."""
    old = snapshot.job.status
    _, _, wanted = old.workers.partition("/")
    workers = f"0/{wanted}" if wanted else old.workers  # earlier releases left the last number of workers there
    if snapshot.shape.fixed:
        old = replace(old, explanation=state.state(snapshot, old.conditions).explanation)
    old = snapshot.kind.status(snapshot, replace(old, placement=placement.of(snapshot, old)))
    if not snapshot.workers and not old.replicas:
        return old if old.workers == workers else replace(old, workers=workers)
    replicas, roles = sum(pod.alive for pod in snapshot.workers.values()), dict(old.replica_statuses)
    if snapshot.shape.launcher:
        roles[snapshot.shape.workers] = ReplicaStatus()
    return replace(old, replicas=replicas, replica_statuses=roles, workers=workers)


def _created(snapshot: Snapshot, conditions: Conditions) -> Conditions:
    conditions = host_list.freed(refusing.mended(conditions, snapshot.now), snapshot.now)
    if condition(conditions, types.CREATED) is not None:
        return conditions
    message = f"{snapshot.title} is created."
    return merged(conditions, true(types.CREATED, f"{snapshot.job.kind}Created", message), snapshot.now)


def _bounded(snapshot: Snapshot, conditions: Conditions) -> Conditions:
    role, bounds = snapshot.job.roles.get(snapshot.shape.workers), snapshot.sizes.bounds
    outside = role is not None and bounds is not None and not bounds.hold(role.replicas)
    if outside and role is not None:
        message = f"{role.replicas} workers are requested, {snapshot.wanted_size} run: must be {bounds}"
        return merged(conditions, true(BOUNDED, "NearestBoundIsRun", message), snapshot.now)
    if holds(conditions, BOUNDED):
        return merged(conditions, false(BOUNDED, "WithinBounds", "The size is within its bounds."), snapshot.now)
    return conditions


def _startable(snapshot: Snapshot, conditions: Conditions) -> Conditions:
    if snapshot.shape.fixed:
        fits = false(CANNOT_START, "VariablesFit", "All variables are short enough to start the replicas with.")
        return _explained(snapshot, conditions, "VariableTooLong", snapshot.too_long, fits)
    fine = false(CANNOT_START, "EnoughWorkers", "The launcher can start with the requested workers.")
    return _explained(snapshot, conditions, "TooFewWorkers", launching.refusal(snapshot), fine)


def _deferred(snapshot: Snapshot, conditions: Conditions) -> Conditions:
    fine = false(deferring.DEFERRED, "SizeApplied", "The job runs with the requested size.")
    reason = "LauncherNotElastic" if snapshot.shape.launcher else "NotElastic"
    return _explained(snapshot, conditions, reason, deferring.explained(snapshot), fine)


def _explained(snapshot: Snapshot, conditions: Conditions, reason: str, message: str, fine: Condition) -> Conditions:
    """True with the message while there is one; `fine` when it has become empty."""
    if message:
        return updated(conditions, true(fine.type, reason, message), snapshot.now)
    return merged(conditions, fine, snapshot.now) if holds(conditions, fine.type) else conditions


def _limited(snapshot: Snapshot, conditions: Conditions) -> Conditions:
    if message := _too_large(snapshot):
        return merged(conditions, true(LIMITED, "AboveOperatorLimit", message), snapshot.now)
    if holds(conditions, LIMITED):
        met = false(LIMITED, "WithinOperatorLimit", "The operator runs jobs of this size.")
        return merged(conditions, met, snapshot.now)
    return conditions


def _too_large(snapshot: Snapshot) -> str:
    """Empty for a job that is not."""
    if snapshot.oversized is None:
        return ""
    role, asked = snapshot.oversized
    kept = f"continues with {snapshot.kept_size}" if snapshot.kept_size else "is not started"
    advice = limit_advice(asked, snapshot.sizes.bounds if role == snapshot.shape.workers else None)
    most = snapshot.observed.settings.max_workers
    what = deferring.replicas(snapshot, role, asked)
    return f"{what} requested, at most {most} are allowed: the job {kept}; {advice}"


def _set_back(snapshot: Snapshot, conditions: Conditions) -> Conditions:
    lost = snapshot.ledger.set_back
    if lost is not None:
        return updated(conditions, true(SET_BACK, lost.reason, lost.message), snapshot.now)
    return _made_good(snapshot, conditions)


def _made_good(snapshot: Snapshot, conditions: Conditions) -> Conditions:
    if not holds(conditions, SET_BACK):
        return conditions
    found = condition(conditions, SET_BACK)
    if found is not None and found.reason == setbacks.NOT_REPORTED:
        fine = false(SET_BACK, "RunsAgain", "A new launcher runs; how far training had come before is not known.")
    else:
        fine = false(SET_BACK, "CaughtUp", "Training has come as far as it was before its launcher was lost.")
    return merged(conditions, fine, snapshot.now)


def _named(snapshot: Snapshot, conditions: Conditions) -> Conditions:
    """Names get longer with every replacement, so the next worker's name may be too long."""
    index = snapshot.ledger.next_index
    if len(snapshot.members) < snapshot.wanted_size and not snapshot.nameable(index):
        name = snapshot.worker_name(index)
        message = (
            f"No more workers can be named: {name} has more than {LABEL_LENGTH} characters; shorten the job's name"
        )
        return merged(conditions, true(NAMES_USED_UP, "NameTooLong", message), snapshot.now)
    return conditions


def _filled(snapshot: Snapshot, status: JobStatus, cause: str = "") -> JobStatus:
    """The status with all fields that are derived from the snapshot."""
    bounds = snapshot.sizes.bounds
    name, explanation = state.state(snapshot, status.conditions, cause)
    labels = snapshot.kind.selector(snapshot.job)
    filled = replace(
        status,
        replica_statuses=_replica_statuses(snapshot, status),
        state=name.value,
        explanation=explanation,
        workers=f"{_serving(snapshot, status)}/{snapshot.wanted_size}",
        replicas=sum(pod.alive for pod in snapshot.workers.values()),
        placement=placement.of(snapshot, status),
        min_replicas=bounds.min if bounds else None,
        max_replicas=bounds.max if bounds else None,
        selector=",".join(f"{name}={value}" for name, value in labels.items()),
        restarts=_restarts(snapshot),
        progress=training_progress.reported(snapshot),
    )
    return snapshot.kind.status(snapshot, filled)


def _serving(snapshot: Snapshot, status: JobStatus) -> int:
    """0 for a job that has finished or is suspended, as kubectl shows 0/1 for a completed pod."""
    if finished(status.conditions) or snapshot.job.run.suspend:
        return 0
    used, reported = deferring.training(snapshot), progress.of(snapshot.launcher).trains
    serving = len(launching.ready(snapshot)) if used is None else used
    return serving if reported is None or not snapshot.launcher_runs else min(serving, reported)


def _restarts(snapshot: Snapshot) -> dict[str, int]:
    ledger, shape = snapshot.ledger, snapshot.shape
    if not shape.launcher:
        return dict(ledger.tries)
    counts = {shape.launcher: ledger.restarts + ledger.disruptions, shape.workers: ledger.replaced}
    return {role: count for role, count in counts.items() if count}


def _replica_statuses(snapshot: Snapshot, status: JobStatus) -> dict[str, ReplicaStatus]:
    roles = {}
    if snapshot.form.exists(snapshot):
        roles[snapshot.shape.launcher] = snapshot.form.counts(snapshot)
    done = bool(snapshot.shape.launcher) and finished(status.conditions)
    for role in snapshot.job.roles:
        if role != snapshot.shape.launcher:
            roles[role] = ReplicaStatus() if done else counts(snapshot.observed.of(role))
    return roles


_NORMAL: Final = frozenset({types.CREATED, types.RUNNING, types.SUSPENDED, types.SUCCEEDED, SCALE_SUCCEEDED})
_TOLD_ANEW: Final = frozenset({deferring.DEFERRED, CANNOT_START, SCALE_SUCCEEDED, SCALE_FAILED})
"""Conditions about a size: a changed message is reported again."""
_TOLD_BEFORE: Final = frozenset({SET_BACK, SCALING})
"""Conditions whose event was recorded with the decision."""


def events(old: JobStatus, new: JobStatus, is_quiet: Callable[[str], bool]) -> tuple[Event, ...]:
    """The events of conditions that became true: on transitions only."""
    loud = (each for each in new.conditions if each.type not in _TOLD_BEFORE and not is_quiet(each.type))
    changed = (each for each in loud if _has_changed(old, each))
    return tuple(_event(each) for each in changed)


def _has_changed(old: JobStatus, new: Condition) -> bool:
    before = condition(old.conditions, new.type)
    if new.type == wait_causes.WAITING:
        return new.status == "True" and wait_causes.is_news(before, new.reason, new.message)
    if new.status == "True":
        other_size = new.type in _TOLD_ANEW and before is not None and before.message != new.message
        return before is None or (before.status, before.reason) != (new.status, new.reason) or other_size
    return new.type == types.SUSPENDED and before is not None and before.status == "True"


def _event(new: Condition) -> Event:
    return Event("Normal" if new.type in _NORMAL else "Warning", new.reason, new.message)
