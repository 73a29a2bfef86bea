# SPDX-License-Identifier: Apache-2.0
"""Which workers leave when a job shrinks, and how long they are drained. What comes when is in `stages`."""

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
from springtide.jobs.snapshot import Situation
from springtide.jobs.times import after

VICTIM: Final = "springtide.dev/victim"
DRAIN_SECONDS: Final = 30


def ranked(situation: Situation, indices: Iterable[int]) -> tuple[int, ...]:
    """In which order workers go when the job shrinks: who was pointed at, who is on a node that goes, who is on a
    cordoned node, who does not serve yet, and then the highest index. Workers that keep their names go from the highest
    index down: the names of those that stay are the ranks that others know."""
    if situation.shape.keeps_names:
        return tuple(sorted(indices, reverse=True))
    listed = set(situation.ledger.listed)

    def rank(index: int) -> tuple[bool, bool, bool, bool, int]:
        pod = situation.workers.get(index)
        node, seen = pod.node if pod is not None else "", situation.observed
        pointed = pointed_at(situation, index)
        return not pointed, node not in seen.leaving_nodes, node not in seen.cordoned_nodes, index in listed, -index

    return tuple(sorted(indices, key=rank))


def pointed_at(situation: Situation, index: int) -> bool:
    pod = situation.workers.get(index)
    return pod is not None and pod.annotations.get(VICTIM) == "true"


def shrunk(situation: Situation, gone: tuple[int, ...]) -> Ledger:
    """Of a smaller size: nobody waits for a successor any more."""
    return replace(without(situation, gone), owed=())


def without(situation: Situation, gone: tuple[int, ...]) -> Ledger:
    """Without these members. Those that a running launcher may use are drained, the others may go at once."""
    ledger = situation.ledger
    drains = situation.sizes.elastic and situation.launcher_runs
    served = [index for index, step in stages.going(situation, gone) if step is Step.UNLIST]
    return replace(
        workers.left(ledger, gone),
        draining={**ledger.draining, **(dict.fromkeys(served, situation.now) if drains else {})},
    )


def removable(situation: Situation) -> tuple[Pod, ...]:
    """Pods of workers that are no members and need no (more) draining."""
    if situation.shape.keeps_names:
        return ()
    outside = sorted(situation.workers.keys() - set(situation.ledger.members))
    found = []
    for index, step in stages.going(situation, outside):
        drained = step is Step.DRAIN and drain_left(situation, index) <= timedelta(0)
        if step is Step.DELETE or drained or causes.lost(situation.workers[index]):
            found.append(situation.workers[index])
    return tuple(found)


def drain_left(situation: Situation, index: int) -> timedelta:
    """How long a drain may still take; zero when the launcher is gone or says that the host is unused."""
    since = situation.ledger.draining[index]
    if not situation.launcher_runs or _reported_unused(situation, index, since):
        return timedelta(0)
    return max(drained_at(situation, index) - situation.now, timedelta(0))


def drained_at(situation: Situation, index: int) -> datetime:
    """When a drain is over, whatever the launcher says."""
    return after(situation.ledger.draining[index], drain_time(situation))


def drain_time(situation: Situation) -> timedelta:
    return situation.seconds("drain-seconds", DRAIN_SECONDS)


def forgotten(situation: Situation) -> Ledger:
    """Drains whose pods are gone are over."""
    ledger = situation.ledger
    over = {index for index, step in stages.going(situation, ledger.draining) if step is Step.FORGET}
    left = {index: since for index, since in ledger.draining.items() if index not in over}
    return replace(ledger, draining=left) if over else ledger


def _reported_unused(situation: Situation, index: int, since: datetime) -> bool:
    """A report from before the host left the list says nothing: the launcher may have started ranks since."""
    said = progress.of(situation.launcher)
    if said.hosts is None or said.at is None or said.at < since:
        return False
    return situation.worker_name(index) not in {host.partition(".")[0] for host in said.hosts}
