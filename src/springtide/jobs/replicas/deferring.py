# SPDX-License-Identifier: Apache-2.0
"""Defers a new size while a job runs that is not elastic.

A launcher keeps the workers it started with until it ends; a new size applies from its next start. Workers added
meanwhile wait for that start, and may be removed before it. Replicas that keep their names are none more and none fewer
until the job is suspended and resumed.
"""

from __future__ import annotations

from typing import Final

from springtide.jobs.kind import Shape, Sizes
from springtide.jobs.launchers import launching
from springtide.jobs.snapshot import Snapshot

DEFERRED: Final = "SizeDeferred"
"""The condition that reports the difference."""
_ORDINALS: Final = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


def applies(snapshot: Snapshot) -> bool:
    """Whether a launcher that is not elastic has its hosts and has not ended."""
    ledger, pod = snapshot.ledger, snapshot.launcher
    if snapshot.sizes.elastic or not ledger.serves:
        return False
    return pod is not None and pod.alive and pod.uid == ledger.serves


def held(snapshot: Snapshot) -> tuple[int, ...]:
    """Members that such a launcher uses and that must stay."""
    ledger = snapshot.ledger
    if not applies(snapshot):
        return ()
    given = set(ledger.started_with or ledger.used)  # ledgers of earlier releases have no `started_with`
    return tuple(index for index in ledger.members if index in given)


def training(snapshot: Snapshot) -> int | None:
    """The number of workers that train now, where it differs from the number of ready workers."""
    ready = set(launching.ready(snapshot))
    return sum(index in ready for index in held(snapshot)) if applies(snapshot) else None


def explained(snapshot: Snapshot) -> str:
    """The difference between the running and the requested size; empty if there is none."""
    if snapshot.shape.fixed:
        return _of_named_replicas(snapshot)
    if not applies(snapshot):
        return ""
    return difference(snapshot.sizes.rigid, len(held(snapshot)), snapshot.wanted_size)


def _of_named_replicas(snapshot: Snapshot) -> str:
    kept, asked = snapshot.ledger.sizes, snapshot.asked_sizes
    elastic = snapshot.shape.workers if snapshot.sizes.elastic else ""
    found = [
        f"{replicas(snapshot, role, size)} requested, {kept[role]} {'runs' if kept[role] == 1 else 'run'}"
        for role, size in asked.items()
        if role in kept and kept[role] != size and role != elastic
    ]
    if not found or snapshot.too_large:
        return ""
    rigid = why_kept(snapshot.shape, snapshot.sizes)
    return f"{', '.join(found)}: {rigid}; suspend and resume the job to start anew with the requested size"


def why_kept(shape: Shape, sizes: Sizes) -> str:
    """Why replicas that keep their names cannot become more or fewer while the job runs."""
    return f"only the size of {shape.workers} can change while the job runs" if sizes.elastic else sizes.rigid


def replicas(snapshot: Snapshot, role: str, count: int) -> str:
    """`1 worker is`, `2 PS replicas are`."""
    what = "worker" if role == snapshot.shape.workers else f"{role} replica"
    return f"1 {what} is" if count == 1 else f"{count} {what}s are"


def difference(rigid: str, used: int, wanted: int) -> str:
    if used == wanted:
        return ""
    if wanted < used:
        asked = "1 is" if wanted == 1 else f"{wanted} are"
        trains = "worker trains" if used == 1 else "workers train"
        return f"{used} {trains}, {asked} requested: {rigid}, so the new size counts from the launcher's next start"
    trains = "train" if used != 1 else "trains"
    return f"{used} of {wanted} workers {trains}; {_others(used, wanted)} from the launcher's next start: {rigid}"


def _others(used: int, wanted: int) -> str:
    if wanted - used > 1:
        return f"the other {wanted - used} count"
    return f"the {_ORDINALS[used] if used < len(_ORDINALS) else 'last'} counts"
