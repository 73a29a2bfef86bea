# SPDX-License-Identifier: Apache-2.0
"""Scalers whose job does not exist, or is not the one that they are for. Pure.

A scaler may be created before its job. It then waits for the job, but not for ever.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from springtide.api.kinds.scalers import ScalerStatus
from springtide.jobs import times
from springtide.jobs.scaling import phases, statuses
from springtide.jobs.scaling.phases import ScalerPhase, Trigger
from springtide.jobs.scaling.scaler import Scaler
from springtide.jobs.times import clock

PATIENCE: Final = timedelta(minutes=10)
"""How long a scaler waits for its job at least; longer with a longer timeout."""
SETTLED: Final = timedelta(seconds=2)
"""The age from which on a scaler says that it waits: of a job that was created just before it, the operator may know
later."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A job that a scaler selects, or the scaler's controller, which is a job or any other object."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True)
class OrphanPlan:
    status: ScalerStatus | None = None
    """The new status; None: it stays."""
    failure: str = ""
    reason: str = ""
    """Of the event about the failure."""
    again: timedelta | None = None
    """When to look again."""


def plan(scaler: Scaler, job: Reference, owner: Reference | None, now: datetime) -> OrphanPlan:
    """The name of the job is empty if the scaler names none."""
    phase = phases.of(scaler.status)
    if phase.ended or scaler.terminating:
        return OrphanPlan()
    if why := _failure(scaler, phase, job, owner):
        return _failed(scaler, phase, why, now)
    age = now - (scaler.created or now)
    patience = max(scaler.timeout, PATIENCE)
    if age >= patience:
        why = f"{job} was not created within {_minutes(patience)}; create the job, and then another {scaler.kind}"
        return _failed(scaler, phase, why, now)
    if age < SETTLED:
        return OrphanPlan(again=SETTLED - age)
    until = clock(times.after(scaler.created or now, patience), now)
    message = f"{scaler.title} waits for {job}, which does not exist; it fails at {until} unless the job is created"
    return OrphanPlan(_waiting(scaler, phase, message, now), again=patience - age)


def _failure(scaler: Scaler, phase: ScalerPhase, job: Reference, owner: Reference | None) -> str:
    if scaler.error:
        return scaler.error
    if owner is not None and owner != job:
        return (
            f"{scaler.title} is controlled by {owner}, so that {job} cannot be its owner; create "
            f"the {scaler.kind} without ownerReferences"
        )
    if owner is not None or phase.in_progress:
        return f"{job} has been deleted"
    return ""


def _failed(scaler: Scaler, phase: ScalerPhase, why: str, now: datetime) -> OrphanPlan:
    """A new scaler is accepted first, in the same write: its conditions tell what happened in order."""
    status = statuses.accepted(scaler.status, why, now) if phase is ScalerPhase.NEW else scaler.status
    reason = statuses.OUT_FAILED if scaler.adds else statuses.IN_FAILED
    return OrphanPlan(statuses.failed(status, Trigger.ABORTED, reason, why, now), why, reason)


def _waiting(scaler: Scaler, phase: ScalerPhase, message: str, now: datetime) -> ScalerStatus:
    if phase is ScalerPhase.NEW:
        return statuses.accepted(scaler.status, message, now)
    return statuses.waiting(scaler.status, message, now)


def _minutes(time: timedelta) -> str:
    """The patience is at least some minutes, so that seconds do not matter."""
    return f"{round(time / timedelta(minutes=1))} minutes"
