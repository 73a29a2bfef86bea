# SPDX-License-Identifier: Apache-2.0
"""`x-kubernetes-validations`: compiling and checking the rules of a schema.

`rule_errors` finds errors in the rules themselves when a CRD is written; `compile_rule` compiles one of them for
`evaluation`, which runs it on objects.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from springtide.api import field_errors
from springtide.api.field_errors import FieldError, forbidden, invalid, required
from springtide.local.schema.cel import MOST_RULES, rule_length, types
from springtide.local.schema.cel.bounds import Bounds, bounds
from springtide.local.schema.cel.budgets import RuleCost, budget_errors, exceeds_total
from springtide.local.schema.cel.compiler import CelCompileError, Program, compile_expression
from springtide.local.schema.cel.cost import capped
from springtide.local.schema.cel.types import Type, from_schema, optional_of
from springtide.local.schema.field_paths import field_path

Schema = Mapping[str, Any]

RULES: Final = "x-kubernetes-validations"
_REASONS: Final = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")


class _Position(NamedTuple):
    """A position in a schema while its rules are compiled."""

    path: str
    type: Type | None
    bounds: Bounds | None
    unrelated: str = ""
    """The ancestor position below which old and new values cannot be matched."""
    times: int | None = 1
    """Maximum occurrences in an object; None: as many as fit into a request."""


def rule_errors(schema: Schema, path: str, stored: Schema) -> list[FieldError]:
    """Errors in the rules of a (structural) schema: compile errors, rules too long or too expensive.

    `stored` is the schema that it replaces, or empty.
    """
    length = rule_length(schema)
    if length > MOST_RULES and length > rule_length(stored):
        detail = f"all rules and message expressions have {length} characters, more than {MOST_RULES}: shorten them"
        return [forbidden(path, detail)]
    costs: list[RuleCost] = []
    errors = list(_position_errors(schema, _root(schema, path), costs))
    if all(not each.exceeds for each in costs) and not exceeds_total(costs):
        return errors
    before: list[RuleCost] = []
    list(_position_errors(stored, _root(stored, path), before))
    return errors + budget_errors(costs, path, before)


def _root(schema: Schema, path: str) -> _Position:
    return _Position(path, from_schema(schema, is_resource=True), bounds(schema, is_resource=True))


def _position_errors(schema: Schema, position: _Position, costs: list[RuleCost]) -> Iterator[FieldError]:
    path, type_, limits = position.path, position.type, position.bounds
    below = position.unrelated or (path if schema.get("x-kubernetes-map-type") == "atomic" else "")
    additional, items = schema.get("additionalProperties"), schema.get("items")
    if isinstance(additional, Mapping):
        inner_type = type_.params[1] if type_ is not None and type_.name == "map" else None
        times = _times(position.times, schema.get("maxProperties"))
        inner = _Position(f"{path}.additionalProperties", inner_type, limits and limits.item, position.unrelated, times)
        yield from _position_errors(additional, inner, costs)
    for name, property_ in (schema.get("properties") or {}).items():
        inner_type, inner_limits = field_type(type_, name, property_), field_bounds(limits, name, property_)
        times = position.times if additional is None else _times(position.times, schema.get("maxProperties"))
        inner = _Position(f"{path}.properties[{name}]", inner_type, inner_limits, below, times)
        yield from _position_errors(property_, inner, costs)
    if isinstance(items, Mapping):
        below = position.unrelated or (path if schema.get("x-kubernetes-list-type") != "map" else "")
        inner_type = type_.params[0] if type_ is not None and type_.name == "list" else None
        times = _times(position.times, schema.get("maxItems"))
        yield from _position_errors(
            items, _Position(f"{path}.items", inner_type, limits and limits.item, below, times), costs
        )
    for index, rule in enumerate(schema.get(RULES) or ()):
        place = position._replace(path=f"{path}.{RULES}[{index}]")
        wording = list(_wording_errors(rule, place.path, schema))
        yield from wording
        if not wording and type_ is not None:
            yield from _expression_errors(rule, place, costs)


def _times(outer: int | None, most: int | None) -> int | None:
    return None if outer is None or most is None else capped(outer * max(most, 0))


def field_bounds(limits: Bounds | None, name: str, schema: Schema) -> Bounds | None:
    key = types.escaped(name)
    if key is None:
        return bounds(schema, schema.get("x-kubernetes-embedded-resource", False))
    return None if limits is None else limits.fields.get(key)


def field_type(type_: Type | None, name: str, schema: Schema) -> Type | None:
    if type_ is None or type_.name != "object":
        return None
    key = types.escaped(name)
    if key is None:
        return from_schema(schema, schema.get("x-kubernetes-embedded-resource", False))
    return type_.fields[key][1] if key in type_.fields else None


def _wording_errors(rule: Schema, path: str, schema: Schema) -> Iterator[FieldError]:
    text, message = rule.get("rule", ""), rule.get("message", "")
    expression, place = rule.get("messageExpression", ""), rule.get("fieldPath", "")
    if not text.strip():
        yield required(f"{path}.rule", "rule is not specified")
    elif message and not message.strip():
        yield invalid(f"{path}.message", message, "must be non-empty if specified")
    elif "\n" in message.strip():
        yield invalid(f"{path}.message", message, "must not contain line breaks")
    elif "\n" in text.strip() and not message.strip():
        yield required(f"{path}.message", "message must be specified if rule contains line breaks")
    if expression and not expression.strip():
        yield required(f"{path}.messageExpression", "messageExpression must be non-empty if specified")
    if rule.get("reason") and rule["reason"] not in _REASONS:
        yield field_errors.not_supported(f"{path}.reason", rule["reason"], _REASONS)
    if place and not place.strip():
        yield invalid(f"{path}.fieldPath", place, "must be non-empty if specified")
    if "\n" in place:
        yield invalid(f"{path}.fieldPath", place, "must not contain line breaks")
    if place and field_path(place, schema) is None:
        yield invalid(f"{path}.fieldPath", place, "must be a valid path")


def _expression_errors(rule: Schema, position: _Position, costs: list[RuleCost]) -> Iterator[FieldError]:
    path, limits = position.path, position.bounds or Bounds()
    assert position.type is not None
    compiled = compile_rule(rule, position.type, limits)
    shown = _Shown(rule)
    if isinstance(compiled, str):
        yield FieldError("FieldValueInvalid", f"{path}.rule", f"Invalid value: {shown}: {compiled}")
        yield from _needless_optional(rule, path)
        return
    times = limits.repetitions() if position.times is None else position.times
    costs.append(RuleCost(f"{path}.rule", rule["rule"], capped(compiled.program.cost * times)))
    if compiled.message is not None:
        costs.append(RuleCost(f"{path}.messageExpression", rule["messageExpression"], compiled.message.cost))
    if compiled.message_error:
        message = f"Invalid value: {shown}: {compiled.message_error}"
        yield FieldError("FieldValueInvalid", f"{path}.messageExpression", message)
    if compiled.is_transition and position.unrelated:
        detail = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {position.unrelated}"
        yield invalid(f"{path}.rule", rule["rule"], detail)
    elif not compiled.is_transition:
        yield from _needless_optional(rule, path)


def _needless_optional(rule: Schema, path: str) -> Iterator[FieldError]:
    given = rule.get("optionalOldSelf")
    if given is not None:
        yield invalid(f"{path}.optionalOldSelf", given, "may not be set if oldSelf is not used in rule")


class _Shown:
    """A rule as printed by kube-apiserver: the Go struct."""

    def __init__(self, rule: Schema) -> None:
        self._rule = rule

    def __str__(self) -> str:
        rule = self._rule
        text = json.dumps(
            {
                "Rule": rule.get("rule", ""),
                "Message": rule.get("message", ""),
                "MessageExpression": rule.get("messageExpression", ""),
                "Reason": rule.get("reason"),
                "FieldPath": rule.get("fieldPath", ""),
                "OptionalOldSelf": rule.get("optionalOldSelf"),
            },
            separators=(",", ":"),
            ensure_ascii=False,
        )
        return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


@dataclass(frozen=True, slots=True)
class Rule:
    """A compiled rule."""

    program: Program
    message: Program | None
    message_error: str
    text: str
    """Name of the rule in messages: its message, or its text."""
    fallback: str
    reason: str
    field_path: str
    optional_old: bool
    message_text: str

    @property
    def is_transition(self) -> bool:
        return "oldSelf" in self.program.names


def compile_rule(rule: Schema, type_: Type, bounds: Bounds) -> Rule | str:
    """The compiled rule, or the compiler's error."""
    optional_old = bool(rule.get("optionalOldSelf"))
    variables = {"self": type_, "oldSelf": optional_of(type_) if optional_old else type_}
    try:
        program = compile_expression(rule["rule"], variables, bounds)
    except CelCompileError as error:
        return str(error)
    if program.type is not types.BOOL:
        return "cel expression must evaluate to a bool"
    message, message_error = _message(rule, variables, bounds)
    own = rule.get("message", "").strip()
    return Rule(
        program=program,
        message=message,
        message_error=message_error,
        text=own or rule["rule"].strip(),
        fallback=own or f"failed rule: {rule['rule'].strip()}",
        reason=rule.get("reason") or "FieldValueInvalid",
        field_path=rule.get("fieldPath", ""),
        optional_old=optional_old,
        message_text=rule.get("messageExpression", ""),
    )


def _message(rule: Schema, variables: Mapping[str, Type], bounds: Bounds) -> tuple[Program | None, str]:
    if not rule.get("messageExpression"):
        return None, ""
    try:
        program = compile_expression(rule["messageExpression"], variables, bounds)
    except CelCompileError as error:
        return None, f"messageExpression {str(error).removeprefix('program ')}"
    if program.type is not types.STRING:
        return None, "messageExpression must evaluate to a string"
    return program, ""
