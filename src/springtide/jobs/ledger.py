# SPDX-License-Identifier: Apache-2.0
"""What must outlive the operator and cannot be seen on pods: who belongs to the job, who is listed, what was counted.

It is kept in annotations of the job's config object, beside the host list it speaks of, so that one write changes both.
Every plan writes it before it acts on it, with the version it was read at: a plan made from a stale view is refused
there, before it has done anything.

A worker belongs to the job from the moment its index is written here, so creating its pod twice is harmless. It was
used once it was listed: from then on its name is never given again, because Horovod shuns a host that died for ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Annotated, Final

import msgspec

from springtide.jobs.annotations import decoded
from springtide.jobs.observed import Pod

NEXT_INDEX: Final = "springtide.dev/next-index"
ANNOTATION: Final = "springtide.dev/ledger"
Index = Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)]
"""Of a worker. What no job can have come to was written by somebody else, and the pods are believed instead."""


Count = Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)]


@dataclass(frozen=True, slots=True)
class SetBack:
    """What training has lost with a launcher."""

    reason: str
    message: str
    reached: int | None = None
    """The step it had come to."""


@dataclass(frozen=True, slots=True)
class Move:
    """A pod that is told to leave its node."""

    uid: str
    """Empty once the node stays: then nobody is told to leave."""
    node: str
    earlier: tuple[str, ...] = ()
    """Nodes that the worker had left before and that are still going away."""

    @property
    def nodes(self) -> tuple[str, ...]:
        return (*self.earlier, self.node)


@dataclass(frozen=True, slots=True)
class Ledger:
    next_index: int = 0
    members: tuple[Index, ...] = ()
    """Indices of the workers the job has or is about to have."""
    listed: tuple[Index, ...] = ()
    """Those in the host list."""
    used: tuple[Index, ...] = ()
    """Those that were ever in it."""
    started_with: tuple[Index, ...] = ()
    """Those that the launcher was given at its start."""
    draining: Mapping[Index, datetime] = field(default_factory=dict)
    """Those that left the list while ranks may run on them, and when."""
    serves: str = ""
    """The launcher pod that was given the list."""
    retired: str = ""
    """The launcher whose failure has been counted."""
    restarts: int = 0
    """Failures that were, or are, answered by another pod."""
    restarted_at: datetime | None = None
    disruptions: int = 0
    """Launchers lost through no fault of theirs."""
    replaced: int = 0
    """Workers that failed, in all."""
    failures: Mapping[int, int] = field(default_factory=dict)
    """How many failures in a row a member takes the place of."""
    owed: tuple[tuple[int, datetime], ...] = ()
    """Workers that were lost and have no successor yet: failures in a row, and since when."""
    notices: Mapping[str, int] = field(default_factory=dict)
    """Nodes that are going away, and the first index that was given after that was known."""
    launcher_nodes: Mapping[str, bool] = field(default_factory=dict)
    """Nodes of launchers that are going away, and whether a launcher was moved from there."""
    relocated: str = ""
    """The launcher pod that is told to end because its node is going away."""
    set_back: SetBack | None = None
    """Until the next launcher has come as far as the last one."""
    done: tuple[str, ...] = ()
    """Replicas that keep their names and have succeeded."""
    retried: tuple[str, ...] = ()
    """Pods of such replicas whose failure has been counted."""
    tries: Mapping[str, int] = field(default_factory=dict)
    """How many there were, by role."""

    in_place: Mapping[str, Count] = field(default_factory=dict)
    """Restarts of containers that were counted, by the uid of their pod, of replicas that keep their names."""

    restarts_in_place: int = 0
    """How many there were, in all pods that ever were."""

    moved: Mapping[str, Move] = field(default_factory=dict)
    """Workers that keep their names and were moved off nodes that are going away, by name."""

    sizes: Mapping[str, Index] = field(default_factory=dict)
    """How many workers that keep their names the job has or is about to have, by role: nothing else tells a job that is
    resized from one that is new."""

    @property
    def retries(self) -> int:
        """What counts against the back-off limit, whoever tried again."""
        return self.restarts + self.restarts_in_place

    def annotations(self) -> dict[str, str]:
        fields = msgspec.to_builtins(self, str_keys=True)
        rest = {name: value for name, value in fields.items() if value and name != "next_index"}
        return {NEXT_INDEX: str(self.next_index), ANNOTATION: msgspec.json.encode(rest).decode()}


def read(annotations: Mapping[str, str], workers: Iterable[Pod]) -> Ledger:
    """An index is written here before its pod is created, so what is written counts, and a pod beyond it was made by
    somebody else. Where nothing is written it is read off the pods: no index is given twice."""
    kept = decoded(annotations.get(ANNOTATION, "{}"), Ledger, Ledger(), strict=False)
    written = _index(annotations.get(NEXT_INDEX, ""))
    first = _beyond(workers) if written is None else written
    return replace(kept, next_index=max(first, *_after(kept), 0))


def _index(given: str) -> int | None:
    nothing: int | None = None
    return decoded(given, Index, nothing)


def _beyond(workers: Iterable[Pod]) -> int:
    return max((pod.index + 1 for pod in workers if pod.index is not None), default=0)


def recovered(workers: Iterable[Pod], launcher: Pod | None) -> Ledger:
    """Of a job whose config object was lost: its living workers are taken over, and since they may have been listed
    they count as listed as long as a launcher may know them."""
    alive = tuple(pod for pod in workers if pod.alive and pod.index is not None)
    members = tuple(sorted(pod.index for pod in alive if pod.index is not None))
    listed = tuple(sorted(pod.index for pod in alive if pod.index is not None and pod.ready)) if launcher else ()
    base = read({}, workers)
    return replace(
        base, members=members, listed=listed, used=listed, started_with=listed, serves=launcher.uid if launcher else ""
    )


def _after(kept: Ledger) -> tuple[int, ...]:
    return tuple(index + 1 for index in (*kept.members, *kept.listed, *kept.draining))
