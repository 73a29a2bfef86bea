# SPDX-License-Identifier: Apache-2.0
"""PriorityClasses: the values that users may set, and the two names reserved for the system."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from springtide.api.field_errors import FieldError, forbidden, invalid, not_supported, required
from springtide.local.kinds.columns import AGE, NAME, age_of, name_of
from springtide.local.kinds.metadata import IMMUTABLE
from springtide.local.kinds.strategy import Column, Obj, Strategy

HIGHEST_USER_PRIORITY = 1_000_000_000
SYSTEM_PREFIX = "system-"
SYSTEM_CLASSES = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
PREEMPT, NEVER = "PreemptLowerPriority", "Never"


def _default(priority_class: Obj) -> None:
    if priority_class.get("preemptionPolicy") is None:
        priority_class["preemptionPolicy"] = PREEMPT


def _prepare_create(priority_class: Obj) -> None:
    # It never increases: no update of a priority class increases it in kube-apiserver either.
    priority_class["metadata"]["generation"] = 1


def _validate(priority_class: Obj) -> list[FieldError]:
    name, value = name_of(priority_class), priority_class.get("value", 0)
    policy = priority_class["preemptionPolicy"]
    errors: list[FieldError] = []
    if name.startswith(SYSTEM_PREFIX):
        if why := _not_system(name, value, bool(priority_class.get("globalDefault"))):
            detail = (
                f"priority class names with '{SYSTEM_PREFIX}' prefix are reserved for system use only. error: {why}"
            )
            errors.append(forbidden("metadata.name", detail))
    elif value > HIGHEST_USER_PRIORITY:
        detail = f"maximum allowed value of a user defined priority is {HIGHEST_USER_PRIORITY}"
        errors.append(forbidden("value", detail))
    if not policy:
        errors.append(required("preemptionPolicy"))
    elif policy not in (PREEMPT, NEVER):
        errors.append(not_supported("preemptionPolicy", policy, (PREEMPT, NEVER)))
    return errors


def _not_system(name: str, value: int, global_default: bool) -> str:
    known = SYSTEM_CLASSES.get(name)
    if known is None:
        return f"{name} is not a known system priority class"
    if value != known:
        return f"value of {name} PriorityClass must be {known}"
    return f"globalDefault of {name} PriorityClass must be false" if global_default else ""


def _validate_update(new: Obj, old: Obj) -> list[FieldError]:
    errors: list[FieldError] = []
    if new.get("value", 0) != old.get("value", 0):
        errors.append(forbidden("value", "may not be changed in an update."))
    if new.get("preemptionPolicy") != old.get("preemptionPolicy"):
        errors.append(invalid("preemptionPolicy", new.get("preemptionPolicy"), IMMUTABLE))
    return errors


_COLUMNS = (
    NAME,
    Column(
        "Value",
        type="integer",
        description="value represents the integer value of this priority class. This is the actual priority that "
        "pods receive when they have the name of this class in their pod spec.",
    ),
    Column(
        "Global-Default",
        type="boolean",
        description="globalDefault specifies whether this PriorityClass should be considered as the default priority "
        "for pods that do not have any priority class. Only one PriorityClass can be marked as `globalDefault`. "
        "However, if more than one PriorityClasses exists with their `globalDefault` field set to true, the smallest "
        "value of such global default PriorityClasses will be used as the default priority.",
    ),
    AGE,
    Column(
        "PreemptionPolicy",
        description="preemptionPolicy is the Policy for preempting pods with lower priority. One of Never, "
        "PreemptLowerPriority. Defaults to PreemptLowerPriority if unset.",
    ),
)


def _cells(priority_class: Obj, now: str) -> Sequence[Any]:
    return (
        name_of(priority_class),
        priority_class.get("value", 0),
        bool(priority_class.get("globalDefault")),
        age_of(priority_class, now),
        priority_class.get("preemptionPolicy") or "",
    )


PRIORITY_CLASS = Strategy(
    default=_default,
    prepare_create=_prepare_create,
    validate=_validate,
    validate_update=_validate_update,
    columns=_COLUMNS,
    cells=_cells,
)
