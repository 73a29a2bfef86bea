# SPDX-License-Identifier: Apache-2.0
"""Counting finished pods exactly once, although a pod and its Job cannot be written atomically. Pure.

    1. `enter`  finished pods are listed by uid in `status.uncountedTerminatedPods`; that status is written
    2.          the finalizer of the listed pods is removed
    3. `close`  pods without a finalizer move from the list into the counts; that status is written

After a crash between any two of these, the next round continues there. An indexed Job needs no list of successes: its
set of completed indexes cannot count twice.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from datetime import datetime

from springtide.kube.resources import Obj
from springtide.local.controller_manager import conditions
from springtide.local.controller_manager.batch import job_indexes
from springtide.local.controller_manager.batch.job_endings import (
    COMPLETE,
    FAILED,
    FAILURE_TARGET,
    SUCCESS_MET,
    condition,
)
from springtide.local.controller_manager.batch.job_plan import Conclusion, Plan
from springtide.local.controller_manager.batch.job_pods import completion_index, has_failed, tracked
from springtide.local.controller_manager.batch.job_policies import handle_failure
from springtide.local.controller_manager.batch.job_tally import Observed
from springtide.local.controller_manager.views import PodView

MOST_UNCOUNTED = 500
"""The maximum number of uids in the status, which keeps it under 20 kB."""


@dataclass(frozen=True, slots=True)
class Entry:
    status: Obj
    release: tuple[PodView, ...]
    """Pods whose finalizer is removed once the status is written."""
    held: frozenset[str]
    """Uids of pods that have their finalizer now."""
    ending: Obj | None
    """Complete or Failed, set when no pods are left to count."""
    terminating: int


def enter(observed: Observed, decided: Plan, concluded: Conclusion, now: datetime) -> Entry:
    mine = [pod for pod in observed.pods if tracked(pod) and pod.uid not in observed.released]
    if decided.terms.indexed:
        mine.sort(key=completion_index)
    held = frozenset(pod.uid for pod in mine)
    status = _without_gone(dict(observed.job.get("status") or {}), held)
    ledger = _Ledger(decided, concluded, status)
    for pod in mine:
        if ledger.full:
            break
        ledger.take_in(pod, deleting="deletionTimestamp" in observed.job["metadata"])
    status |= {
        "active": concluded.active,
        "ready": concluded.ready,
        "terminating": concluded.terminating,
        "uncountedTerminatedPods": ledger.uncounted,
        "startTime": concluded.start_time,
        "conditions": list(concluded.conditions),
    }
    if decided.terms.indexed:
        status |= ledger.indexes()
    ending = None if ledger.full else _ending(status, concluded.ending, now)
    return Entry(shown(status), tuple(ledger.release), held, ending, concluded.terminating)


class _Ledger:
    def __init__(self, decided: Plan, concluded: Conclusion, status: Obj) -> None:
        self.terms, self.tally, self.ending = decided.terms, decided.tally, concluded.ending
        known = status.get("uncountedTerminatedPods") or {}
        self.uncounted = {name: list(known.get(name) or ()) for name in ("succeeded", "failed")}
        self.failed_before = frozenset(self.uncounted["failed"])
        self.succeeded_before = frozenset(self.uncounted["succeeded"])
        self.new_indexes: set[int] = set()
        self.release: list[PodView] = []

    @property
    def full(self) -> bool:
        listed = len(self.new_indexes) + sum(len(uids) for uids in self.uncounted.values())
        return listed >= MOST_UNCOUNTED

    def take_in(self, pod: PodView, *, deleting: bool) -> None:
        failed = has_failed(pod, self.terms)
        succeeded = pod.status.phase == "Succeeded"
        if not (deleting or self.ending is not None or succeeded or (failed and not self._waits(pod))):
            return
        self.release.append(pod)
        if succeeded and pod.uid not in self.failed_before:
            self._succeeded(pod)
        elif failed or (self.ending is not None and self.ending["type"] != SUCCESS_MET):
            self._failed(pod)

    def _waits(self, pod: PodView) -> bool:
        """The last failed pod of an index is kept until its successor exists: it carries the failure count."""
        kept = self.tally.replaceable.get(completion_index(pod))
        return kept is not None and kept.uid == pod.uid

    def _succeeded(self, pod: PodView) -> None:
        if not self.terms.indexed:
            if pod.uid not in self.succeeded_before:
                self.uncounted["succeeded"].append(pod.uid)
        elif self.terms.valid_index(pod) and completion_index(pod) not in self.tally.succeeded_before:
            self.new_indexes.add(completion_index(pod))

    def _failed(self, pod: PodView) -> None:
        if pod.uid in self.failed_before or (self.terms.indexed and not self.terms.valid_index(pod)):
            return
        if handle_failure(self.terms.failure_rules, pod).counts:
            self.uncounted["failed"].append(pod.uid)

    def indexes(self) -> Obj:
        done = self.tally.succeeded_indexes | self.new_indexes
        found: Obj = {"succeeded": len(done), "completedIndexes": job_indexes.render(done)}
        if self.tally.failed_indexes is not None:
            found["failedIndexes"] = job_indexes.render(self.tally.failed_indexes)
        return found


def _ending(status: Obj, decided: Obj | None, now: datetime) -> Obj | None:
    """Records the decided end in the status, and returns the final condition."""
    if decided is None:
        return None
    if decided["type"] == FAILURE_TARGET:
        status["conditions"] = [*status["conditions"], decided]
        return condition(FAILED, decided["reason"], decided["message"], now)
    if decided["type"] == SUCCESS_MET:
        if not conditions.is_true(status["conditions"], SUCCESS_MET):
            status["conditions"] = [*status["conditions"], decided]
        return condition(COMPLETE, decided["reason"], decided["message"], now)
    return decided


def close(entry: Entry, written: Obj, released: Set[str], now: datetime) -> tuple[Obj, Obj | None]:
    """The status after finalizers were removed, and the condition that ended the Job if it is over now."""
    status = _without_gone(dict(written), entry.held - released)
    uncounted = status.get("uncountedTerminatedPods") or {}
    if entry.ending is None or any(uncounted.values()) or entry.terminating:
        return shown(status), None
    status["conditions"] = [*status.get("conditions", ()), entry.ending]
    if entry.ending["type"] == COMPLETE:
        status["completionTime"] = entry.ending["lastTransitionTime"]
    return shown(status), entry.ending


def _without_gone(status: Obj, held: Set[str]) -> Obj:
    """Moves pods without a finalizer from the list into the counts."""
    uncounted = status.get("uncountedTerminatedPods") or {}
    left: dict[str, list[str]] = {}
    for name in ("succeeded", "failed"):
        listed = uncounted.get(name) or []
        left[name] = [uid for uid in listed if uid in held]
        status[name] = status.get(name, 0) + len(listed) - len(left[name])
    return {**status, "uncountedTerminatedPods": left}


_ALWAYS = frozenset({"ready", "terminating", "failedIndexes", "uncountedTerminatedPods"})


def shown(status: Obj) -> Obj:
    """Drops zero, empty and absent fields, except those where absence means unknown."""
    found = {name: value for name, value in status.items() if value or name in _ALWAYS}
    uncounted = status.get("uncountedTerminatedPods") or {}
    return {**found, "uncountedTerminatedPods": {name: uids for name, uids in uncounted.items() if uids}}
