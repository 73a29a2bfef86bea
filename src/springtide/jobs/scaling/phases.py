# SPDX-License-Identifier: Apache-2.0
"""The phases of a scaler, and its transitions as a table. A transition that is not in the table raises an error.

    "" ─► Created ─► Scaling ─► (ScriptExecuted) ─► ScaleSucceeded
              └─────────┴──────────────┴──────────► ScaleFailed

A scaler that has ended stays as it is. The phase is read from the conditions alone, so that one write changes both.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, StrEnum, auto
from typing import Final

from springtide.api.kinds import scalers as types
from springtide.api.kinds.scalers import ScalerStatus


class ScalerPhase(StrEnum):
    NEW = ""
    CREATED = types.CREATED
    """Accepted; waits for its turn."""
    SCALING = types.SCALING
    """In progress; a script has not been executed yet."""
    SCRIPT_EXECUTED = types.SCRIPT_EXECUTED
    """In progress; the script is never run again."""
    SUCCEEDED = types.SCALE_SUCCEEDED
    FAILED = types.SCALE_FAILED

    @property
    def ended(self) -> bool:
        return self in (ScalerPhase.SUCCEEDED, ScalerPhase.FAILED)

    @property
    def in_progress(self) -> bool:
        return self in (ScalerPhase.SCALING, ScalerPhase.SCRIPT_EXECUTED)


class Trigger(Enum):
    """What happens to a scaler."""

    ACCEPTED = auto()
    WAITED = auto()
    """The reason why it waits has changed."""
    STARTED = auto()
    """Its turn has come, and what it asks for is possible."""
    REFUSED = auto()
    """Its turn has come, and what it asks for is not possible."""
    PODS_NAMED = auto()
    """The pods that it adds are others than before."""
    SCRIPT_FAILED = auto()
    """The script is run again."""
    SCRIPT_SUCCEEDED = auto()
    SCRIPT_GIVEN_UP = auto()
    TIMED_OUT = auto()
    """New workers were not ready in time, or failed too often."""
    ABORTED = auto()
    """The job has ended, is suspended, lost its launcher, or has other bounds now."""
    COMPLETED = auto()


TRANSITIONS: Final[Mapping[tuple[ScalerPhase, Trigger], ScalerPhase]] = {
    (ScalerPhase.NEW, Trigger.ACCEPTED): ScalerPhase.CREATED,
    (ScalerPhase.CREATED, Trigger.WAITED): ScalerPhase.CREATED,
    (ScalerPhase.CREATED, Trigger.STARTED): ScalerPhase.SCALING,
    (ScalerPhase.CREATED, Trigger.REFUSED): ScalerPhase.FAILED,
    (ScalerPhase.CREATED, Trigger.ABORTED): ScalerPhase.FAILED,
    (ScalerPhase.SCALING, Trigger.PODS_NAMED): ScalerPhase.SCALING,
    (ScalerPhase.SCALING, Trigger.SCRIPT_FAILED): ScalerPhase.SCALING,
    (ScalerPhase.SCALING, Trigger.SCRIPT_SUCCEEDED): ScalerPhase.SCRIPT_EXECUTED,
    (ScalerPhase.SCALING, Trigger.SCRIPT_GIVEN_UP): ScalerPhase.FAILED,
    (ScalerPhase.SCALING, Trigger.TIMED_OUT): ScalerPhase.FAILED,
    (ScalerPhase.SCALING, Trigger.ABORTED): ScalerPhase.FAILED,
    (ScalerPhase.SCALING, Trigger.COMPLETED): ScalerPhase.SUCCEEDED,
    (ScalerPhase.SCRIPT_EXECUTED, Trigger.PODS_NAMED): ScalerPhase.SCRIPT_EXECUTED,
    (ScalerPhase.SCRIPT_EXECUTED, Trigger.TIMED_OUT): ScalerPhase.FAILED,
    (ScalerPhase.SCRIPT_EXECUTED, Trigger.ABORTED): ScalerPhase.FAILED,
    (ScalerPhase.SCRIPT_EXECUTED, Trigger.COMPLETED): ScalerPhase.SUCCEEDED,
}


class IllegalTransition(Exception):
    """A mistake in the engine: the scaler is left as it is."""


def after(phase: ScalerPhase, trigger: Trigger) -> ScalerPhase:
    found = TRANSITIONS.get((phase, trigger))
    if found is None:
        raise IllegalTransition(f"a scaler of phase {phase.name} cannot be {trigger.name}")
    return found


def of(status: ScalerStatus) -> ScalerPhase:
    """A scaler that another operator began, without recording the sizes, counts as one that waits."""
    true = {each.type for each in status.conditions if each.status == "True"}
    for phase in (ScalerPhase.SUCCEEDED, ScalerPhase.FAILED):
        if phase.value in true:
            return phase
    if ScalerPhase.SCALING.value in true and _has_sizes(status):
        return ScalerPhase.SCRIPT_EXECUTED if ScalerPhase.SCRIPT_EXECUTED.value in true else ScalerPhase.SCALING
    return ScalerPhase.CREATED if true else ScalerPhase.NEW


def _has_sizes(status: ScalerStatus) -> bool:
    return all(size is not None and size >= 0 for size in (status.start_size, status.target_size))
