# SPDX-License-Identifier: Apache-2.0
"""Which workers there are to be: who was lost, how long to hold back before replacing, which index comes next."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from springtide.jobs.endings import causes, outcomes
from springtide.jobs.endings.outcomes import Outcome
from springtide.jobs.ledger import Ledger
from springtide.jobs.observed import FAILED, Pod
from springtide.jobs.policies.backoff_limit import CAP, delay
from springtide.jobs.snapshot import Snapshot

FORGOTTEN_AFTER: Final = timedelta(minutes=10)
"""A worker that ran this long starts a new row: a job that runs for weeks may lose one now and then."""


@dataclass(frozen=True, slots=True)
class Loss:
    index: int
    pod: Pod | None
    counts: bool
    """Against the cap; a pod that was deleted, or stopped with its node, does not."""
    evicted: bool
    cause: str


def losses(snapshot: Snapshot) -> tuple[Loss, ...]:
    """Members that will never serve again. One without a pod that was never listed is merely not created yet."""
    found = []
    used = set(snapshot.ledger.used)
    for index in snapshot.ledger.members:
        pod = snapshot.workers.get(index)
        if pod is None and index in used:
            found.append(Loss(index, None, counts=False, evicted=False, cause="was deleted"))
        elif pod is not None and (not pod.alive or causes.lost(pod)):
            failed = pod.phase == FAILED and not causes.shut_down(pod) and not causes.moved(pod)
            counts = failed or causes.lost(pod)
            found.append(Loss(index, pod, counts, causes.evicted(pod), causes.worker(pod)))
    return tuple(found)


def in_a_row(snapshot: Snapshot, loss: Loss) -> int:
    """Failures that whoever comes next takes the place of."""
    before = snapshot.ledger.failures.get(loss.index, 0)
    if not loss.counts:
        return before
    started = loss.pod.started if loss.pod else None
    return 1 if started and snapshot.since(started) > FORGOTTEN_AFTER else before + 1


def failure(snapshot: Snapshot) -> Outcome | None:
    """That too many in a row have failed, each in the place of the one before."""
    lost = losses(snapshot)
    last = next((loss for loss in lost if in_a_row(snapshot, loss) > CAP), None)
    if last is None:
        return None
    kind, evicted = snapshot.job.kind, sum(loss.evicted for loss in lost)
    if evicted:
        message = f"{evicted}/{snapshot.wanted_size} workers are evicted"
        return outcomes.failure(snapshot, f"{kind}Evicted", message)
    name = snapshot.worker_name(last.index)
    message = f"{snapshot.title} has failed: {name}, like {CAP} before it in its place, {last.cause}"
    return outcomes.failure(snapshot, f"{kind}Failed", message)


def without(snapshot: Snapshot, lost: tuple[Loss, ...]) -> Ledger:
    """The ledger once these have left, and successors are owed."""
    ledger, gone = snapshot.ledger, {loss.index for loss in lost}
    if not lost:
        return ledger
    return replace(
        left(ledger, gone),
        replaced=ledger.replaced + sum(loss.counts for loss in lost),
        owed=(*ledger.owed, *((in_a_row(snapshot, loss), snapshot.now) for loss in lost)),
    )


def left(ledger: Ledger, gone: Collection[int]) -> Ledger:
    """Without these."""
    gone = set(gone)

    def others(indices: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(index for index in indices if index not in gone)

    return replace(
        ledger,
        members=others(ledger.members),
        listed=others(ledger.listed),
        used=others(ledger.used),
        failures={index: count for index, count in ledger.failures.items() if index not in gone},
    )


def filled(snapshot: Snapshot, count: int) -> tuple[Ledger, timedelta]:
    """With so many more members, under indices that were never used, as far as they may come now; and how long until
    the next may. Who takes the place of one failure comes at once, after more in a row it takes longer and longer."""
    ledger = snapshot.ledger
    owed = ledger.owed[:count]
    due = [failures for failures, since in owed if _left(snapshot, failures, since) <= timedelta(0)]
    waiting = tuple((failures, since) for failures, since in owed if _left(snapshot, failures, since) > timedelta(0))
    wait = min((_left(snapshot, failures, since) for failures, since in waiting), default=timedelta.max)
    fresh = _fresh(snapshot, count - len(waiting))
    inherited = {index: failures for index, failures in zip(fresh, due, strict=False) if failures}
    grown = replace(
        ledger,
        members=(*ledger.members, *fresh),
        next_index=fresh.stop,
        failures={**ledger.failures, **inherited},
        owed=waiting,
    )
    return grown, wait


def _fresh(snapshot: Snapshot, count: int) -> range:
    first = snapshot.ledger.next_index
    if count <= 0 or snapshot.nameable(first + count - 1):
        return range(first, first + max(count, 0))  # names only get longer
    last = next((index for index in range(first, first + count) if not snapshot.nameable(index)), first + count)
    return range(first, last)


def replaced_at(snapshot: Snapshot) -> tuple[datetime, ...]:
    """When those come whose predecessors failed, of those that have to wait."""
    due = (since + delay(failures - 1) for failures, since in snapshot.ledger.owed)
    return tuple(at for at in due if at > snapshot.now)


def _left(snapshot: Snapshot, failures: int, since: datetime) -> timedelta:
    return since + delay(failures - 1) - snapshot.now
