# SPDX-License-Identifier: Apache-2.0
"""Which workers a job has: lost members, those that are not replaced, back-off before replacements, the next index."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from springtide.jobs import times
from springtide.jobs.endings import causes, outcomes
from springtide.jobs.endings.outcomes import Outcome
from springtide.jobs.ledger import Ledger
from springtide.jobs.observed import FAILED, Pod
from springtide.jobs.policies import worker_restart_policy
from springtide.jobs.policies.backoff_limit import CAP, delay
from springtide.jobs.snapshot import Snapshot

FORGOTTEN_AFTER: Final = timedelta(minutes=10)
"""After this running time the count of consecutive failures starts again: a job that runs for weeks may lose a worker
now and then."""


@dataclass(frozen=True, slots=True)
class Loss:
    index: int
    pod: Pod | None
    counts: bool
    """Counts against the cap; a pod that was deleted, or stopped with its node, does not."""
    evicted: bool
    cause: str
    replaced: bool = True


def losses(snapshot: Snapshot) -> tuple[Loss, ...]:
    """Members that will not serve again. A member without a pod that was never listed is merely not created yet."""
    found = []
    ledger = snapshot.ledger
    used, dead, joining = set(ledger.used), set(ledger.dead), set(ledger.joining)
    for index in ledger.members:
        if index in dead:
            continue
        pod = snapshot.workers.get(index)
        replaced = index in joining or worker_restart_policy.replaces(snapshot, pod)
        if pod is None and index in used:
            found.append(Loss(index, None, counts=False, evicted=False, cause="was deleted", replaced=replaced))
        elif pod is not None and (not pod.alive or causes.lost(pod)):
            failed = pod.phase == FAILED and not causes.shut_down(pod) and not causes.moved(pod)
            counts = failed or causes.lost(pod)
            found.append(Loss(index, pod, counts, causes.evicted(pod), causes.worker(pod), replaced))
    return tuple(found)


def in_a_row(snapshot: Snapshot, loss: Loss) -> int:
    """Consecutive failures, which a replacement inherits."""
    before = snapshot.ledger.failures.get(loss.index, 0)
    if not loss.counts:
        return before
    started = loss.pod.started if loss.pod else None
    return 1 if started and snapshot.since(started) > FORGOTTEN_AFTER else before + 1


def failure(snapshot: Snapshot) -> Outcome | None:
    """The outcome if too many consecutive replacements of one worker have failed. A worker that a scaler adds fails
    only the scaler."""
    lost, joining = losses(snapshot), set(snapshot.ledger.joining)
    last = next((loss for loss in given_up(snapshot) if loss.index not in joining), None)
    if last is None:
        return None
    kind, evicted = snapshot.job.kind, sum(loss.evicted for loss in lost)
    if evicted:
        message = f"{evicted}/{snapshot.wanted_size} workers are evicted"
        return outcomes.failure(snapshot, f"{kind}Evicted", message)
    name = snapshot.worker_name(last.index)
    message = f"{snapshot.title} has failed: {name} {last.cause}, like its {CAP} predecessors"
    return outcomes.failure(snapshot, f"{kind}Failed", message)


def given_up(snapshot: Snapshot) -> Iterator[Loss]:
    """Workers that have failed too often, like their predecessors."""
    return (loss for loss in losses(snapshot) if loss.replaced and in_a_row(snapshot, loss) > CAP)


def without(snapshot: Snapshot, lost: tuple[Loss, ...]) -> Ledger:
    """The ledger without these members, with successors owed. Those that are not replaced stay members, outside the
    host list."""
    ledger = _with_dead(snapshot.ledger, [loss.index for loss in lost if not loss.replaced])
    lost = tuple(loss for loss in lost if loss.replaced)
    gone = {loss.index for loss in lost}
    if not lost:
        return ledger
    return replace(
        left(ledger, gone),
        replaced=ledger.replaced + sum(loss.counts for loss in lost),
        owed=(*ledger.owed, *((in_a_row(snapshot, loss), snapshot.now) for loss in lost)),
    )


def _with_dead(ledger: Ledger, dead: Sequence[int]) -> Ledger:
    if not dead:
        return ledger
    gone = set(dead)
    listed = tuple(index for index in ledger.listed if index not in gone)
    return replace(ledger, dead=(*ledger.dead, *dead), listed=listed)


def left(ledger: Ledger, gone: Collection[int]) -> Ledger:
    """The ledger without these members."""
    gone = set(gone)

    def others(indices: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(index for index in indices if index not in gone)

    return replace(
        ledger,
        members=others(ledger.members),
        listed=others(ledger.listed),
        used=others(ledger.used),
        joining=others(ledger.joining),
        dead=others(ledger.dead),
        failures={index: count for index, count in ledger.failures.items() if index not in gone},
    )


def filled(snapshot: Snapshot, count: int) -> tuple[Ledger, timedelta]:
    """The ledger with up to `count` more members, under indices that were never used, and how long until the next may
    be added. The replacement after one failure is added at once; after more consecutive failures the back-off
    applies."""
    ledger = snapshot.ledger
    if count <= 0 and not ledger.owed:
        return ledger, timedelta.max
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
    """When the replacements that are in back-off are due."""
    due = (times.after(since, delay(failures - 1)) for failures, since in snapshot.ledger.owed)
    return tuple(at for at in due if at > snapshot.now)


def _left(snapshot: Snapshot, failures: int, since: datetime) -> timedelta:
    return times.after(since, delay(failures - 1)) - snapshot.now
