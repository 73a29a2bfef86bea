# SPDX-License-Identifier: Apache-2.0
"""The status of a scaler after each transition. Conditions are added as et-operator does: the last one is shown.

Messages contain texts that users wrote, such as paths and names, so control characters are replaced.
"""

from __future__ import annotations

from datetime import datetime

from msgspec.structs import replace

from springtide.api.kinds.scalers import (
    CREATED,
    SCALE_FAILED,
    SCALE_SUCCEEDED,
    SCALING,
    SCRIPT_EXECUTED,
    ScalerStatus,
)
from springtide.jobs.reporting import quoting
from springtide.jobs.reporting.conditions import REASON_LENGTH, Conditions, appended, true, updated
from springtide.jobs.scaling import phases
from springtide.jobs.scaling.judging import Change
from springtide.jobs.scaling.phases import ScalerPhase, Trigger

ACCEPTED = "ScalerCreated"
STARTED = "ScalingStart"
SCRIPT_DONE = "ScriptExecuted"
OUT_SUCCEEDED, OUT_FAILED = "ScalingOutSucceeded", "ScalingOutFailed"
IN_SUCCEEDED, IN_FAILED = "ScalingInSucceeded", "ScalingInFailed"


def accepted(status: ScalerStatus, message: str, now: datetime) -> ScalerStatus:
    conditions = appended(status.conditions, true(CREATED, ACCEPTED, quoting.lines(message)), now)
    return _moved(status, Trigger.ACCEPTED, conditions)


def waiting(status: ScalerStatus, message: str, now: datetime) -> ScalerStatus:
    conditions = updated(status.conditions, true(CREATED, ACCEPTED, quoting.lines(message)), now)
    return _moved(status, Trigger.WAITED, conditions)


def started(status: ScalerStatus, change: Change, message: str, now: datetime) -> ScalerStatus:
    """Conditions of another operator are removed: the time of one would count as the start, another as an execution of
    the script."""
    begun = (SCALING, SCRIPT_EXECUTED)
    others = tuple(each for each in status.conditions if each.type not in begun)
    conditions = appended(others, true(SCALING, STARTED, quoting.lines(message)), now)
    return replace(
        _moved(status, Trigger.STARTED, conditions),
        start_time=now,
        start_size=change.start,
        target_size=change.target,
        to_delete_pods=change.victims,
        add_pods=(),
        script_failures=0,
    )


def named(status: ScalerStatus, pods: tuple[str, ...]) -> ScalerStatus:
    return replace(_moved(status, Trigger.PODS_NAMED, status.conditions), add_pods=pods)


def script_failed(status: ScalerStatus, message: str, now: datetime) -> ScalerStatus:
    """The time of the update is that of the failure, even if it is the same failure again."""
    conditions = tuple(
        replace(each, message=quoting.lines(message)[:REASON_LENGTH], last_update_time=now)
        if each.type == SCALING
        else each
        for each in status.conditions
    )
    moved = _moved(status, Trigger.SCRIPT_FAILED, conditions)
    return replace(moved, script_failures=status.script_failures + 1)


def script_succeeded(status: ScalerStatus, message: str, now: datetime) -> ScalerStatus:
    new = true(SCRIPT_EXECUTED, SCRIPT_DONE, quoting.lines(message))
    return _moved(status, Trigger.SCRIPT_SUCCEEDED, appended(status.conditions, new, now))


def succeeded(status: ScalerStatus, reason: str, message: str, now: datetime) -> ScalerStatus:
    new = true(SCALE_SUCCEEDED, reason, quoting.lines(message))
    return replace(_moved(status, Trigger.COMPLETED, appended(status.conditions, new, now)), completion_time=now)


def failed(status: ScalerStatus, trigger: Trigger, reason: str, message: str, now: datetime) -> ScalerStatus:
    new = true(SCALE_FAILED, reason, quoting.lines(message))
    return replace(_moved(status, trigger, appended(status.conditions, new, now)), completion_time=now)


def _moved(status: ScalerStatus, trigger: Trigger, conditions: Conditions) -> ScalerStatus:
    """The fields that definitions of et-operator require of a status are written, too."""
    phase = phases.after(phases.of(status), trigger)
    wire = ScalerPhase.SCALING if phase is ScalerPhase.SCRIPT_EXECUTED else phase
    return replace(
        status,
        phase=wire.value,
        conditions=conditions,
        replica_statuses=status.replica_statuses or {},
        restart_count=status.restart_count or 0,
    )
