# SPDX-License-Identifier: Apache-2.0
"""Validates a change of a job: only errors that the change itself introduces.

A job that was admitted before a rule existed, or while there was no webhook, must stay changeable: its finalizers above
all, but also any field unrelated to the error. So an error with the same text that was there before does not reject a
change. In addition some fields are immutable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from springtide.api.field_errors import FieldError, forbidden, invalid
from springtide.api.kinds.conditions import FAILED, SUCCEEDED
from springtide.api.kinds.replicas import spelling
from springtide.api.kinds.resource import Scale

Judge = Callable[[Mapping[str, Any]], Sequence[FieldError]]

_IMMUTABLE: Final = (("spec", "runPolicy", "managedBy"),)
"""Beyond the CRD's rules, which do not cover adding or removing a field."""


class Verdict(NamedTuple):
    errors: Sequence[FieldError] = ()
    """Why the change is rejected."""
    former: Sequence[FieldError] = ()
    """Errors of the job that were there before."""


def judged(judge: Judge, old: Mapping[str, Any], new: Mapping[str, Any]) -> Verdict:
    if not _is_judged(old, new) or _at(new, ("metadata", "deletionTimestamp")):
        return Verdict()
    before = set(judge(old))
    found = judge(new)
    errors = [*_changed(old, new), *(error for error in found if error not in before)]
    return Verdict(errors, [error for error in found if error in before])


def resized_when_finished(scale: Scale, old: Mapping[str, Any], new: Mapping[str, Any]) -> list[FieldError]:
    """An error for a resize of a job that has finished: it would have no effect, which the user should know."""
    ended = _ended(old)
    if not ended or _size(scale, old) == _size(scale, new):
        return []
    name = _at(old, ("metadata", "name"))
    way_out = f"delete it and create it again, or create it under another name ({name} keeps its logs and status)"
    field = role_field(scale, scale.role, new)
    return [forbidden(field, f"the job has finished ({ended}) and cannot be resized; {way_out}")]


def resized_while_scaling(scale: Scale, old: Mapping[str, Any], new: Mapping[str, Any]) -> list[FieldError]:
    """An error for a resize of a job that a scaler resizes: it would be lost when the scaler writes its own target,
    which is the only change that is allowed."""
    scaler, size = _scaler_in_progress(old), _size(scale, new)
    if not scaler or size in (_size(scale, old), _wanted(old)):
        return []
    kind, _, name = scaler.partition(" ")
    way_out = f"wait until it has ended, or cancel it: kubectl delete {kind.lower()} {name}"
    return [forbidden(role_field(scale, scale.role, new), f"{scaler} is resizing the job; {way_out}")]


def resizes(scale: Scale, old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """A warning about the resize of a job by its own manifest: one that was written before a scaler has resized the job
    takes that back."""
    before, after = _size(scale, old), _size(scale, new)
    started = _at(old, ("status", "startTime")) is not None
    if not (isinstance(before, int) and isinstance(after, int)) or before == after or not started:
        return []
    if _scaler_in_progress(old):
        return []
    change = f"{before - after} will be removed" if after < before else f"{after - before} will be added"
    workers = "worker" if after == 1 else "workers"
    return [f"{before} → {after} {workers}: {change}; to keep the size, write replicas: {before}"]


def _wanted(job: Mapping[str, Any]) -> int | None:
    """The size that the operator is about to reach. The names of the workers are fewer while one waits for its
    replacement."""
    _, _, size = str(_at(job, ("status", "workers")) or "").partition("/")
    return int(size) if size.isascii() and size.isdigit() else None


def _scaler_in_progress(job: Mapping[str, Any]) -> str:
    """Such as `ScaleOut grow`; empty if there is none."""
    kind, _, key = str(_at(job, ("status", "currentScaler")) or "").partition(":")
    return f"{kind} {key.rpartition('/')[2]}" if key else ""


def role_field(scale: Scale, role: str, *jobs: Mapping[str, Any]) -> str:
    """The path of a role's size in the words of field errors, with the role as the first of these jobs spells it."""
    given = (name for job in jobs for name in roles(scale, job))
    return scale.field_of(spelling(given, role))


def roles(scale: Scale, job: Mapping[str, Any]) -> tuple[str, ...]:
    """The job's roles as the user spelled them."""
    return tuple(_at(job, scale.roles) or ())


def _size(scale: Scale, job: Mapping[str, Any]) -> Any:
    return _at(job, (*scale.roles, spelling(roles(scale, job), scale.role), "replicas"))


def _ended(job: Mapping[str, Any]) -> str:
    """The type of the final condition; empty if there is none."""
    conditions = _at(job, ("status", "conditions"))
    held = (_at(each, ("type",)) for each in conditions or () if _at(each, ("status",)) == "True")
    return next((type_ for type_ in held if type_ in (SUCCEEDED, FAILED)), "")


def _is_judged(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Only what a user can make wrong: some kinds have settings in annotations."""
    return any(_at(old, path) != _at(new, path) for path in (("spec",), ("metadata", "annotations")))


def _changed(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[FieldError]:
    return [
        invalid(".".join(path), _at(new, path), "field is immutable")
        for path in _IMMUTABLE
        if _at(old, path) != _at(new, path)
    ]


def _at(obj: Any, path: Sequence[str]) -> Any:
    for name in path:
        obj = obj.get(name) if isinstance(obj, Mapping) else None
    return obj
