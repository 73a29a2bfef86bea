# SPDX-License-Identifier: Apache-2.0
"""State that must survive the operator and cannot be read off pods: members, the host list, counters.

It is kept in annotations of the job's config object, beside the host list, so that one write changes both. Every plan
writes it before it acts on it, with the resource version that was read: a plan made from a stale view is rejected
there, before it has changed anything.

A worker is a member of the job from when its index is written here, so creating its pod twice is harmless. Once it was
listed its name is never reused, because Horovod excludes a host that failed for good.

All annotations of an object together have at most 256 KiB. So a long ledger is compressed, and of uids only as much is
kept as tells pods of one job apart: a restart of 10,000 replicas together takes 136 kB.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Annotated, Final

import msgspec

from springtide.jobs.annotations import decoded
from springtide.jobs.observed import Pod

NEXT_INDEX: Final = "springtide.dev/next-index"
ANNOTATION: Final = "springtide.dev/ledger"
Index = Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)]
"""Index of a worker. A larger number cannot be the job's own; another client wrote it, and the pods are believed
instead."""


_PLAIN: Final = 64 * 1024
"""Characters up to which a ledger is not compressed, so that users can read it."""
_COMPRESSED: Final = "zlib:"
_LARGEST: Final = 8 * 1024 * 1024
"""Bytes of a ledger that is read; a compressed one that another client wrote may be a thousand times as long as its
annotation."""
_UID, _TOKEN = 36, 16
Count = Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)]


@dataclass(frozen=True, slots=True)
class SetBack:
    """The training progress lost with a launcher."""

    reason: str
    message: str
    reached: int | None = None
    """The step that the lost run had reached."""


@dataclass(frozen=True, slots=True)
class Move:
    """A pod that is moved off its node."""

    uid: str
    """Empty once the node no longer goes away: then no pod is deleted."""
    node: str
    earlier: tuple[str, ...] = ()
    """Nodes that the worker left before and that are still going away."""

    @property
    def nodes(self) -> tuple[str, ...]:
        return (*self.earlier, self.node)


@dataclass(frozen=True)
class Ledger:
    next_index: int = 0
    members: tuple[Index, ...] = ()
    """Indices of the workers the job has or is about to have."""
    listed: tuple[Index, ...] = ()
    """Indices in the host list."""
    used: tuple[Index, ...] = ()
    """Members that were ever in the host list."""
    started_with: tuple[Index, ...] = ()
    """Members in the host list that the launcher started with."""
    draining: Mapping[Index, datetime] = field(default_factory=dict)
    """Workers removed from the host list while ranks may still run on them, and since when."""
    serves: str = ""
    """The launcher pod that the host list is for."""
    retired: str = ""
    """The launcher pod whose failure has been counted."""
    restarts: int = 0
    """Failures after which a pod was, or is, created again."""
    restarted_at: datetime | None = None
    disruptions: int = 0
    """Launchers lost to disruptions of their nodes."""
    replaced: int = 0
    """Workers that failed, in total."""
    failures: Mapping[int, int] = field(default_factory=dict)
    """Consecutive failures of a member's predecessors."""
    owed: tuple[tuple[int, datetime], ...] = ()
    """Lost workers without a successor yet: consecutive failures, and since when."""
    dead: tuple[Index, ...] = ()
    """Members that have ended or were deleted and are not replaced; so they still count in the job's size."""
    notices: Mapping[str, int] = field(default_factory=dict)
    """Nodes that are going away, and the next index when that was first observed."""
    launcher_nodes: Mapping[str, bool] = field(default_factory=dict)
    """Nodes of launchers that are going away, and whether a launcher was moved off them."""
    relocated: str = ""
    """The launcher pod that is terminated because its node is going away."""
    has_run: bool = False
    """A launcher of the job has run; kept only for jobs that may wait so long for it, also while they are suspended."""
    set_back: SetBack | None = None
    """Kept until the next launcher has reached the same step."""
    done: tuple[str, ...] = ()
    """Replicas that keep their names and have succeeded."""
    retried: tuple[str, ...] = ()
    """Tokens of pods of replicas that keep their names whose failure has been counted."""
    tries: Mapping[str, int] = field(default_factory=dict)
    """Counted failures of these replicas, by role."""

    in_place: Mapping[str, Count] = field(default_factory=dict)
    """Counted container restarts of replicas that keep their names, by the pod's token."""

    restarts_in_place: int = 0
    """Container restarts of all pods so far."""

    moved: Mapping[str, Move] = field(default_factory=dict)
    """Workers that keep their names and were moved off nodes that are going away, by name."""

    sizes: Mapping[str, Index] = field(default_factory=dict)
    """The number of replicas that keep their names, by role: only this tells a job that is resized from a new one."""

    joining: tuple[Index, ...] = ()
    """Members that a scaler adds: they are listed together, once all of them are ready."""

    joining_for: str = ""
    """The uid of that scaler."""

    scaled: str = ""
    """The uid of the scaler whose new workers were listed last."""

    complete: bool = False
    """All replicas of a job that is restarted as a whole have existed since its last start."""

    @property
    def retries(self) -> int:
        """What counts against the back-off limit, whether the engine or the kubelet retried."""
        return self.restarts + self.restarts_in_place

    def has_retried(self, pod: Pod) -> bool:
        """Whether the failure of this pod has been counted."""
        return token(pod.uid) in self._all_retried

    @cached_property
    def _all_retried(self) -> frozenset[str]:
        return frozenset(self.retried)

    def annotations(self) -> dict[str, str]:
        fields = msgspec.to_builtins(self, str_keys=True)
        rest = {name: value for name, value in fields.items() if value and name != "next_index"}
        return {NEXT_INDEX: str(self.next_index), ANNOTATION: _packed(msgspec.json.encode(rest))}


def token(uid: str) -> str:
    """60 random bits of a uid; what is one already stays as it is."""
    return uid.replace("-", "")[:_TOKEN] if len(uid) == _UID else uid


def _packed(text: bytes) -> str:
    return text.decode() if len(text) <= _PLAIN else _COMPRESSED + base64.b64encode(zlib.compress(text)).decode()


def _unpacked(text: str) -> str | bytes:
    """Empty if this module cannot have compressed the text."""
    if not text.startswith(_COMPRESSED):
        return text
    reader = zlib.decompressobj()
    try:
        found = reader.decompress(base64.b64decode(text[len(_COMPRESSED) :], validate=True), _LARGEST)
    except (binascii.Error, zlib.error, ValueError):
        return b""
    return found if reader.eof else b""


def read(annotations: Mapping[str, str], workers: Iterable[Pod]) -> Ledger:
    """An index is written here before its pod is created, so the written index counts, and a pod with a higher one was
    created by another client. If none is written it is derived from the pods: no index is used twice."""
    kept = decoded(_unpacked(annotations.get(ANNOTATION, "{}")), Ledger, Ledger(), strict=False)
    written = _index(annotations.get(NEXT_INDEX, ""))
    first = _beyond(workers) if written is None else written
    return replace(
        kept,
        next_index=max(first, *_after(kept), 0),
        joining=_among(kept.joining, kept.members),
        dead=_among(kept.dead, kept.members),
        retried=tuple(map(token, kept.retried)),  # earlier releases wrote whole uids
        in_place={token(uid): times for uid, times in kept.in_place.items()},
    )


def _among(indices: tuple[int, ...], members: tuple[int, ...]) -> tuple[int, ...]:
    """Those that are members, each once. Other clients can write to the ledger: a scaler would wait for ever for others
    to be listed."""
    if not indices:
        return ()
    known = set(members)
    return tuple(index for index in dict.fromkeys(indices) if index in known)


def _index(given: str) -> int | None:
    nothing: int | None = None
    return decoded(given, Index, nothing)


def _beyond(workers: Iterable[Pod]) -> int:
    return max((pod.index + 1 for pod in workers if pod.index is not None), default=0)


def recovered(workers: Iterable[Pod], launcher: Pod | None) -> Ledger:
    """The ledger of a job whose config object was lost: living workers become members, and since they may have been
    listed they count as listed while the launcher's pod exists."""
    alive = tuple(pod for pod in workers if pod.alive and pod.index is not None)
    members = tuple(sorted(pod.index for pod in alive if pod.index is not None))
    listed = tuple(sorted(pod.index for pod in alive if pod.index is not None and pod.ready)) if launcher else ()
    base = read({}, workers)
    return replace(
        base, members=members, listed=listed, used=listed, started_with=listed, serves=launcher.uid if launcher else ""
    )


def joining(kept: Ledger, indices: Iterable[int], scaler: str) -> Ledger:
    """The recovered ledger with these members not listed, because a scaler adds them."""
    found = tuple(indices)

    def others(listed: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(index for index in listed if index not in found)

    return replace(
        kept,
        listed=others(kept.listed),
        used=others(kept.used),
        started_with=others(kept.started_with),
        joining=found,
        joining_for=scaler if found else "",
    )


def _after(kept: Ledger) -> tuple[int, ...]:
    return tuple(index + 1 for index in (*kept.members, *kept.listed, *kept.draining))
