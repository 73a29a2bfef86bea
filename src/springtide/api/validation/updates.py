# SPDX-License-Identifier: Apache-2.0
"""What may be wrong with a change of a job: only what the change itself brings.

A job that was let in before a rule existed, or while nobody judged, must stay changeable: its finalizers above all, but
also any field that has nothing to do with the mistake. So a mistake that was there before, word for word, is not held
against a change. And some fields never change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from springtide.api.field_errors import FieldError, invalid

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
