# SPDX-License-Identifier: Apache-2.0
"""The stages of a worker and the next step of each: the table that scaling out and scaling in follow.

    grow      pods ─► Role ─► Ready ─► host list ─► nudge
    shrink    host list ─► nudge ─► drain ─► Role ─► pods

A worker is in the host list only while its pod is ready. The order of a plan's actions (`engine`) ensures that the Role
allows commands in a pod before its name is in the list and until the name has left it.

A stage is derived from the ledger and the worker's pod. No other state is kept, so a resize may be interrupted
anywhere, changed or reversed.

The table is for workers whose indices are never used twice. Workers that keep their names do not follow it: they are
not in the ledger's host list, and `indexed_roles` decides when they are created and removed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum, IntEnum, auto
from typing import Final

from springtide.jobs.observed import Pod
from springtide.jobs.snapshot import Snapshot


class Stage(IntEnum):
    """The stage of a worker."""

    PLANNED = auto()
    """The worker has no pod (any more)."""
    STARTING = auto()
    READY = auto()
    LISTED = auto()
    UNREADY = auto()
    """In the host list, but no longer ready."""
    DRAINING = auto()
    ENDING = auto()


class Step(Enum):
    """The next step of a worker."""

    CREATE = auto()
    WAIT = auto()
    LIST = auto()
    STAY = auto()
    FORGET = auto()
    UNLIST = auto()
    DRAIN = auto()
    DELETE = auto()


TABLE: Final[Mapping[tuple[Stage, bool], Step]] = {
    # (stage, whether the worker stays)
    (Stage.PLANNED, True): Step.CREATE,
    (Stage.STARTING, True): Step.WAIT,
    (Stage.READY, True): Step.LIST,
    (Stage.LISTED, True): Step.STAY,
    (Stage.UNREADY, True): Step.UNLIST,
    (Stage.ENDING, True): Step.WAIT,
    (Stage.PLANNED, False): Step.FORGET,
    (Stage.STARTING, False): Step.DELETE,
    (Stage.READY, False): Step.DELETE,
    (Stage.LISTED, False): Step.UNLIST,
    (Stage.UNREADY, False): Step.UNLIST,
    (Stage.DRAINING, False): Step.DRAIN,
    (Stage.ENDING, False): Step.WAIT,
}
"""A draining worker never becomes a member again: a job that scales out uses fresh indices."""


def stage(pod: Pod | None, *, listed: bool, draining: bool) -> Stage:
    if pod is None:
        return Stage.PLANNED
    if listed:
        return Stage.LISTED if pod.serves else Stage.UNREADY
    if pod.terminating:
        return Stage.ENDING
    if draining:
        return Stage.DRAINING
    return Stage.READY if pod.serves else Stage.STARTING


def staying(snapshot: Snapshot, indices: Iterable[int]) -> Iterator[tuple[int, Step]]:
    """The next steps of members that stay."""
    listed = set(snapshot.ledger.listed)
    for index in indices:
        found = stage(snapshot.workers.get(index), listed=index in listed, draining=False)
        yield index, TABLE[found, True]


def going(snapshot: Snapshot, indices: Iterable[int]) -> Iterator[tuple[int, Step]]:
    """The next steps of workers that are not members, or are about to be removed."""
    listed, draining = set(snapshot.ledger.listed), snapshot.ledger.draining
    for index in indices:
        found = stage(snapshot.workers.get(index), listed=index in listed, draining=index in draining)
        yield index, TABLE[found, False]
