# SPDX-License-Identifier: Apache-2.0
"""Events about workers that a ScaleIn removes although the launcher has not reported that it no longer uses them."""

from __future__ import annotations

from collections.abc import Iterable

from springtide.jobs.actions import ScalerEvent
from springtide.jobs.observed import Pod
from springtide.jobs.replicas import resizing
from springtide.jobs.reporting import progress
from springtide.jobs.scaling import victims
from springtide.jobs.snapshot import Snapshot

REASON = "DrainTimeOver"


def events(snapshot: Snapshot, going: Iterable[Pod]) -> tuple[ScalerEvent, ...]:
    """`going` are the pods that this plan deletes. The event precedes their deletion, so that it is not lost."""
    scaler, draining = snapshot.scaler, snapshot.ledger.draining
    if scaler is None or scaler.adds or not snapshot.launcher_runs:
        return ()
    deleted = {pod.index for pod in going if pod.role == snapshot.shape.workers and pod.alive}
    late = [index for index in victims.remaining(snapshot) if index in deleted and index in draining]
    late = [index for index in late if not resizing.reported_unused(snapshot, index, draining[index])]
    if not late:
        return ()
    waited = int((resizing.drained_at(snapshot, late[0]) - draining[late[0]]).total_seconds())
    reports = progress.of(snapshot.launcher).hosts is not None
    why = "the launcher still reports ranks there" if reports else "the launcher does not report which workers it uses"
    names = snapshot.worker_names(late)
    message = f"{names} {'is' if len(late) == 1 else 'are'} deleted {waited} s after leaving the host list: {why}"
    return (ScalerEvent(scaler, "Normal", REASON, message),)
