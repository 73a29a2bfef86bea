# SPDX-License-Identifier: Apache-2.0
"""The stages of a worker and the next step of each: the one table that growing and shrinking follow.

    grow      pods ─► Role ─► Ready ─► host list ─► nudge
    shrink    host list ─► nudge ─► drain ─► Role ─► pods

A worker is in the host list only while its pod is ready. That the Role allows commands in a pod before its name is in
the list, and until the name has left it, follows from the order of a plan's actions (`engine`).

A stage is read off the ledger and the worker's pod. Nothing else is remembered, so a resize may be interrupted
anywhere, changed or turned around.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum, IntEnum, auto
from typing import Final

from springtide.jobs.observed import Pod
from springtide.jobs.snapshot import Snapshot


class Stage(IntEnum):
    """Where a worker stands."""

    PLANNED = auto()
    """It has no pod yet, or none any more."""
    STARTING = auto()
    READY = auto()
    LISTED = auto()
    UNREADY = auto()
    """In the host list, and not ready any more."""
    DRAINING = auto()
    ENDING = auto()


class Step(Enum):
    """What comes next for it."""

    CREATE = auto()
    WAIT = auto()
    LIST = auto()
    STAY = auto()
    FORGET = auto()
    UNLIST = auto()
    DRAIN = auto()
    DELETE = auto()


TABLE: Final[Mapping[tuple[Stage, bool], Step]] = {
    # (stage, is it to stay?)
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
"""A worker that drains never comes back: a job that grows again takes fresh indices."""


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
    """What comes next for members that stay."""
    listed = set(snapshot.ledger.listed)
    for index in indices:
        found = stage(snapshot.workers.get(index), listed=index in listed, draining=False)
        yield index, TABLE[found, True]


def going(snapshot: Snapshot, indices: Iterable[int]) -> Iterator[tuple[int, Step]]:
    """What comes next for workers that are no members, or are about to be none."""
    listed, draining = set(snapshot.ledger.listed), snapshot.ledger.draining
    for index in indices:
        found = stage(snapshot.workers.get(index), listed=index in listed, draining=index in draining)
        yield index, TABLE[found, False]
