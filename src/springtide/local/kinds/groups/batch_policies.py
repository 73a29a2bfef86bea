# SPDX-License-Identifier: Apache-2.0
"""Validation of a batch Job's pod failure policy and success policy; called by `batch`."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from springtide.api import whole_numbers
from springtide.api.field_errors import FieldError, duplicate, invalid, not_supported, required, too_long, too_many
from springtide.local.kinds import names
from springtide.local.kinds.strategy import Obj

_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
_OPERATORS = ("In", "NotIn")
_STATUSES = ("False", "True", "Unknown")
_MAX_RULES = _MAX_PATTERNS = 20
_MAX_EXIT_CODES = 255
_MAX_INDEXES_TEXT = 64 * 1024


class IndexesError(ValueError):
    """A text that is not a valid list of indexes like `0-3,7`."""


def without_value(path: str, detail: str) -> FieldError:
    """An error without the invalid value, which would not help the reader."""
    return FieldError("FieldValueInvalid", path, f"Invalid value: {detail}")


def _choose(choices: Sequence[str]) -> str:
    return "valid values: [" + " ".join(f'"{choice}"' for choice in choices) + "]"


# Errors show policies with the field names of Go types, as kube-apiserver does.


def quoted_success_policy(policy: Obj | None) -> Obj | None:
    if policy is None:
        return None
    fields = ("succeededIndexes", "succeededCount")
    return {"Rules": [_in_go_names(rule, fields) for rule in policy.get("rules") or ()]}


def quoted_failure_policy(policy: Obj | None) -> Obj | None:
    if policy is None:
        return None
    return {"Rules": [_quoted_failure_rule(rule) for rule in policy.get("rules") or ()]}


def _quoted_failure_rule(rule: Obj) -> Obj:
    codes, patterns = rule.get("onExitCodes"), rule.get("onPodConditions")
    return {
        "Action": rule.get("action", ""),
        "OnExitCodes": None if codes is None else _in_go_names(codes, ("containerName", "operator", "values")),
        "OnPodConditions": [_in_go_names(pattern, ("type", "status")) for pattern in patterns] if patterns else None,
    }


def _in_go_names(value: Obj, fields: Sequence[str]) -> Obj:
    return {field[0].upper() + field[1:]: value.get(field) for field in fields}


# ----------------------------------------------------------------------------------------------------- failing pods


def validate_pod_failure_policy(spec: Obj) -> list[FieldError]:
    path = "spec.podFailurePolicy.rules"
    rules = spec["podFailurePolicy"].get("rules") or ()
    pod = spec["template"].get("spec") or {}
    containers = [*(pod.get("containers") or ()), *(pod.get("initContainers") or ())]
    known = {container.get("name", "") for container in containers}
    errors = [too_many(path, len(rules), _MAX_RULES)] if len(rules) > _MAX_RULES else []
    for index, rule in enumerate(rules):
        errors += _validate_action(rule.get("action", ""), spec, f"{path}[{index}].action")
        errors += _validate_rule(rule, known, f"{path}[{index}]")
    return errors


def _validate_action(action: str, spec: Obj, path: str) -> list[FieldError]:
    if not action:
        return [required(path, _choose(_ACTIONS))]
    if action == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
        return [invalid(path, action, "requires the backoffLimitPerIndex to be set")]
    return [] if action in _ACTIONS else [not_supported(path, action, _ACTIONS)]


def _validate_rule(rule: Obj, containers: Collection[str], path: str) -> list[FieldError]:
    codes, patterns = rule.get("onExitCodes"), rule.get("onPodConditions") or ()
    errors: list[FieldError] = []
    if codes is not None:
        errors += _validate_exit_codes(codes, containers, f"{path}.onExitCodes")
    if patterns:
        errors += _validate_pod_conditions(patterns, f"{path}.onPodConditions")
    if codes is not None and patterns:
        errors.append(without_value(path, "specifying both OnExitCodes and OnPodConditions is not supported"))
    if codes is None and not patterns:
        errors.append(without_value(path, "specifying one of OnExitCodes and OnPodConditions is required"))
    return errors


def _validate_exit_codes(codes: Obj, containers: Collection[str], path: str) -> list[FieldError]:
    operator, container, values = codes.get("operator", ""), codes.get("containerName"), codes.get("values") or []
    errors: list[FieldError] = []
    if not operator:
        errors.append(required(f"{path}.operator", _choose(_OPERATORS)))
    elif operator not in _OPERATORS:
        errors.append(not_supported(f"{path}.operator", operator, _OPERATORS))
    if container is not None and container not in containers:
        detail = "must be one of the container or initContainer names in the pod template"
        errors.append(invalid(f"{path}.containerName", container, detail))
    if not values:
        errors.append(invalid(f"{path}.values", codes.get("values"), "at least one value is required"))
    elif len(values) > _MAX_EXIT_CODES:
        errors.append(too_many(f"{path}.values", len(values), _MAX_EXIT_CODES))
    first = {value: index for index, value in reversed(list(enumerate(values)))}
    for index, value in enumerate(values):
        if operator == "In" and value == 0:
            errors.append(invalid(f"{path}.values[{index}]", value, "must not be 0 for the In operator"))
        if first[value] < index:
            errors.append(duplicate(f"{path}.values[{index}]", value))
    if values != sorted(values):
        errors.append(invalid(f"{path}.values", values, "must be ordered"))
    return errors


def _validate_pod_conditions(patterns: Sequence[Obj], path: str) -> list[FieldError]:
    errors = [too_many(path, len(patterns), _MAX_PATTERNS)] if len(patterns) > _MAX_PATTERNS else []
    for index, pattern in enumerate(patterns):
        kind, status = pattern.get("type", ""), pattern.get("status", "")
        errors += [invalid(f"{path}[{index}].type", kind, why) for why in names.qualified_name(kind)]
        if status not in _STATUSES:
            errors.append(not_supported(f"{path}[{index}].status", status, _STATUSES))
    return errors


def validate_pod_replacement_policy(spec: Obj) -> list[FieldError]:
    policy = spec.get("podReplacementPolicy")
    allowed = ("Failed",) if spec.get("podFailurePolicy") is not None else ("Failed", "TerminatingOrFailed")
    return [] if policy in allowed else [not_supported("spec.podReplacementPolicy", policy, allowed)]


# -------------------------------------------------------------------------------------------------- succeeding pods


def validate_success_policy(spec: Obj) -> list[FieldError]:
    policy, path = spec["successPolicy"], "spec.successPolicy"
    if spec["completionMode"] != "Indexed":
        return [invalid(path, quoted_success_policy(policy), "requires indexed completion mode")]
    rules = policy.get("rules") or ()
    errors: list[FieldError] = []
    if not rules:
        detail = "at least one rules must be specified when the successPolicy is specified"
        errors.append(required(f"{path}.rules", detail))
    if len(rules) > _MAX_RULES:
        errors.append(too_many(f"{path}.rules", len(rules), _MAX_RULES))
    for index, rule in enumerate(rules):
        errors += _validate_success_rule(rule, spec.get("completions") or 0, f"{path}.rules[{index}]")
    return errors


def _validate_success_rule(rule: Obj, completions: int, path: str) -> list[FieldError]:
    indexes, count = rule.get("succeededIndexes"), rule.get("succeededCount")
    errors: list[FieldError] = []
    if count is None and indexes is None:
        errors.append(required(path, "at least one of succeededCount or succeededIndexes must be specified"))
    total = 0
    if indexes is not None:
        if len(indexes) > _MAX_INDEXES_TEXT:
            errors.append(too_long(f"{path}.succeededIndexes", _MAX_INDEXES_TEXT))
        try:
            total = count_indexes(indexes, completions)
        except IndexesError as error:
            detail = f"error parsing succeededIndexes: {error}"
            errors.append(invalid(f"{path}.succeededIndexes", indexes, detail))
    if count is None:
        return errors
    path = f"{path}.succeededCount"
    if count < 0:
        errors.append(invalid(path, count, names.NEGATIVE))
    if count > completions:
        detail = f"must be less than or equal to {completions} (the number of specified completions)"
        errors.append(invalid(path, count, detail))
    if indexes is not None and count > total:
        what = "the number of indexes in the specified succeededIndexes field"
        errors.append(invalid(path, count, f"must be less than or equal to {total} ({what})"))
    return errors


# ----------------------------------------------------------------------------------------------------------- indexes


def count_indexes(text: str, completions: int) -> int:
    """Number of indexes in `0-3,7`; raises IndexesError when they are out of range or out of order."""
    total, last = 0, -1
    for interval in text.split(",") if text else ():
        first, final = parse_interval(interval, completions)
        if last >= first:
            raise IndexesError(f"non-increasing order, previous: {last}, current: {first}")
        total, last = total + final - first + 1, final
    return total


def parse_interval(text: str, completions: int) -> tuple[int, int]:
    parts = text.split("-")
    if len(parts) > 2:
        raise IndexesError(
            f'the fragment "{text}" violates the requirement that an index interval can have at most two parts '
            "separated by '-'"
        )
    first = _index(parts[0], completions)
    if len(parts) == 1:
        return first, first
    final = _index(parts[1], completions)
    if first >= final:
        raise IndexesError(f"non-increasing order, previous: {first}, current: {final}")
    return first, final


def _index(text: str, completions: int) -> int:
    index = whole_numbers.parse(text)
    if index is None:
        raise IndexesError(f'cannot convert string to integer for index: "{text}"')
    if index >= completions:
        raise IndexesError(f'too large index: "{text}"')
    return index
