# SPDX-License-Identifier: Apache-2.0
"""Workers that keep their names, on nodes that are going away: each is told to end and created again on another node.

Of two pods with one name the second cannot come first, so the job gets smaller for a while. As many leave at once as it
can do without: ranks are started anew once, not for each of them. A node that says when it goes is left in time, even
if the job is below its minimum then, as long as somebody stays to go on from. A job that does not follow its size while
it runs is left alone: to move its workers would be to abort it.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from springtide.jobs.actions import Decision
from springtide.jobs.launchers import launching
from springtide.jobs.ledger import Ledger, Move
from springtide.jobs.observed import Pod
from springtide.jobs.replicas import moving, resizing
from springtide.jobs.snapshot import Situation


def noticed(situation: Situation) -> tuple[Ledger, list[Decision]]:
    """With the workers that are to leave their nodes now. One that is placed on a node that it had left was placed
    there knowingly, and would be moved for ever: back and forth, if all the nodes it has to choose from are leaving."""
    ledger = situation.ledger
    known = _known(situation)
    going = _may_go(situation)
    if not going and known == ledger.moved:
        return ledger, []
    pods = (pod for index in going if (pod := situation.workers.get(index)) is not None)
    gone = {pod.name: Move(pod.uid, pod.node, known[pod.name].nodes if pod.name in known else ()) for pod in pods}
    ledger = replace(ledger, moved={**known, **gone})
    if not going:
        return ledger, []
    message = f"{situation.worker_names(going)} will go and be created again, because nodes are going away"
    return ledger, [Decision(situation.now, "WorkersMoved", message)]


def _known(situation: Situation) -> dict[str, Move]:
    """Moves off nodes that are still going away."""
    leaving = situation.observed.leaving_nodes
    known: dict[str, Move] = {}
    for name, move in situation.ledger.moved.items():
        *earlier, last = [node for node in move.nodes if node in leaving] or [""]
        if last:
            known[name] = Move(move.uid if last == move.node else "", last, tuple(earlier))
    return known


def leavers(situation: Situation) -> tuple[int, ...]:
    """Workers that are to be moved, and were not told to."""
    if not situation.shape.keeps_names or not situation.sizes.elastic:
        return ()
    return tuple(index for index in situation.members if _leaves(situation, situation.workers.get(index)))


def _leaves(situation: Situation, pod: Pod | None) -> bool:
    if pod is None or not pod.alive or pod.node not in situation.observed.leaving_nodes:
        return False
    move = situation.ledger.moved.get(pod.name)
    return move is None or pod.node not in move.nodes


def _may_go(situation: Situation) -> tuple[int, ...]:
    """Those that do not serve, those that the job can do without, those whose time is up."""
    going = leavers(situation)
    if not going:
        return ()
    moving_ = {pod.name for pod in deleted(situation)}
    serving = [index for index in launching.ready(situation) if situation.worker_name(index) not in moving_]
    least = max(situation.sizes.bounds.min if situation.sizes.bounds else 1, 1)
    idle = [index for index in going if index not in serving]
    spare = [index for index in resizing.ranked(situation, going) if index in serving][: max(len(serving) - least, 0)]
    late = [
        index
        for index in going
        if index in serving and index not in spare and moving.left(situation, index) <= timedelta(0)
    ]
    stays = len(serving) > len(spare) + len(late)
    return tuple(sorted((*idle, *spare, *(late if stays else ()))))


def deleted(situation: Situation) -> tuple[Pod, ...]:
    """Pods that are told to end: SIGTERM, and their grace period to save what they have."""
    moved = situation.ledger.moved
    if not moved:
        return ()
    return tuple(
        pod for pod in situation.workers.values() if pod.alive and pod.name in moved and moved[pod.name].uid == pod.uid
    )
