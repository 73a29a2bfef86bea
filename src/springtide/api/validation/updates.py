# SPDX-License-Identifier: Apache-2.0
"""What may be wrong with a change of a job: only what the change itself brings.

A job that was let in before a rule existed, or while nobody judged, must stay changeable: its finalizers above all, but
also any field that has nothing to do with the mistake. So a mistake that was there before, word for word, is not held
against a change. And some fields never change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from springtide.api.field_errors import FieldError, forbidden, invalid
from springtide.api.kinds.conditions import FAILED, SUCCEEDED
from springtide.api.kinds.resource import Scale

Judge = Callable[[Mapping[str, Any]], Sequence[FieldError]]

_IMMUTABLE: Final = (("spec", "runPolicy", "managedBy"),)
"""Beyond what the CRD's rules hold still, which do not see a field come or go."""


class Verdict(NamedTuple):
    errors: Sequence[FieldError] = ()
    """Why the change is refused."""
    former: Sequence[FieldError] = ()
    """What is wrong with the job all the same, and was before."""


def judged(judge: Judge, old: Mapping[str, Any], new: Mapping[str, Any]) -> Verdict:
    if old.get("spec") == new.get("spec") or (new.get("metadata") or {}).get("deletionTimestamp"):
        return Verdict()
    before = set(judge(old))
    found = judge(new)
    errors = [*_changed(old, new), *(error for error in found if error not in before)]
    return Verdict(errors, [error for error in found if error in before])


def resized_when_finished(scale: Scale, old: Mapping[str, Any], new: Mapping[str, Any]) -> list[FieldError]:
    """Another size for a job that has finished: nothing would come of it, and who asks for it must not believe so."""
    path = scale.spec_replicas.strip(".").split(".")
    ended = _ended(old)
    if not ended or _at(old, path) == _at(new, path):
        return []
    name = _at(old, ("metadata", "name"))
    way_out = f"delete it and create it again, or create it under another name ({name} keeps its logs and status)"
    return [forbidden(scale.field, f"the job has finished ({ended}) and cannot be resized; {way_out}")]


def _ended(job: Mapping[str, Any]) -> str:
    """How, or nothing."""
    conditions = _at(job, ("status", "conditions"))
    held = (_at(each, ("type",)) for each in conditions or () if _at(each, ("status",)) == "True")
    return next((type_ for type_ in held if type_ in (SUCCEEDED, FAILED)), "")


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
