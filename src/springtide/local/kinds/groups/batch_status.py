# SPDX-License-Identifier: Apache-2.0
"""Validation of a batch Job's status and of its transitions.

Any controller may write it (`spec.managedBy`), so kube-apiserver enforces what readers rely on: a finished job stays
finished, counters do not decrease, times are consistent. Most rules check only the changes of this write, so that one
invalid old value does not block every later write.
"""

from __future__ import annotations

from springtide.api.field_errors import FieldError, duplicate, invalid, required
from springtide.local.kinds import names
from springtide.local.kinds.groups.batch_policies import IndexesError, count_indexes, parse_interval, without_value
from springtide.local.kinds.strategy import Obj

_CONDITIONS = "status.conditions"


def condition_is(status: Obj, kind: str, value: str) -> bool:
    return any(
        condition.get("type") == kind and condition.get("status") == value
        for condition in status.get("conditions") or ()
    )


def _has(status: Obj, kind: str) -> bool:
    return condition_is(status, kind, "True")


def _finished(status: Obj) -> bool:
    return _has(status, "Complete") or _has(status, "Failed")


class _Change:
    """A status before and after a write, and the differences."""

    def __init__(self, new: Obj, old: Obj) -> None:
        self.spec: Obj = new["spec"]
        self.new: Obj = new.get("status") or {}
        self.old: Obj = old.get("status") or {}
        self.finished = _finished(self.new)

    def field(self, *names: str) -> bool:
        return any(self.new.get(name) != self.old.get(name) for name in names)

    def condition(self, *kinds: str) -> bool:
        return any(_has(self.new, kind) != _has(self.old, kind) for kind in kinds)

    @property
    def finishing(self) -> bool:
        return self.finished != _finished(self.old)


def validate_job_status(new: Obj, old: Obj) -> list[FieldError]:
    change = _Change(new, old)
    return [
        *_validate_numbers(change.new),
        *_validate_uncounted(change.new.get("uncountedTerminatedPods") or {}),
        *_validate_completion(change),
        *_validate_finished(change),
        *_validate_indexes(change),
        *_validate_pods(change),
        *_validate_criteria(change),
        *_validate_transition(change),
    ]


def _validate_numbers(status: Obj) -> list[FieldError]:
    fields = ("active", "succeeded", "failed", "ready", "terminating")
    return [
        invalid(f"status.{field}", status[field], names.NEGATIVE) for field in fields if (status.get(field) or 0) < 0
    ]


def _validate_uncounted(uncounted: Obj) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for field in ("succeeded", "failed"):
        for index, uid in enumerate(uncounted.get(field) or ()):
            path = f"status.uncountedTerminatedPods.{field}[{index}]"
            if not uid:
                errors.append(invalid(path, uid, "must not be empty"))
            elif uid in seen:
                errors.append(duplicate(path, uid))
            seen.add(uid)
    return errors


def _validate_completion(change: _Change) -> list[FieldError]:
    status, complete = change.new, _has(change.new, "Complete")
    start, end = status.get("startTime"), status.get("completionTime")
    errors: list[FieldError] = []
    if complete and _has(status, "Failed") and change.condition("Complete", "Failed"):
        errors.append(without_value(_CONDITIONS, "cannot set Complete=True and Failed=true conditions"))
    if complete and _has(status, "FailureTarget") and change.condition("Complete", "FailureTarget"):
        errors.append(without_value(_CONDITIONS, "cannot set Complete=True and FailureTarget=true conditions"))
    if change.condition("Complete") or change.field("completionTime"):
        if end and not complete:
            detail = "cannot set completionTime when there is no Complete=True condition"
            errors.append(invalid("status.completionTime", end, detail))
        if complete and not end:
            errors.append(required("status.completionTime", "completionTime is required for Complete jobs"))
    if start and end and end < start and change.field("startTime", "completionTime"):
        errors.append(invalid("status.completionTime", end, "must be equal to or after `startTime`"))
    return errors


def _validate_finished(change: _Change) -> list[FieldError]:
    status = change.new
    errors: list[FieldError] = []
    failing = change.condition("Failed") or change.field("failedIndexes")
    if failing and _has(status, "Failed") and not _has(status, "FailureTarget"):
        detail = "cannot set Failed=True condition without the FailureTarget=true condition"
        errors.append(without_value(_CONDITIONS, detail))
    succeeding = change.condition("Complete", "SuccessCriteriaMet")
    if succeeding and _has(status, "Complete") and not _has(status, "SuccessCriteriaMet"):
        detail = "cannot set Complete=True condition without the SuccessCriteriaMet=true condition"
        errors.append(without_value(_CONDITIONS, detail))
    return errors + _validate_leftovers(change) if change.finished else errors


def _validate_leftovers(change: _Change) -> list[FieldError]:
    """A finished job must have no active or uncounted pods, and must have a start time."""
    status, spec = change.new, change.spec
    errors: list[FieldError] = []
    active, uncounted = status.get("active", 0), status.get("uncountedTerminatedPods") or {}
    if active > 0 and (change.finishing or change.field("active")):
        errors.append(invalid("status.active", active, "active>0 is invalid for finished job"))
    nothing_to_do = spec.get("suspend") and spec.get("completions") == 0
    if not status.get("startTime") and (change.finishing or change.field("startTime")) and not nothing_to_do:
        errors.append(required("status.startTime", "startTime is required for finished job"))
    if any(uncounted.values()) and (change.finishing or change.field("uncountedTerminatedPods")):
        # Shown with the field names of the Go type, as by kube-apiserver.
        quoted = {"Succeeded": uncounted.get("succeeded"), "Failed": uncounted.get("failed")}
        errors.append(invalid("status.uncountedTerminatedPods", quoted, "must be empty for finished job"))
    return errors


def _validate_indexes(change: _Change) -> list[FieldError]:
    status, spec = change.new, change.spec
    done, failed = status.get("completedIndexes") or "", status.get("failedIndexes")
    completions, per_index = spec.get("completions"), spec.get("backoffLimitPerIndex") is not None
    done_changed = done != (change.old.get("completedIndexes") or "")
    failed_changed = change.field("failedIndexes")
    errors: list[FieldError] = []
    if done_changed and completions is not None:
        errors += _validate_format(done, completions, "completedIndexes")
    if failed_changed and completions is not None and per_index and failed is not None:
        errors += _validate_format(failed, completions, "failedIndexes")
    if done_changed and done and spec.get("completionMode") != "Indexed":
        detail = "cannot set non-empty completedIndexes when non-indexed completion mode"
        errors.append(invalid("status.completedIndexes", done, detail))
    if failed_changed and failed is not None and not per_index:
        detail = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
        errors.append(invalid("status.failedIndexes", failed, detail))
    if (done_changed or failed_changed) and completions is not None and failed is not None:
        errors += _validate_disjoint(done, failed, completions)
    return errors


def _validate_format(text: str, completions: int, field: str) -> list[FieldError]:
    try:
        count_indexes(text, completions)
    except IndexesError as error:
        return [invalid(f"status.{field}", text, f"error parsing {field}: {error}")]
    return []


def _validate_disjoint(done: str, failed: str, completions: int) -> list[FieldError]:
    """No index may be both completed and failed; unreadable parts are reported elsewhere."""
    for first, final in _intervals(done, completions):
        for failed_first, failed_final in _intervals(failed, completions):
            if first <= failed_final and failed_first <= final:
                detail = f"failedIndexes and completedIndexes overlap at index: {max(first, failed_first)}"
                return [invalid("status.failedIndexes", failed, detail)]
    return []


def _intervals(text: str, completions: int) -> list[tuple[int, int]]:
    found = []
    for interval in text.split(",") if text else ():
        try:
            found.append(parse_interval(interval, completions))
        except IndexesError:
            continue
    return found


def _validate_pods(change: _Change) -> list[FieldError]:
    status = change.new
    terminating, ready = status.get("terminating") or 0, status.get("ready") or 0
    errors: list[FieldError] = []
    if terminating > 0 and change.finished and (change.finishing or change.field("terminating")):
        errors.append(invalid("status.terminating", terminating, "terminating>0 is invalid for finished job"))
    if ready > (status.get("active") or 0) and change.field("ready", "active"):
        errors.append(invalid("status.ready", ready, "cannot set more ready pods than active"))
    return errors


def _validate_criteria(change: _Change) -> list[FieldError]:
    status, met = change.new, _has(change.new, "SuccessCriteriaMet")
    errors: list[FieldError] = []
    for kind in ("Failed", "FailureTarget"):
        if met and _has(status, kind):
            errors.append(without_value(_CONDITIONS, f"cannot set SuccessCriteriaMet=True and {kind}=true conditions"))
    if change.spec.get("successPolicy") is not None and not met and _has(status, "Complete"):
        detail = "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True"
        errors.append(without_value(_CONDITIONS, detail))
    return errors


def _validate_transition(change: _Change) -> list[FieldError]:
    new, old = change.new, change.old
    errors = [
        without_value(_CONDITIONS, f"cannot disable the terminal {kind}=True condition")
        for kind in ("Failed", "Complete", "FailureTarget")
        if _has(old, kind) and not _has(new, kind)
    ]
    errors += _validate_counters(change)
    end, before = new.get("completionTime"), old.get("completionTime")
    if end and before and end != before:
        errors.append(invalid("status.completionTime", end, "field is immutable"))
    errors += _validate_start_time(change)
    if _has(old, "SuccessCriteriaMet") and not _has(new, "SuccessCriteriaMet"):
        errors.append(without_value(_CONDITIONS, "cannot disable the SuccessCriteriaMet=True condition"))
    if _has(old, "Complete") and not _has(old, "SuccessCriteriaMet") and _has(new, "SuccessCriteriaMet"):
        detail = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions"
        errors.append(without_value(_CONDITIONS, detail))
    return errors


def _validate_counters(change: _Change) -> list[FieldError]:
    errors: list[FieldError] = []
    spec = change.spec
    # An indexed job with equal parallelism and completions may be scaled in, and its count with it.
    elastic = spec.get("completionMode") == "Indexed" and spec.get("completions") == spec.get("parallelism")
    for field in ("failed", "succeeded"):
        count = change.new.get(field) or 0
        if count < (change.old.get(field) or 0) and not (field == "succeeded" and elastic):
            errors.append(invalid(f"status.{field}", count, f"cannot decrease the {field} counter"))
    return errors


def _validate_start_time(change: _Change) -> list[FieldError]:
    start, before = change.new.get("startTime"), change.old.get("startTime")
    resuming = _has(change.old, "Suspended") and condition_is(change.new, "Suspended", "False")
    if not before or start == before or resuming or change.spec.get("suspend"):
        return []
    return [invalid("status.startTime", start, "field is immutable for unsuspended job once set")]
