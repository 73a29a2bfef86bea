# SPDX-License-Identifier: Apache-2.0
"""Whose turn it is: scalers of a job are in progress one at a time, in the order in which they were created.

A scaler whose deletion has been requested has no turn any more; one that is in progress is thereby cancelled.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

from springtide.jobs.scaling import phases
from springtide.jobs.scaling.phases import ScalerPhase
from springtide.jobs.scaling.scaler import Scaler


def current(scalers: Iterable[Scaler], marked: Container[str]) -> Scaler | None:
    """The scaler in progress. An operator with a stale view may have started a second one: that for which the ledger
    was changed goes on, by its uid in `marked`."""
    going = (each for each in scalers if phase(each).in_progress and not each.terminating)
    return min(going, key=lambda each: (each.uid not in marked, each.order), default=None)


def pending(scalers: Iterable[Scaler], in_progress: Scaler | None) -> tuple[Scaler, ...]:
    """Scalers that have not ended, in the order of their turns: first the one in progress."""
    left = (each for each in scalers if not phase(each).ended and not each.terminating)
    return tuple(sorted(left, key=lambda each: (in_progress is None or each.uid != in_progress.uid, each.order)))


def phase(scaler: Scaler) -> ScalerPhase:
    return phases.of(scaler.status)


def script_is_done(scaler: Scaler) -> bool:
    """Whether there is no script (any more) that has to be executed before workers are listed or removed."""
    return not scaler.script or phase(scaler) is ScalerPhase.SCRIPT_EXECUTED


def size(scaler: Scaler) -> int:
    """The size of a job while this scaler is in progress. Nothing is removed before the script has been executed."""
    status = scaler.status
    wanted = status.target_size if scaler.adds or script_is_done(scaler) else status.start_size
    return wanted or 0
