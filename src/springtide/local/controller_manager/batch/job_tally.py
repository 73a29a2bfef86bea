# SPDX-License-Identifier: Apache-2.0
"""Counting a batch Job's pods: active pods, newly finished pods, completed indexes. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from springtide.kube.resources import Obj
from springtide.local.controller_manager.batch import job_indexes
from springtide.local.controller_manager.batch.job_backoff import NO_FAILURES, Backoff
from springtide.local.controller_manager.batch.job_indexes import Indexes
from springtide.local.controller_manager.batch.job_pods import (
    Terms,
    all_index_failures,
    completion_index,
    finished_at,
    has_failed,
    index_failures,
    tracked,
)
from springtide.local.controller_manager.batch.job_policies import handle_failure
from springtide.local.controller_manager.views import PodView


@dataclass(frozen=True, slots=True)
class Observed:
    job: Obj
    pods: tuple[PodView, ...] = ()
    settled: bool = True
    """Whether the cache shows all earlier writes."""
    backoff: Backoff = NO_FAILURES
    released: frozenset[str] = frozenset()
    """Uids of pods whose finalizer was already removed, even if the cache still shows it."""


@dataclass(frozen=True, slots=True)
class Tally:
    active: tuple[PodView, ...]
    terminating: int
    succeeded: int
    failed: int
    new_succeeded: tuple[PodView, ...]
    new_failed: tuple[PodView, ...]
    succeeded_before: Indexes = job_indexes.NONE
    succeeded_indexes: Indexes = job_indexes.NONE
    failed_indexes: Indexes | None = None
    """None unless failures are limited per index."""
    replaceable: Mapping[int, PodView] = field(default_factory=dict)
    """The last failed pod of each index that is to be retried; it keeps its finalizer until then."""


def count(observed: Observed, terms: Terms) -> Tally:
    status = observed.job.get("status") or {}
    uncounted = status.get("uncountedTerminatedPods") or {}
    counted = {name: frozenset(uncounted.get(name) or ()) for name in ("succeeded", "failed")}
    fresh = [pod for pod in observed.pods if _countable(pod, observed, terms)]
    new_succeeded = tuple(p for p in fresh if p.status.phase == "Succeeded" and p.uid not in counted["succeeded"])
    new_failed = tuple(p for p in fresh if has_failed(p, terms) and p.uid not in counted["failed"])
    counting = sum(handle_failure(terms.failure_rules, pod).counts for pod in new_failed)
    tally = Tally(
        active=tuple(pod for pod in observed.pods if pod.active),
        terminating=sum(pod.terminating for pod in observed.pods),
        succeeded=status.get("succeeded", 0) + len(new_succeeded) + len(counted["succeeded"]),
        failed=status.get("failed", 0) + counting + len(counted["failed"]),
        new_succeeded=new_succeeded,
        new_failed=new_failed,
    )
    return _count_indexes(tally, observed, terms) if terms.indexed else tally


def _countable(pod: PodView, observed: Observed, terms: Terms) -> bool:
    if not tracked(pod) or pod.uid in observed.released:
        return False
    return not terms.indexed or terms.valid_index(pod)


def _count_indexes(tally: Tally, observed: Observed, terms: Terms) -> Tally:
    status = observed.job.get("status") or {}
    completions = terms.completions or 0
    before = job_indexes.parse(status.get("completedIndexes", ""), completions)
    mine = [pod for pod in observed.pods if tracked(pod) and terms.valid_index(pod)]
    succeeded = before | {completion_index(pod) for pod in mine if pod.status.phase == "Succeeded"}
    failed = None
    replaceable: dict[int, PodView] = {}
    if terms.backoff_per_index is not None:
        failed = job_indexes.parse(status.get("failedIndexes", ""), completions)
        failed |= {completion_index(pod) for pod in mine if _index_failed(pod, terms)}
        done = succeeded | failed | {completion_index(pod) for pod in tally.active}
        replaceable = _replaceable([pod for pod in mine if pod.uid not in observed.released], terms, done)
    return replace(
        tally,
        succeeded=len(succeeded),
        succeeded_before=before,
        succeeded_indexes=succeeded,
        failed_indexes=failed,
        replaceable=replaceable,
    )


def _index_failed(pod: PodView, terms: Terms) -> bool:
    if not has_failed(pod, terms):
        return False
    handling = handle_failure(terms.failure_rules, pod)
    if handling.action == "FailIndex":
        return True
    assert terms.backoff_per_index is not None
    return handling.counts and index_failures(pod) >= terms.backoff_per_index


def _replaceable(pods: list[PodView], terms: Terms, done: Indexes) -> dict[int, PodView]:
    found: dict[int, PodView] = {}
    for pod in pods:
        index = completion_index(pod)
        if index in done or not has_failed(pod, terms):
            continue
        known = found.get(index)
        if known is None or (all_index_failures(known), finished_at(known)) <= (
            all_index_failures(pod),
            finished_at(pod),
        ):
            found[index] = pod
    return found
