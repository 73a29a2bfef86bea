# SPDX-License-Identifier: Apache-2.0
"""Which workers are victims when a job shrinks, and how long they are drained. The order of steps is in `stages`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from springtide.jobs.endings import causes
from springtide.jobs.ledger import Ledger
from springtide.jobs.observed import Pod
from springtide.jobs.replicas import stages, workers
from springtide.jobs.replicas.stages import Step
from springtide.jobs.reporting import progress
from springtide.jobs.scaling import victims
from springtide.jobs.snapshot import Snapshot
from springtide.jobs.times import after

VICTIM: Final = "springtide.dev/victim"
DRAIN_SECONDS: Final = 30


def ranked(snapshot: Snapshot, indices: Iterable[int]) -> tuple[int, ...]:
    """The order of removal when a job shrinks: those that have ended and are not replaced, marked as victims, on
    leaving nodes, on cordoned nodes, not serving yet, then the highest index. Workers that keep their names are ranked
    by index alone, which only moves need: when the job shrinks, those outside its size leave."""
    if snapshot.shape.keeps_names:
        return tuple(sorted(indices, reverse=True))
    listed, dead = set(snapshot.ledger.listed), set(snapshot.ledger.dead)

    def rank(index: int) -> tuple[bool, bool, bool, bool, bool, int]:
        pod = snapshot.workers.get(index)
        node, seen = pod.node if pod is not None else "", snapshot.observed
        victim = is_victim(snapshot, index)
        leaves, cordoned = node in seen.leaving_nodes, node in seen.cordoned_nodes
        return index not in dead, not victim, not leaves, not cordoned, index in listed, -index

    return tuple(sorted(indices, key=rank))


def is_victim(snapshot: Snapshot, index: int) -> bool:
    pod = snapshot.workers.get(index)
    return pod is not None and pod.annotations.get(VICTIM) == "true"


def shrunk(snapshot: Snapshot, gone: tuple[int, ...]) -> Ledger:
    """The ledger at a smaller size: no successors are owed any more."""
    return replace(without(snapshot, gone), owed=())


def without(snapshot: Snapshot, gone: tuple[int, ...]) -> Ledger:
    """The ledger without these members. Those that a running launcher may use are drained, the others may be deleted at
    once."""
    ledger = snapshot.ledger
    drains = snapshot.sizes.elastic and snapshot.launcher_runs
    served = [index for index, step in stages.going(snapshot, gone) if step is Step.UNLIST]
    return replace(
        workers.left(ledger, gone),
        draining={**ledger.draining, **(dict.fromkeys(served, snapshot.now) if drains else {})},
    )


def removable(snapshot: Snapshot) -> tuple[Pod, ...]:
    """Pods of workers that are not members and need no (further) draining."""
    if snapshot.shape.keeps_names:
        return ()
    outside = sorted(snapshot.workers.keys() - set(snapshot.ledger.members))
    found = []
    for index, step in stages.going(snapshot, outside):
        drained = step is Step.DRAIN and drain_left(snapshot, index) <= timedelta(0)
        if step is Step.DELETE or drained or causes.lost(snapshot.workers[index]):
            found.append(snapshot.workers[index])
    return tuple(found)


def drain_left(snapshot: Snapshot, index: int) -> timedelta:
    """How long a drain may still take; zero if the launcher is gone or reports that the host is unused."""
    since = snapshot.ledger.draining[index]
    if not snapshot.launcher_runs or reported_unused(snapshot, index, since):
        return timedelta(0)
    return max(drained_at(snapshot, index) - snapshot.now, timedelta(0))


def drained_at(snapshot: Snapshot, index: int) -> datetime:
    """When a drain is over, whatever the launcher reports."""
    limit = min(drain_time(snapshot), victims.drain_limit(snapshot, index))
    return after(snapshot.ledger.draining[index], limit)


def drain_time(snapshot: Snapshot) -> timedelta:
    return snapshot.seconds("drain-seconds", DRAIN_SECONDS)


def forgotten(snapshot: Snapshot) -> Ledger:
    """The ledger without drains whose pods are gone."""
    ledger = snapshot.ledger
    over = {index for index, step in stages.going(snapshot, ledger.draining) if step is Step.FORGET}
    left = {index: since for index, since in ledger.draining.items() if index not in over}
    return replace(ledger, draining=left) if over else ledger


def reported_unused(snapshot: Snapshot, index: int, since: datetime) -> bool:
    """A report from before the host left the list does not count: the launcher may have started ranks since."""
    said = progress.of(snapshot.launcher)
    if said.hosts is None or said.at is None or said.at < since:
        return False
    return snapshot.worker_name(index) not in {host.partition(".")[0] for host in said.hosts}
