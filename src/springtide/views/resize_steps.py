# SPDX-License-Identifier: Apache-2.0
"""The steps of a resize: from the accepted request to the ranks that train together.

    steps(change, seen)         five steps, each done, in progress, not begun, or left out for this kind
    ending(change, seen)        how the resize has ended, if it has

New workers are listed only once they are ready, and workers are deleted only once they are no longer listed, so the
order of the steps differs between more and fewer workers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, NamedTuple

from springtide.messages import Text, text
from springtide.views import sizes
from springtide.views.states import CREATED, FINISHED, QUEUED, STARTING, state_of
from springtide.views.trainers import Trainer

Obj = Mapping[str, Any]

_HOSTFILE: Final = "hostfile"
_NOT_BEGUN: Final = (CREATED, QUEUED, STARTING)
_DEFERRED: Final = "SizeDeferred"
_SUCCEEDED, _FAILED, _SCALING = "ScaleSucceeded", "ScaleFailed", "Scaling"


@dataclass(frozen=True, slots=True)
class Change:
    """A requested resize."""

    start: int
    target: int

    @property
    def grows(self) -> bool:
        return self.target > self.start


@dataclass(frozen=True, slots=True)
class Seen:
    """The objects of a job at one moment."""

    job: Obj | None
    """None: it was deleted."""
    workers: Sequence[Obj] = ()
    """Its worker pods."""
    hosts: frozenset[str] | None = None
    """The pods in the host list; None for a kind that has no host list, or if it cannot be read."""
    scaler: Obj | None = None
    by_scaler: bool = False
    """Whether a ScaleOut or ScaleIn carries the resize out."""


class Progress(StrEnum):
    NOT_BEGUN = "not begun"
    GOING_ON = "going on"
    DONE = "done"
    LEFT_OUT = "left out"


class Step(NamedTuple):
    name: Text
    progress: Progress
    detail: Text | None = None


class End(StrEnum):
    DONE = "done"
    DEFERRED = "deferred"
    """The size was accepted and counts later."""
    FAILED = "failed"
    TIMED_OUT = "timed out"
    CANCELLED = "cancelled"
    """Somebody has deleted or suspended the job, or given it another size."""


class Ending(NamedTuple):
    how: End
    why: Text


class _Check(NamedTuple):
    name: Text
    done: bool
    detail: Text | None = None
    left_out: bool = False


def hosts_of(config: Obj) -> frozenset[str]:
    """The pods in the host list of a job's ConfigMap: a host is a pod's name, perhaps with a domain."""
    lines = str((config.get("data") or {}).get(_HOSTFILE, "")).splitlines()
    names = (line.split()[0].partition(":")[0].partition(".")[0] for line in lines if line.strip())
    return frozenset(names)


def has_host_list(trainer: Trainer) -> bool:
    """Launchers start ranks on the hosts of a list; other kinds find each other by themselves."""
    return "launcher" in trainer.chiefs


def effective(change: Change, seen: Seen) -> Change:
    """The sizes that a scaler has found when its turn came: others may have come before it."""
    status = (seen.scaler or {}).get("status") or {}
    start, target = status.get("startSize"), status.get("targetSize")
    return change if start is None or target is None else Change(int(start), int(target))


def steps(change: Change, seen: Seen) -> tuple[Step, ...]:
    """The first step that is not done is going on; the steps after it have not begun."""
    if seen.job is None:
        return ()
    checks = _more(change, seen) if change.grows else _fewer(change, seen)
    found: list[Step] = []
    waits = False
    for check in checks:
        if check.left_out:
            progress = Progress.LEFT_OUT
        elif waits:
            progress = Progress.NOT_BEGUN
        else:
            progress = Progress.DONE if check.done else Progress.GOING_ON
        waits = waits or not (check.done or check.left_out)
        found.append(Step(check.name, progress, check.detail))
    return tuple(found)


def ending(change: Change, seen: Seen) -> Ending | None:
    """None while the resize goes on."""
    return _ended_by_job(change, seen) or _ended_by_scaler(change, seen) or _ended_by_steps(change, seen)


def timed_out(seen: Seen, found: Sequence[Step]) -> Ending:
    """The ending of a resize that takes longer than the user waits; it goes on by itself."""
    step = next((each for each in found if each.progress is Progress.GOING_ON), None)
    explanation = str(((seen.job or {}).get("status") or {}).get("explanation", ""))
    if step is None:
        return Ending(End.TIMED_OUT, text("{why}", why=explanation))
    why = text("{why}", why=explanation) if explanation else step.detail or step.name
    return Ending(End.TIMED_OUT, text("not yet: {step}; {why}", step=step.name, why=why))


def _ended_by_job(change: Change, seen: Seen) -> Ending | None:
    if seen.job is None:
        return Ending(End.CANCELLED, text("the job was deleted"))
    if (state := state_of(seen.job)) in FINISHED:
        return Ending(End.FAILED, text("the job has finished before: {state}", state=state))
    if sizes.suspended(seen.job):
        return Ending(End.DEFERRED, text("the job is suspended; the size counts when it is resumed"))
    if not seen.by_scaler and (now := sizes.workers(seen.job)) != change.target:
        return Ending(End.CANCELLED, text("another change gave the job {size} workers", size=now))
    deferred = _condition(seen.job, _DEFERRED)
    if deferred is not None and not seen.by_scaler:
        return Ending(End.DEFERRED, text("{why}", why=deferred.get("message", "")))
    return None


def _ended_by_scaler(change: Change, seen: Seen) -> Ending | None:
    if not seen.by_scaler:
        return None
    if seen.scaler is None:
        return Ending(End.CANCELLED, text("the scaler was deleted, which cancels the resize"))
    failed = _condition(seen.scaler, _FAILED)
    if failed is None:
        return None
    late = _is_late(seen.scaler, failed)
    return Ending(End.TIMED_OUT if late else End.FAILED, text("{why}", why=failed.get("message", "")))


def _is_late(scaler: Obj, failed: Obj) -> bool:
    began, limit = _condition(scaler, _SCALING, anyhow=True), (scaler.get("spec") or {}).get("timeout")
    if began is None or not limit:
        return False
    took = _moment(failed) - _moment(began)
    return took.total_seconds() >= float(limit)


def _moment(condition: Obj) -> datetime:
    return datetime.fromisoformat(str(condition["lastTransitionTime"]))


def _ended_by_steps(change: Change, seen: Seen) -> Ending | None:
    if all(step.progress in (Progress.DONE, Progress.LEFT_OUT) for step in steps(change, seen)):
        return Ending(End.DONE, text("the job has {size} workers", size=change.target))
    return None


def _more(change: Change, seen: Seen) -> Iterable[_Check]:
    target = change.target
    alive = [pod for pod in seen.workers if _is_alive(pod)]
    ready = [pod for pod in alive if _is_ready(pod)]
    yield _accepted(seen)
    yield _Check(text("worker pods are created"), len(alive) >= target, _count(len(alive), target))
    waiting = next((pod for pod in alive if not _is_ready(pod)), None)
    yield _Check(text("worker pods are ready"), len(ready) >= target, _pods(len(ready), target, waiting))
    yield _listed(seen, alive, lambda listed: listed >= target, target)
    yield _joined(change, seen)


def _fewer(change: Change, seen: Seen) -> Iterable[_Check]:
    target = change.target
    alive = [pod for pod in seen.workers if _is_alive(pod)]
    left = [pod for pod in seen.workers if not _has_ended(pod)]
    yield _accepted(seen)
    yield _listed(seen, seen.workers, lambda listed: listed <= target, target)
    yield _joined(change, seen)
    yield _Check(text("surplus workers are drained"), len(alive) <= target, _count(len(alive), target))
    yield _Check(text("surplus pods are deleted"), len(left) <= target, _count(len(left), target))


def _accepted(seen: Seen) -> _Check:
    if not seen.by_scaler:
        return _Check(text("the new size is accepted"), done=True)
    scaler = seen.scaler or {}
    begun = any(_condition(scaler, type_, anyhow=True) for type_ in (_SCALING, _SUCCEEDED, _FAILED))
    created = _condition(scaler, "Created", anyhow=True) or {}
    waits = text("{why}", why=created.get("message", "")) if created and not begun else None
    return _Check(text("the new size is accepted"), begun, waits)


def _listed(seen: Seen, pods: Iterable[Obj], enough: Any, target: int) -> _Check:
    name = text("the host list is updated")
    if seen.hosts is None:
        return _Check(name, done=True, left_out=True)
    listed = sum(pod["metadata"]["name"] in seen.hosts for pod in pods)
    return _Check(name, enough(listed), _count(listed, target))


def _joined(change: Change, seen: Seen) -> _Check:
    """The status counts the workers that train, as far as the launcher reports them, and otherwise those that are
    ready and listed."""
    status = (seen.job or {}).get("status") or {}
    training, _, wanted = str(status.get("workers", "")).partition("/")
    known = training.isdecimal() and wanted == str(change.target)
    count = int(training) if known else 0
    name = text("the new ranks train") if change.grows else text("the surplus ranks have left")
    done = known and (count >= change.target if change.grows else count <= change.target)
    if state_of(seen.job or {}) in _NOT_BEGUN:
        done = False  # the workers that are counted are ready, and wait for their launcher
    scaled = not seen.by_scaler or _condition(seen.scaler or {}, _SUCCEEDED) is not None
    shown = _count(count, change.target) if known else None
    return _Check(name, done and (scaled or not change.grows), shown)


def _count(count: int, target: int) -> Text:
    return text("{count} of {target}", count=count, target=target)


def _pods(count: int, target: int, waiting: Obj | None) -> Text:
    why = _why_not_ready(waiting) if waiting is not None else ""
    if waiting is None or not why:
        return _count(count, target)
    name = waiting["metadata"]["name"]
    return text("{count} of {target}; {pod}: {why}", count=count, target=target, pod=name, why=why)


def _why_not_ready(pod: Obj) -> str:
    status = pod.get("status") or {}
    unscheduled = _condition(pod, "PodScheduled", wanted="False")
    if unscheduled is not None:
        return str(unscheduled.get("message", "") or unscheduled.get("reason", ""))
    containers = (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ()))
    waits = (((each.get("state") or {}).get("waiting") or {}) for each in containers)
    return next((str(each["reason"]) for each in waits if each.get("reason")), "")


def _is_alive(pod: Obj) -> bool:
    return not pod["metadata"].get("deletionTimestamp") and not _has_ended(pod)


def _has_ended(pod: Obj) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def _is_ready(pod: Obj) -> bool:
    return _condition(pod, "Ready") is not None


def _condition(obj: Obj, type_: str, wanted: str = "True", *, anyhow: bool = False) -> Obj | None:
    """The condition of a type with this status, or with any."""
    conditions = (obj.get("status") or {}).get("conditions") or ()
    return next((each for each in conditions if each["type"] == type_ and (anyhow or each["status"] == wanted)), None)
