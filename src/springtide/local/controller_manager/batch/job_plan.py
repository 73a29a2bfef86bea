# SPDX-License-Identifier: Apache-2.0
"""The next step for a batch Job: which pods to create or delete, and whether it is over. Pure.

    plan(observed, now)                         counts, and decides about pods
    conclude(plan, observed, outcome, now)      the new status, once the outcome is known

`job_accounting` adds finished pods to the status.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from springtide.kube.resources import Obj
from springtide.local.controller_manager import conditions
from springtide.local.controller_manager.batch import job_indexes
from springtide.local.controller_manager.batch.job_backoff import NO_FAILURES, Backoff, remaining_for_index
from springtide.local.controller_manager.batch.job_endings import ENDINGS, SUCCESS_MET, Case, condition, until_deadline
from springtide.local.controller_manager.batch.job_pods import (
    NO_INDEX,
    Terms,
    Wanted,
    all_index_failures,
    completion_index,
    index_failures,
)
from springtide.local.controller_manager.batch.job_policies import handle_failure
from springtide.local.controller_manager.batch.job_tally import Observed, Tally, count
from springtide.local.controller_manager.timestamps import stamp
from springtide.local.controller_manager.views import PodView
from springtide.local.controller_manager.workloads.pod_control import BURST, Outcome
from springtide.local.controller_manager.workloads.pod_ranking import active_order

SUSPENDED = "Suspended"


@dataclass(frozen=True, slots=True)
class Plan:
    terms: Terms
    tally: Tally
    start_time: str | None
    ending: Obj | None = None
    """The condition that ends the Job."""
    managed: bool = False
    """Whether the number of pods was checked, so that a suspension is known to be carried out."""
    delete: tuple[PodView, ...] = ()
    create: tuple[Wanted, ...] = ()
    backoff: Backoff = NO_FAILURES
    look_again: float | None = None


def plan(observed: Observed, now: datetime) -> Plan:
    job, terms = observed.job, Terms.of(observed.job)
    tally = count(observed, terms)
    start = (job.get("status") or {}).get("startTime") or (None if terms.suspended else stamp(now))
    backoff = observed.backoff.after(tally.new_succeeded, tally.new_failed)
    case = Case(observed, terms, tally, start, now)
    ending = next((found for reason in ENDINGS if (found := reason(case)) is not None), None)
    decided = Plan(terms, tally, start, ending, backoff=backoff, look_again=until_deadline(case))
    if ending is not None:
        return replace(decided, delete=tally.active)
    if not observed.settled or "deletionTimestamp" in job["metadata"]:
        return decided
    return _manage(replace(decided, managed=True), observed, now)


# The number of pods


def _manage(decided: Plan, observed: Observed, now: datetime) -> Plan:
    terms, tally = decided.terms, decided.tally
    active = len(tally.active)
    if terms.suspended:
        return replace(decided, delete=tally.active)
    wanted = _wanted_active(terms, tally)
    surplus = _to_remove(terms, tally.active, max(0, active - wanted))[:BURST]
    if surplus:
        return replace(decided, delete=tuple(surplus))
    missing = wanted - active - (tally.terminating if terms.replaces_failed_only else 0)
    if missing <= 0:
        return decided
    if terms.backoff_per_index is None and (wait := decided.backoff.remaining(now)) > 0:
        return _looking_again(decided, wait)
    missing = min(missing, BURST)
    if not terms.indexed:
        return replace(decided, create=(Wanted(),) * missing)
    return _add_indexes(decided, observed, missing, now)


def _wanted_active(terms: Terms, tally: Tally) -> int:
    if terms.completions is None:
        # A work queue: once one pod has succeeded, no new pods are started.
        return len(tally.active) if tally.succeeded else terms.parallelism
    return max(0, min(terms.completions - tally.succeeded, terms.parallelism))


def _to_remove(terms: Terms, pods: tuple[PodView, ...], at_least: int) -> list[PodView]:
    """Pods with a duplicate index or one out of range, and then as many more as needed."""
    removed: list[PodView] = []
    kept: list[PodView] = []
    if terms.indexed:
        best: dict[int, PodView] = {completion_index(pod): pod for pod in active_order(pods) if terms.valid_index(pod)}
        for pod in pods:
            (kept if best.get(completion_index(pod)) is pod else removed).append(pod)
    else:
        kept = list(pods)
    if len(removed) < at_least:
        removed += active_order(kept)[: at_least - len(removed)]
    return removed


def _add_indexes(decided: Plan, observed: Observed, missing: int, now: datetime) -> Plan:
    terms, tally = decided.terms, decided.tally
    taken = set(tally.succeeded_indexes) | {completion_index(pod) for pod in tally.active}
    if terms.replaces_failed_only:
        taken |= {completion_index(pod) for pod in observed.pods if pod.terminating}
    taken |= set(tally.failed_indexes or ())
    indexes = job_indexes.first_missing(taken - {NO_INDEX}, missing, terms.completions or 0)
    if terms.backoff_per_index is None:
        return replace(decided, create=tuple(Wanted(index) for index in indexes))
    waits = {index: remaining_for_index(tally.replaceable.get(index), now) for index in indexes}
    due = [index for index, wait in waits.items() if not wait]
    if indexes and not due:
        return _looking_again(decided, min(waits.values()))
    return replace(decided, create=tuple(_successor(terms, tally, index) for index in due))


def _successor(terms: Terms, tally: Tally, index: int) -> Wanted:
    replaced = tally.replaceable.get(index)
    if replaced is None:
        return Wanted(index, failures=0)
    counts = handle_failure(terms.failure_rules, replaced).counts
    failures = index_failures(replaced)
    ignored = all_index_failures(replaced) - failures
    return Wanted(index, failures + counts, ignored + (not counts))


def _looking_again(decided: Plan, wait: float) -> Plan:
    sooner = wait if decided.look_again is None else min(wait, decided.look_again)
    return replace(decided, look_again=sooner)


# Results


@dataclass(frozen=True, slots=True)
class Conclusion:
    active: int
    ready: int
    terminating: int
    start_time: str | None
    conditions: tuple[Obj, ...]
    ending: Obj | None
    event: tuple[str, str] | None = None
    """Reason and message, when the Job was suspended or resumed."""


def conclude(decided: Plan, observed: Observed, outcome: Outcome, now: datetime) -> Conclusion:
    tally, status = decided.tally, observed.job.get("status") or {}
    deleted = outcome.done if decided.delete else 0
    created = outcome.done if decided.create else 0
    active = len(tally.active) - deleted + created
    ready = sum(pod.ready for pod in tally.active) - sum(pod.ready for pod in decided.delete)
    found = Conclusion(
        active,
        max(0, ready),
        tally.terminating + deleted,
        decided.start_time,
        tuple(status.get("conditions") or ()),
        decided.ending,
    )
    if decided.ending is not None:
        carried_out = deleted == len(tally.active) and observed.settled
        return found if carried_out else replace(found, ending=None)
    if _completed(decided.terms, tally.succeeded, active):
        message = "Reached expected number of succeeded pods"
        return replace(found, ending=condition(SUCCESS_MET, "CompletionsReached", message, now))
    return _with_suspension(found, decided.terms.suspended, now) if decided.managed else found


def _completed(terms: Terms, succeeded: int, active: int) -> bool:
    enough = succeeded > 0 if terms.completions is None else succeeded >= terms.completions
    return enough and not active


def _with_suspension(found: Conclusion, suspended: bool, now: datetime) -> Conclusion:
    known = conditions.find(found.conditions, SUSPENDED)
    if suspended == (known is not None and known["status"] == "True"):
        return found
    if suspended:
        news, event, start = condition(SUSPENDED, "JobSuspended", "Job suspended", now), "Suspended", None
    else:
        news, event = condition(SUSPENDED, "JobResumed", "Job resumed", now, "False"), "Resumed"
        start = stamp(now)
    kept = tuple(news if known is not None and present is known else present for present in found.conditions)
    if known is None:
        kept = (*kept, news)
    return replace(found, conditions=kept, start_time=start, event=(event, f"Job {event.lower()}"))
