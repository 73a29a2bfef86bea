# SPDX-License-Identifier: Apache-2.0
"""PodDisruptionBudgets, and the number-or-percentage rules that they share with rolling updates.

Evictions are not objects: the API server's pod subresource handles them and reads a budget's status.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from springtide.api import whole_numbers
from springtide.api.field_errors import FieldError, duplicate, invalid, not_supported, required, too_long
from springtide.local.kinds import names
from springtide.local.kinds.columns import AGE, NAME, age_of, name_of
from springtide.local.kinds.label_selectors import quoted, validate_selector
from springtide.local.kinds.strategy import Column, Obj, Strategy

_EVICTION_POLICIES = ("AlwaysAllow", "IfHealthyBudget")
_COUNTS = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
_PERCENT = re.compile("[0-9]+%")
_NOT_A_PERCENT = (
    "a valid percent string must be a numeric string followed by an ending '%' "
    "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
)


# ------------------------------------------------------------------------------------------------ number or percentage


def percent(value: int | str) -> int | None:
    """The number before the percent sign; None for other values."""
    return whole_numbers.clamped(value[:-1]) if isinstance(value, str) and _PERCENT.fullmatch(value) else None


def validate_number_or_percent(value: int | str, path: str) -> list[FieldError]:
    if isinstance(value, int):
        return [invalid(path, value, names.NEGATIVE)] if value < 0 else []
    return [] if _PERCENT.fullmatch(value) else [invalid(path, value, _NOT_A_PERCENT)]


def validate_at_most_all(value: int | str, path: str) -> list[FieldError]:
    share = percent(value)
    return [invalid(path, value, "must not be greater than 100%")] if share is not None and share > 100 else []


# ------------------------------------------------------------------------------------------------------------ budgets


def _prepare_create(budget: Obj) -> None:
    budget["status"] = dict.fromkeys(_COUNTS, 0)


def _validate(budget: Obj) -> list[FieldError]:
    spec = budget.get("spec") or {}
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    errors: list[FieldError] = []
    if least is not None and most is not None:
        # Shown with the field names of the Go type, as by kube-apiserver.
        shown = {
            "MinAvailable": least,
            "Selector": quoted(spec.get("selector")),
            "MaxUnavailable": most,
            "UnhealthyPodEvictionPolicy": spec.get("unhealthyPodEvictionPolicy"),
        }
        errors.append(invalid("spec", shown, "minAvailable and maxUnavailable cannot be both set"))
    for field, value in (("spec.minAvailable", least), ("spec.maxUnavailable", most)):
        if value is not None:
            errors += validate_number_or_percent(value, field) + validate_at_most_all(value, field)
    errors += validate_selector(spec.get("selector"), "spec.selector")
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None and policy not in _EVICTION_POLICIES:
        errors.append(not_supported("spec.unhealthyPodEvictionPolicy", policy, _EVICTION_POLICIES))
    return errors


def _validate_status(new: Obj, old: Obj) -> list[FieldError]:
    status = new.get("status") or {}
    errors = validate_conditions(status.get("conditions") or (), "status.conditions")
    for field in _COUNTS:
        if (value := status.get(field) or 0) < 0:
            errors.append(invalid(f"status.{field}", value, names.NEGATIVE))
    return errors


_REASON = re.compile("[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")
_REASON_SENTENCE = (
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric "
    "characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or "
    "'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is "
    "'[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')"
)
_STATUSES = ("False", "True", "Unknown")


def validate_conditions(conditions: Sequence[Obj], path: str) -> list[FieldError]:
    """Validate `metav1.Condition`, which newer kinds use in their status."""
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, condition in enumerate(conditions):
        kind = condition.get("type", "")
        if kind in seen:
            errors.append(duplicate(f"{path}[{index}].type", kind))
        seen.add(kind)
        errors += _validate_condition(condition, f"{path}[{index}]")
    return errors


def _validate_condition(condition: Obj, path: str) -> list[FieldError]:
    kind, status, reason = condition.get("type", ""), condition.get("status", ""), condition.get("reason", "")
    generation = condition.get("observedGeneration") or 0
    errors = [invalid(f"{path}.type", kind, why) for why in names.qualified_name(kind)]
    if status not in _STATUSES:
        errors.append(not_supported(f"{path}.status", status, _STATUSES))
    if generation < 0:
        detail = "must be greater than or equal to zero"
        errors.append(invalid(f"{path}.observedGeneration", generation, detail))
    if not condition.get("lastTransitionTime"):
        errors.append(required(f"{path}.lastTransitionTime"))
    if not reason:
        errors.append(required(f"{path}.reason"))
    elif not _REASON.fullmatch(reason):
        errors.append(invalid(f"{path}.reason", reason, _REASON_SENTENCE))
    if len(reason.encode()) > 1024:
        errors.append(too_long(f"{path}.reason", 1024))
    if len(condition.get("message", "").encode()) > 32 * 1024:
        errors.append(too_long(f"{path}.message", 32 * 1024))
    return errors


_COLUMNS = (
    NAME,
    Column("Min Available", description="The minimum number of pods that must be available."),
    Column("Max Unavailable", description="The maximum number of pods that may be unavailable."),
    Column(
        "Allowed Disruptions",
        type="integer",
        description="Calculated number of pods that may be disrupted at this time.",
    ),
    AGE,
)


def _cells(budget: Obj, now: str) -> Sequence[Any]:
    spec, status = budget.get("spec") or {}, budget.get("status") or {}
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    return (
        name_of(budget),
        "N/A" if least is None else str(least),
        "N/A" if most is None else str(most),
        status.get("disruptionsAllowed", 0),
        age_of(budget, now),
    )


POD_DISRUPTION_BUDGET = Strategy(
    prepare_create=_prepare_create,
    validate=_validate,
    validate_status=_validate_status,
    has_status=True,
    has_generation=True,
    columns=_COLUMNS,
    cells=_cells,
)
