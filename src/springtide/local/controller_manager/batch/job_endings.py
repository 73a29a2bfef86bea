# SPDX-License-Identifier: Apache-2.0
"""Why a batch Job ends: an ordered list of reasons, of which the first that applies decides. Pure.

A reason yields the condition that announces the end (SuccessCriteriaMet or FailureTarget); Complete and Failed follow
when the last pod is gone.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

from springtide.kube.resources import Obj
from springtide.local.controller_manager import conditions
from springtide.local.controller_manager.batch.job_pods import Terms, has_failed, restarts
from springtide.local.controller_manager.batch.job_policies import handle_failure, success_met
from springtide.local.controller_manager.batch.job_tally import Observed, Tally
from springtide.local.controller_manager.timestamps import read, stamp

COMPLETE, FAILED = "Complete", "Failed"
SUCCESS_MET, FAILURE_TARGET = "SuccessCriteriaMet", "FailureTarget"


class Case(NamedTuple):
    observed: Observed
    terms: Terms
    tally: Tally
    start_time: str | None
    now: datetime

    @property
    def conditions(self) -> list[Obj]:
        return (self.observed.job.get("status") or {}).get("conditions") or []

    def failure(self, reason: str, message: str) -> Obj:
        return condition(FAILURE_TARGET, reason, message, self.now)


def _success_was_met(case: Case) -> Obj | None:
    found = conditions.find(case.conditions, SUCCESS_MET)
    return found if found is not None and found["status"] == "True" else None


def _failure_was_decided(case: Case) -> Obj | None:
    found = conditions.find(case.conditions, FAILURE_TARGET)
    if found is None or found["status"] != "True":
        return None
    return condition(FAILED, found["reason"], found["message"], case.now)


def _failed_by_policy(case: Case) -> Obj | None:
    for pod in case.observed.pods if case.terms.failure_rules is not None else ():
        if has_failed(pod, case.terms):
            handling = handle_failure(case.terms.failure_rules, pod)
            if handling.message:
                return case.failure("PodFailurePolicy", handling.message)
    return None


def _too_many_failures(case: Case) -> Obj | None:
    terms = case.terms
    exceeded = case.tally.failed > terms.backoff_limit
    if terms.restarts_in_place:
        total = sum(restarts(pod) for pod in case.observed.pods if pod.status.phase in ("Running", "Pending"))
        exceeded = exceeded or total >= max(1, terms.backoff_limit)
    message = "Job has reached the specified backoff limit"
    return case.failure("BackoffLimitExceeded", message) if exceeded else None


def _too_late(case: Case) -> Obj | None:
    left = _seconds_left(case)
    if left is None or left > 0:
        return None
    return case.failure("DeadlineExceeded", "Job was active longer than specified deadline")


def _indexes_failed(case: Case) -> Obj | None:
    failed = case.tally.failed_indexes
    if not failed:
        return None
    most = case.observed.job["spec"].get("maxFailedIndexes")
    if most is not None and len(failed) > most:
        message = "Job has exceeded the specified maximal number of failed indexes"
        return case.failure("MaxFailedIndexesExceeded", message)
    if len(failed) + len(case.tally.succeeded_indexes) >= (case.terms.completions or 0):
        return case.failure("FailedIndexes", "Job has failed indexes")
    return None


def _succeeded_by_policy(case: Case) -> Obj | None:
    if not case.terms.indexed:
        return None
    policy = case.observed.job["spec"].get("successPolicy")
    message = success_met(policy, case.terms.completions or 0, case.tally.succeeded_indexes)
    return condition(SUCCESS_MET, "SuccessPolicy", message, case.now) if message else None


ENDINGS: tuple[Callable[[Case], Obj | None], ...] = (
    _success_was_met,
    _failure_was_decided,
    _failed_by_policy,
    _too_many_failures,
    _too_late,
    _indexes_failed,
    _succeeded_by_policy,
)


def _seconds_left(case: Case) -> float | None:
    if case.terms.deadline is None or case.terms.suspended or case.start_time is None:
        return None
    return case.terms.deadline - (case.now - read(case.start_time)).total_seconds()


def until_deadline(case: Case) -> float | None:
    left = _seconds_left(case)
    return left if left is not None and left > 0 else None


def condition(kind: str, reason: str, message: str, now: datetime, status: str = "True") -> Obj:
    moment = stamp(now)
    return {
        "type": kind,
        "status": status,
        "lastProbeTime": moment,
        "lastTransitionTime": moment,
        "reason": reason,
        "message": message,
    }
