# SPDX-License-Identifier: Apache-2.0
"""Validates ScaleOut and ScaleIn.

What depends on the job, such as its bounds, is judged when the scaler's turn comes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from springtide.api.field_errors import (
    FieldError,
    collected,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
    too_many,
)
from springtide.api.kinds.elastic_policy import MOST_WORKERS
from springtide.api.kinds.scalers import (
    MOST_ENV_BYTES,
    SCALE_IN,
    SCALE_OUT,
    STARTED,
    UID_VARIABLE,
    EnvVar,
    ScaleIn,
    ScaleOut,
    ScalerSpec,
    ToAdd,
    ToDelete,
)
from springtide.api.names import LABEL_LENGTH, PATH_LENGTH, label_complaints
from springtide.api.validation import shared

_VARIABLE: Final = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_NAME_LENGTH: Final = 253
_MOST: Final = 2**31 - 1
_COUNT: Final = "must be greater than 0"


def errors(raw: Mapping[str, Any]) -> list[FieldError]:
    """Of an object of either kind."""
    return collected(_errors, raw)


def changed_when_started(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[FieldError]:
    """An error for a change of a scaler whose turn has come: its target is fixed by then."""
    phase = (old.get("status") or {}).get("phase", "")
    if phase not in STARTED or old.get("spec") == new.get("spec"):
        return []
    kind = old.get("kind", "")
    return [forbidden("spec", f"is immutable in phase {phase}; create another {kind}, or delete this one to cancel it")]


def _errors(raw: Mapping[str, Any]) -> list[FieldError]:
    kind = raw.get("kind")
    if kind == SCALE_OUT.kind:
        scale_out = shared.read(raw, ScaleOut)
        if isinstance(scale_out, FieldError):
            return [scale_out]
        return [
            *_name_errors(scale_out.metadata.name),
            *_spec_errors(scale_out.spec),
            *_to_add_errors(scale_out.spec.to_add),
        ]
    if kind == SCALE_IN.kind:
        scale_in = shared.read(raw, ScaleIn)
        if isinstance(scale_in, FieldError):
            return [scale_in]
        return [*_spec_errors(scale_in.spec), *_to_delete_errors(scale_in.spec.to_delete)]
    return [not_supported("kind", kind, (SCALE_IN.kind, SCALE_OUT.kind))]


def _name_errors(name: str) -> Iterator[FieldError]:
    """Of a ScaleOut: the pods that it adds have its name in a label."""
    if len(name) > LABEL_LENGTH:
        said = f"must be no more than {LABEL_LENGTH} characters, because it is the value of a label of the added pods"
        yield invalid("metadata.name", name, said)


def _spec_errors(spec: ScalerSpec) -> Iterator[FieldError]:
    job = spec.selector.name
    if not job:
        yield required("spec.selector.name", "must be the name of the TrainingJob that is resized")
    elif complaints := label_complaints(job):
        yield invalid("spec.selector.name", job, ", ".join(complaints))
    yield from _script_errors(spec.script)
    for field, value in (("spec.timeout", spec.timeout), ("spec.backoffLimit", spec.backoff_limit)):
        if not 0 <= value <= _MOST:
            yield invalid(field, value, f"must be between 0 and {_MOST}")
    yield from _env_errors(spec.env)


def _script_errors(script: str) -> Iterator[FieldError]:
    """`sh` would read options, or the path would end at the NUL."""
    if script.startswith("-"):
        yield invalid("spec.script", script, "must be a path and not start with '-'")
    if "\0" in script:
        yield invalid("spec.script", script, "must not contain NUL")
    if _size(script) > PATH_LENGTH:
        yield too_long("spec.script", PATH_LENGTH)


def _env_errors(env: Sequence[EnvVar]) -> Iterator[FieldError]:
    for index, each in enumerate(env):
        place = f"spec.env[{index}]"
        if not each.name:
            yield required(f"{place}.name")
        elif not _VARIABLE.fullmatch(each.name):
            yield invalid(f"{place}.name", each.name, "must be a C identifier, such as MY_VARIABLE")
        elif each.name == UID_VARIABLE:
            yield forbidden(f"{place}.name", "is set by the operator, to the scaler's uid")
        if "\0" in each.value:
            yield invalid(f"{place}.value", each.value, "must not contain NUL")
    if sum(_size(each.name) + _size(each.value) for each in env) > MOST_ENV_BYTES:
        yield too_long("spec.env", MOST_ENV_BYTES)


def _to_add_errors(to_add: ToAdd) -> Iterator[FieldError]:
    if to_add.count is None:
        yield required("spec.toAdd.count", "must be the number of workers to add")
    else:
        yield from _count_errors(to_add.count, "spec.toAdd.count")


def _to_delete_errors(to_delete: ToDelete) -> Iterator[FieldError]:
    """The names win over the number, which clients may then leave at 0."""
    if to_delete.pod_names:
        if to_delete.count:
            yield from _count_errors(to_delete.count, "spec.toDelete.count")
        yield from _pod_name_errors(to_delete.pod_names)
    elif to_delete.count is None:
        yield required("spec.toDelete", "must have count, the number of workers to remove, or podNames, their names")
    else:
        yield from _count_errors(to_delete.count, "spec.toDelete.count")


def _count_errors(count: int, field: str) -> Iterator[FieldError]:
    if count < 1:
        yield invalid(field, count, _COUNT)
    elif count > MOST_WORKERS:
        yield invalid(field, count, f"must be at most {MOST_WORKERS}")


def _pod_name_errors(names: Sequence[str]) -> Iterator[FieldError]:
    if len(names) > MOST_WORKERS:
        yield too_many("spec.toDelete.podNames", len(names), MOST_WORKERS)
        return
    known: set[str] = set()
    for index, name in enumerate(names):
        place = f"spec.toDelete.podNames[{index}]"
        if not name:
            yield required(place, "must be the name of a worker pod")
        elif len(name) > _NAME_LENGTH:
            yield too_long(place, _NAME_LENGTH)
        elif name in known:
            yield duplicate(place, name)
        known.add(name)


def _size(text: str) -> int:
    return len(text.encode())
