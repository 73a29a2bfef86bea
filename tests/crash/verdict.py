# SPDX-License-Identifier: Apache-2.0
"""The judge: what watchers saw and what is there now, held against what writers were promised. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from tests.crash.shapes import Kind
from tests.crash.watchers import Seen
from tests.crash.writers import ABSENT, Acknowledged

Final = dict[str, tuple[str, int]]
"""Stamp and revision of each object by name, as the last list showed them."""


def judge_history(kind: Kind, seen: Sequence[Seen], promises: Iterable[Acknowledged], final: Final) -> list[str]:
    """One watcher's whole sequence."""
    return [
        f"{kind.plural}: {fault}"
        for fault in (*_disorder(seen), *_broken_lives(seen), *_unkept(seen, promises), *_contradicted(seen, final))
    ]


def _disorder(seen: Sequence[Seen]) -> Iterable[str]:
    for before, after in pairwise(seen):
        if after.revision <= before.revision:
            yield f"{after} came after revision {before.revision}"


def _broken_lives(seen: Sequence[Seen]) -> Iterable[str]:
    """ADDED, any number of MODIFIED, DELETED, and again: anything else means a gap or a duplicate."""
    alive: dict[str, str] = {}
    for event in seen:
        if (event.change == "ADDED") == (event.name in alive):
            yield f"{event} does not follow from what was seen before"
        if event.change == "DELETED":
            if alive.pop(event.name, None) != event.stamp:
                yield f"{event} shows another last state than was seen before"
        else:
            alive[event.name] = event.stamp


def _unkept(seen: Sequence[Seen], promises: Iterable[Acknowledged]) -> Iterable[str]:
    """Every acknowledged change exactly once: at its revision when the answer told it, by its stamp in any case."""
    shown = {(event.name, event.stamp): event.revision for event in reversed(seen) if event.change != "DELETED"}
    deletions: dict[str, int] = {}
    promised: dict[str, int] = {}
    for event in seen:
        if event.change == "DELETED":
            deletions[event.name] = deletions.get(event.name, 0) + 1
    for promise in promises:
        if promise.stamp == ABSENT:
            promised[promise.name] = promised.get(promise.name, 0) + 1
        elif shown.get((promise.name, promise.stamp)) != promise.revision:
            yield f"acknowledged write {promise.name} {promise.stamp} at {promise.revision} was not seen"
    for name, count in promised.items():
        if deletions.get(name, 0) < count:
            yield f"{count} deletions of {name} were acknowledged, {deletions.get(name, 0)} seen"


def _contradicted(seen: Sequence[Seen], final: Final) -> Iterable[str]:
    """Replaying what was seen gives what is there."""
    state: Final = {}
    for event in seen:
        if event.change == "DELETED":
            state.pop(event.name, None)
        else:
            state[event.name] = (event.stamp, event.revision)
    for name in state.keys() | final.keys():
        if state.get(name) != final.get(name):
            yield f"{name} was last seen as {state.get(name)}, but is {final.get(name)}"


def judge_state(kind: Kind, expected: dict[str, str], final: Final) -> list[str]:
    """What the writers know must be there, and nothing else."""
    faults = []
    for name in expected.keys() | final.keys():
        found = final[name][0] if name in final else ABSENT
        if found != expected.get(name, ABSENT):
            faults.append(f"{kind.plural}/{name} is {found or 'absent'}, acknowledged {expected.get(name) or 'absent'}")
    return faults


def judge_origin(kind: Kind, seen: Sequence[Seen], stamps: set[tuple[str, str, str]]) -> list[str]:
    """Nothing is made up."""
    return [
        f"{kind.plural}: nobody wrote {event}" for event in seen if (kind.plural, event.name, event.stamp) not in stamps
    ]
