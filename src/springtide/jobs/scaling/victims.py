# SPDX-License-Identifier: Apache-2.0
"""The workers that a ScaleIn removes: fixed when its turn comes, and recorded in its status."""

from __future__ import annotations

from datetime import timedelta

from springtide.jobs.scaling import turns
from springtide.jobs.snapshot import Snapshot


def remaining(snapshot: Snapshot) -> tuple[int, ...]:
    """Those that are members, or whose pods still exist."""
    names = snapshot.named_victims
    if not names:
        return ()
    there = sorted({*snapshot.ledger.members, *snapshot.workers})
    return tuple(index for index in there if snapshot.worker_name(index) in names)


def due(snapshot: Snapshot) -> tuple[int, ...]:
    """Members that are to leave now."""
    scaler = snapshot.scaler
    if scaler is None or not turns.script_is_done(scaler):
        return ()
    members = set(snapshot.ledger.members)
    return tuple(index for index in remaining(snapshot) if index in members)


def drain_limit(snapshot: Snapshot, index: int) -> timedelta:
    """The longest drain that the scaler in progress allows for this worker."""
    scaler = snapshot.scaler
    if scaler is None or not snapshot.named_victims:
        return timedelta.max
    return scaler.timeout if snapshot.worker_name(index) in snapshot.named_victims else timedelta.max
