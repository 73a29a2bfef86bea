# SPDX-License-Identifier: Apache-2.0
"""The workers that a ScaleOut adds: members from the start, but in the host list only when all of them are ready, and
then all in one write.

The ledger names the scaler that they were added for. Once it is not in progress any more they are removed.
"""

from __future__ import annotations

from dataclasses import replace

from springtide.jobs.ledger import Ledger
from springtide.jobs.replicas import workers
from springtide.jobs.replicas.workers import Loss
from springtide.jobs.scaling import turns
from springtide.jobs.snapshot import Snapshot


def awaited(snapshot: Snapshot) -> int:
    """How many the scaler in progress adds; 0 when they have been listed."""
    scaler = snapshot.scaler
    if scaler is None or not scaler.adds or snapshot.ledger.scaled == scaler.uid:
        return 0
    return max((scaler.status.target_size or 0) - (scaler.status.start_size or 0), 0)


def members(snapshot: Snapshot) -> tuple[int, ...]:
    """Those that exist, or are about to, and are not listed yet."""
    scaler, ledger = snapshot.scaler, snapshot.ledger
    return ledger.joining if scaler is not None and awaited(snapshot) and ledger.joining_for == scaler.uid else ()


def rolled_back(snapshot: Snapshot) -> tuple[int, ...]:
    """Those whose scaler is not in progress any more."""
    return () if members(snapshot) else snapshot.ledger.joining


def ready(snapshot: Snapshot) -> tuple[int, ...]:
    pods = ((index, snapshot.workers.get(index)) for index in members(snapshot))
    return tuple(index for index, pod in pods if pod is not None and pod.serves)


def all_ready(snapshot: Snapshot) -> bool:
    return len(ready(snapshot)) >= awaited(snapshot)


def held_back(snapshot: Snapshot) -> tuple[int, ...]:
    """Those that must not be listed yet."""
    scaler = snapshot.scaler
    if scaler is None or (all_ready(snapshot) and turns.script_is_done(scaler)):
        return ()
    return members(snapshot)


def hosts_wanted(snapshot: Snapshot) -> int:
    """The number of workers that are to be listed now."""
    waiting = awaited(snapshot) if held_back(snapshot) or not all_ready(snapshot) else 0
    return snapshot.wanted_size - len(snapshot.ledger.dead) - waiting


def listed(snapshot: Snapshot, ledger: Ledger) -> Ledger:
    """The ledger after a change of its host list."""
    scaler, joining = snapshot.scaler, members(snapshot)
    if scaler is None or not joining or not set(joining) <= set(ledger.listed):
        return ledger
    return replace(ledger, joining=(), joining_for="", scaled=scaler.uid)


def added(snapshot: Snapshot, filled: Ledger, others: int) -> Ledger:
    """The filled ledger, with those of its new members as newcomers that are beyond the first `others`."""
    scaler, known = snapshot.scaler, {*snapshot.ledger.members}
    fresh = tuple(index for index in filled.members if index not in known)[others:]
    if scaler is None or not fresh or not awaited(snapshot):
        return filled
    return replace(filled, joining=(*members(snapshot), *fresh), joining_for=scaler.uid)


def exhausted(snapshot: Snapshot) -> Loss | None:
    """One that has failed too often, like its predecessors. The job goes on without it."""
    joining = set(members(snapshot))
    return next((loss for loss in workers.given_up(snapshot) if loss.index in joining), None)


def names(snapshot: Snapshot) -> tuple[str, ...]:
    return tuple(snapshot.worker_name(index) for index in members(snapshot))
