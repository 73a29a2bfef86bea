# SPDX-License-Identifier: Apache-2.0
"""Moves workers that keep their names off nodes that are going away: each is deleted and created again elsewhere.

Two pods cannot have one name, so the job shrinks for a while. All workers that the job can spare leave at once: ranks
are restarted once, not once per worker. A node with an announced reclaim time is left in time, even if the job is then
below its minimum, as long as another worker remains to continue from. A job that is not resized while it runs is left
alone: moving its workers would abort it.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from springtide.jobs.actions import Decision
from springtide.jobs.launchers import launching
from springtide.jobs.ledger import Ledger, Move
from springtide.jobs.observed import Pod
from springtide.jobs.replicas import moving, resizing
from springtide.jobs.snapshot import Snapshot


def noticed(snapshot: Snapshot) -> tuple[Ledger, list[Decision]]:
    """The ledger with the workers that leave their nodes now. A worker that was placed on a node it had left before
    stays: it would be moved back and forth if all nodes it can use are leaving."""
    ledger = snapshot.ledger
    known = _known(snapshot)
    going = _may_go(snapshot)
    if not going and known == ledger.moved:
        return ledger, []
    pods = (pod for index in going if (pod := snapshot.workers.get(index)) is not None)
    gone = {pod.name: Move(pod.uid, pod.node, known[pod.name].nodes if pod.name in known else ()) for pod in pods}
    ledger = replace(ledger, moved={**known, **gone})
    if not going:
        return ledger, []
    names = snapshot.worker_names(going)
    message = f"{names} will be created again elsewhere, because their nodes are being drained or removed"
    return ledger, [Decision(snapshot.now, "WorkersMoved", message)]


def _known(snapshot: Snapshot) -> dict[str, Move]:
    """Moves off nodes that are still going away."""
    leaving = snapshot.observed.leaving_nodes
    known: dict[str, Move] = {}
    for name, move in snapshot.ledger.moved.items():
        *earlier, last = [node for node in move.nodes if node in leaving] or [""]
        if last:
            known[name] = Move(move.uid if last == move.node else "", last, tuple(earlier))
    return known


def leavers(snapshot: Snapshot) -> tuple[int, ...]:
    """Workers to be moved whose pods have not been deleted yet."""
    if not snapshot.shape.keeps_names or not snapshot.sizes.elastic:
        return ()
    return tuple(index for index in snapshot.members if _leaves(snapshot, snapshot.workers.get(index)))


def _leaves(snapshot: Snapshot, pod: Pod | None) -> bool:
    if pod is None or not pod.alive or pod.node not in snapshot.observed.leaving_nodes:
        return False
    move = snapshot.ledger.moved.get(pod.name)
    return move is None or pod.node not in move.nodes


def _may_go(snapshot: Snapshot) -> tuple[int, ...]:
    """Workers that do not serve, workers that the job can spare, and workers whose time is up."""
    going = leavers(snapshot)
    if not going:
        return ()
    moving_ = {pod.name for pod in deleted(snapshot)}
    serving = [index for index in launching.ready(snapshot) if snapshot.worker_name(index) not in moving_]
    least = max(snapshot.sizes.bounds.min if snapshot.sizes.bounds else 1, 1)
    idle = [index for index in going if index not in serving]
    spare = [index for index in resizing.ranked(snapshot, going) if index in serving][: max(len(serving) - least, 0)]
    late = [
        index
        for index in going
        if index in serving and index not in spare and moving.left(snapshot, index) <= timedelta(0)
    ]
    stays = len(serving) > len(spare) + len(late)
    return tuple(sorted((*idle, *spare, *(late if stays else ()))))


def deleted(snapshot: Snapshot) -> tuple[Pod, ...]:
    """Pods to delete: they get SIGTERM, and their grace period to save their state."""
    moved = snapshot.ledger.moved
    if not moved:
        return ()
    return tuple(
        pod for pod in snapshot.workers.values() if pod.alive and pod.name in moved and moved[pod.name].uid == pod.uid
    )
