# SPDX-License-Identifier: Apache-2.0
"""The judge of scalers: which of them have not ended, and what became of all of them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from tests.crash_jobs import verdict
from tests.crash_jobs.history import Seen
from tests.crash_jobs.jobs import Wanted

from springtide.kube.resources import Obj

KINDS: Final = ("ScaleOut", "ScaleIn")
ENDED: Final = ("ScaleSucceeded", "ScaleFailed")
_NEXT: Final = {
    "": ("", "Created", "Scaling", *ENDED),
    "Created": ("Created", "Scaling", *ENDED),
    "Scaling": ("Scaling", *ENDED),
    "ScaleSucceeded": ("ScaleSucceeded",),
    "ScaleFailed": ("ScaleFailed",),
}
UNSEEN: Final = 2.0
"""Seconds by which a scaler may have been created earlier than one whose turn comes before: the operator watches both
kinds by themselves."""


def phase(scaler: Obj) -> str:
    return str((scaler.get("status") or {}).get("phase", ""))


def unended(scalers: Sequence[Obj]) -> list[str]:
    return [f"{each['metadata']['name']} is {phase(each) or 'new'}" for each in scalers if phase(each) not in ENDED]


def left_of(scalers: Sequence[Obj], pods: Sequence[Obj]) -> Iterator[str]:
    """Workers that were added by scalers that have failed."""
    failed = {
        each["metadata"]["name"] for each in scalers if each["kind"] == "ScaleOut" and phase(each) == "ScaleFailed"
    }
    for pod in pods:
        if (scaler := pod["metadata"].get("labels", {}).get("scaleout-name")) in failed:
            yield f"{pod['metadata']['name']} is still there although {scaler} has failed"


def judge(wanted: Wanted, seen: Sequence[Seen]) -> list[str]:
    return list(dict.fromkeys(_Turns(wanted).faults(seen)))


class _Turns:
    """One at a time, in their order, each from its beginning to one end."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._scalers: dict[str, Seen] = {}
        """By uid; the last state of each that is there."""
        self._sizes: dict[str, list[int]] = {}
        """The sizes in the spec so far, by uid of the job."""
        self._began: dict[str, int] = {}
        """How many there were when a scaler began, by its uid."""

    def faults(self, seen: Sequence[Seen]) -> Iterator[str]:
        for each in seen:
            if each.kind == self._wanted.resource.kind:
                self._sizes.setdefault(each.uid, []).append(self._wanted.size_of(each.object))
            if each.kind in KINDS:
                yield from (f"{each.name}: {fault} (at {each.version})" for fault in self._of(each))

    def _of(self, each: Seen) -> Iterator[str]:
        if each.gone:
            self._scalers.pop(each.uid, None)
            return
        old = self._scalers.get(each.uid)
        before, now = phase(old.object) if old else "", phase(each.object)
        self._scalers[each.uid] = each
        if now not in _NEXT[before]:
            yield f"{now} follows {before}"
        if before in ENDED and old is not None and old.object.get("status") != each.object.get("status"):
            yield "it has changed after its end"
        if now == "Scaling" and before != "Scaling":
            yield from self._begins(each)
        if now == "ScaleSucceeded" and before != now:
            yield from self._succeeds(each)

    def _begins(self, each: Seen) -> Iterator[str]:
        self._began[each.uid] = len(self._sizes.get(verdict.owner(each.object), ()))
        status, most = each.object["status"], self._wanted.most or 0
        if not 1 <= status["targetSize"] <= most:
            yield f"it leads to {status['targetSize']} workers, {most} are allowed"
        for other in self._scalers.values():
            if other.uid == each.uid or verdict.owner(other.object) != verdict.owner(each.object):
                continue
            if phase(other.object) == "Scaling":
                yield f"it begins beside {other.name}"
            waits = phase(other.object) == "Created" and not other.leaves
            if waits and _created(other) < _created(each) - UNSEEN:
                yield f"it begins before {other.name}, which was there earlier"

    def _succeeds(self, each: Seen) -> Iterator[str]:
        """Somebody may change the size again before the end of the scaler is written."""
        target, began = each.object["status"]["targetSize"], self._began.get(each.uid, 0)
        sizes = self._sizes.get(verdict.owner(each.object), [])[max(began - 1, 0) :]
        if sizes and target not in sizes and not each.leaves:
            yield f"it has succeeded with {target} workers, and the job has the size {sizes[-1]}"


def _created(each: Seen) -> float:
    return datetime.fromisoformat(each.object["metadata"]["creationTimestamp"]).timestamp()
