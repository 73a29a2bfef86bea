# SPDX-License-Identifier: Apache-2.0
"""Which workers there are to be: who was lost, how long to hold back before replacing, which index comes next."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from springtide.jobs import causes
from springtide.jobs.ledger import Ledger
from springtide.jobs.observed import FAILED, Pod
from springtide.jobs.situation import Situation

FIRST_DELAY: Final = timedelta(seconds=10)
LONGEST_DELAY: Final = timedelta(minutes=5)
FORGOTTEN_AFTER: Final = timedelta(minutes=10)
"""Losses this long ago count no more: a job that runs for weeks may lose a worker now and then."""
CAP: Final = 10


@dataclass(frozen=True, slots=True)
class Loss:
    index: int
    pod: Pod | None
    counts: bool
    """Against the cap; a pod somebody deleted does not."""
    evicted: bool
    cause: str


def losses(situation: Situation) -> tuple[Loss, ...]:
    """Members that will never serve again. One without a pod that was never listed is merely not created yet."""
    found = []
    for index in situation.ledger.members:
        pod = situation.workers.get(index)
        if pod is None and index in situation.ledger.used:
            found.append(Loss(index, None, counts=False, evicted=False, cause="was deleted"))
        elif pod is not None and (not pod.alive or causes.lost(pod)):
            counts = pod.phase == FAILED or causes.lost(pod)
            found.append(Loss(index, pod, counts, causes.evicted(pod), causes.worker(pod)))
    return tuple(found)


def counted(situation: Situation, lost: tuple[Loss, ...]) -> int:
    """Losses that stand against the cap, these included."""
    forgotten = situation.since(situation.ledger.replaced_at) > FORGOTTEN_AFTER
    before = 0 if forgotten else situation.ledger.replaced
    return before + sum(loss.counts for loss in lost)


def without(situation: Situation, lost: tuple[Loss, ...]) -> Ledger:
    """The ledger once these have left, and been counted."""
    ledger = situation.ledger
    if not lost:
        return ledger
    gone = {loss.index for loss in lost}
    left = replace(
        ledger,
        members=tuple(index for index in ledger.members if index not in gone),
        listed=tuple(index for index in ledger.listed if index not in gone),
    )
    if not any(loss.counts for loss in lost):
        return left
    return replace(left, replaced=counted(situation, lost), replaced_at=situation.now)


def held_back(situation: Situation) -> timedelta:
    """How long still until a replacement may be created. The first comes at once."""
    ledger = situation.ledger
    if ledger.replaced <= 1 or ledger.replaced_at is None:
        return timedelta(0)
    return max(ledger.replaced_at + backoff(ledger.replaced - 1) - situation.now, timedelta(0))


def backoff(failures: int) -> timedelta:
    return min(FIRST_DELAY * 2 ** min(failures - 1, 10), LONGEST_DELAY) if failures > 0 else timedelta(0)


def grown(ledger: Ledger, count: int) -> Ledger:
    """With so many more members, under indices that were never used."""
    fresh = tuple(range(ledger.next_index, ledger.next_index + count))
    return replace(ledger, members=(*ledger.members, *fresh), next_index=ledger.next_index + count)
