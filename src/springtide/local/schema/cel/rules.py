# SPDX-License-Identifier: Apache-2.0
"""`x-kubernetes-validations`: the rules of a schema, compiled once and run on objects.

`rule_errors` tells what is wrong with the rules themselves when a CRD is written; `compile_rules` gives the function
that `CompiledSchema` runs after value validation. A transition rule (one that uses `oldSelf`) runs only where there is
an old value, unless it asks for `optionalOldSelf`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from springtide.api import field_errors
from springtide.api.field_errors import FieldError, forbidden, invalid, required
from springtide.local.schema.cel import types
from springtide.local.schema.cel.compiler import CelCompileError, Program, compile_expression
from springtide.local.schema.cel.types import Type, from_schema, optional_of
from springtide.local.schema.cel.values import NO_OVERLOAD, NONE, CelError, Convert, Optional, converter
from springtide.local.schema.field_paths import field_path
from springtide.local.schema.node import Node, Shape
from springtide.local.schema.paths import ROOT, Key, Path, Problem, written
from springtide.local.schema.ratchet import GONE, partner

Schema = Mapping[str, Any]

RULES: Final = "x-kubernetes-validations"
_REASONS: Final = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_LONGEST_MESSAGE: Final = 5 * 1024


# --- the rules themselves


def rule_errors(schema: Schema, path: str) -> list[FieldError]:
    """What keeps the rules of a (structural) schema from being compiled."""
    return list(_position_errors(schema, path, from_schema(schema, is_resource=True), ""))


def _position_errors(schema: Schema, path: str, type_: Type | None, unrelated: str) -> Iterator[FieldError]:
    """`unrelated` is the position above this one from where on old and new values cannot be matched."""
    for index, rule in enumerate(schema.get(RULES) or ()):
        place = f"{path}.{RULES}[{index}]"
        wording = list(_wording_errors(rule, place, schema))
        yield from wording
        if not wording and type_ is not None:
            yield from _expression_errors(rule, place, type_, unrelated)
    below = unrelated or (path if schema.get("x-kubernetes-map-type") == "atomic" else "")
    for name, inner in (schema.get("properties") or {}).items():
        inner_type = _field_type(type_, name, inner)
        yield from _position_errors(inner, f"{path}.properties[{name}]", inner_type, below)
    additional, items = schema.get("additionalProperties"), schema.get("items")
    if isinstance(additional, Mapping):
        inner_type = type_.params[1] if type_ is not None and type_.name == "map" else None
        yield from _position_errors(additional, f"{path}.additionalProperties", inner_type, unrelated)
    if isinstance(items, Mapping):
        below = unrelated or (path if schema.get("x-kubernetes-list-type") != "map" else "")
        inner_type = type_.params[0] if type_ is not None and type_.name == "list" else None
        yield from _position_errors(items, f"{path}.items", inner_type, below)


def _field_type(type_: Type | None, name: str, schema: Schema) -> Type | None:
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


def _expression_errors(rule: Schema, path: str, type_: Type, unrelated: str) -> Iterator[FieldError]:
    compiled = _compile(rule, type_)
    shown = _Shown(rule)
    if isinstance(compiled, str):
        yield FieldError("FieldValueInvalid", f"{path}.rule", f"Invalid value: {shown}: {compiled}")
        yield from _needless_optional(rule, path)
        return
    if compiled.message_error:
        message = f"Invalid value: {shown}: {compiled.message_error}"
        yield FieldError("FieldValueInvalid", f"{path}.messageExpression", message)
    if compiled.is_transition and unrelated:
        detail = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {unrelated}"
        yield invalid(f"{path}.rule", rule["rule"], detail)
    elif not compiled.is_transition:
        yield from _needless_optional(rule, path)


def _needless_optional(rule: Schema, path: str) -> Iterator[FieldError]:
    given = rule.get("optionalOldSelf")
    if given is not None:
        yield invalid(f"{path}.optionalOldSelf", given, "may not be set if oldSelf is not used in rule")


class _Shown:
    """A rule as the real server prints it: the Go struct."""

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
class _Rule:
    """One rule, ready to run."""

    program: Program
    message: Program | None
    message_error: str
    text: str
    """How the rule is named in messages: its message, or itself."""
    fallback: str
    reason: str
    field_path: str
    optional_old: bool

    @property
    def is_transition(self) -> bool:
        return "oldSelf" in self.program.names


def _compile(rule: Schema, type_: Type) -> _Rule | str:
    """The rule, or the complaint of the compiler."""
    optional_old = bool(rule.get("optionalOldSelf"))
    variables = {"self": type_, "oldSelf": optional_of(type_) if optional_old else type_}
    try:
        program = compile_expression(rule["rule"], variables)
    except CelCompileError as error:
        return f"compilation failed: {error}"
    if program.type is not types.BOOL:
        return "cel expression must evaluate to a bool"
    message, message_error = _message(rule, variables)
    own = rule.get("message", "").strip()
    return _Rule(
        program=program,
        message=message,
        message_error=message_error,
        text=own or rule["rule"].strip(),
        fallback=own or f"failed rule: {rule['rule'].strip()}",
        reason=rule.get("reason") or "FieldValueInvalid",
        field_path=rule.get("fieldPath", ""),
        optional_old=optional_old,
    )


def _message(rule: Schema, variables: Mapping[str, Type]) -> tuple[Program | None, str]:
    if not rule.get("messageExpression"):
        return None, ""
    try:
        program = compile_expression(rule["messageExpression"], variables)
    except CelCompileError as error:
        return None, f"messageExpression compilation failed: {error}"
    if program.type is not types.STRING:
        return None, "messageExpression must evaluate to a string"
    return program, ""


# --- the rules at work


class RuleTree:
    """The rules of a position and of those below it. Positions without any are not there."""

    def __init__(self, schema: Schema, node: Node, type_: Type, rules: list[_Rule]) -> None:
        self.rules = rules
        self.kind = schema.get("type", "")
        self.convert: Convert | None = converter(type_)
        self.node = node
        self.paths = [field_path(rule.field_path, schema) or "" for rule in rules]
        self.fields: dict[str, RuleTree] = {}
        self.item: RuleTree | None = None


def compile_rules(schema: Schema, node: Node) -> RuleTree | None:
    """The rules of a whole schema; None if it has none. The schema must be free of `rule_errors`."""
    return _tree(schema, node, from_schema(schema, is_resource=True))


def _tree(schema: Schema, node: Node, type_: Type | None) -> RuleTree | None:
    if type_ is None:
        return None
    rules = [made for rule in schema.get(RULES) or () if not isinstance(made := _compile(rule, type_), str)]
    tree = RuleTree(schema, node, type_, rules)
    for name, inner in (schema.get("properties") or {}).items():
        inner_type = _field_type(type_, name, inner)
        below = _tree(inner, node.fields[name].node, inner_type) if name in node.fields else None
        if below is not None:
            tree.fields[name] = below
    inside = schema.get("items") if node.shape is Shape.LIST else schema.get("additionalProperties")
    if isinstance(inside, Mapping) and node.item is not None and type_.params:
        tree.item = _tree(inside, node.item, type_.params[-1])
    return tree if rules or tree.fields or tree.item else None


def rule_problems(tree: RuleTree, obj: Any, old: Any) -> list[Problem]:
    """What the rules say about an object; `old` is None on creation."""
    return list(_run(tree, obj, GONE if old is None else old, ROOT))


def _run(tree: RuleTree, value: Any, old: Any, path: Path) -> Iterator[Problem]:
    if value is None:
        return
    if tree.rules:
        yield from _at(tree, value, old, path)
    if isinstance(value, dict):
        matched = old if isinstance(old, dict) and not tree.node.atomic else {}
        for key, inner in value.items():
            below = tree.fields.get(key)
            if below is not None:
                yield from _run(below, inner, matched.get(key, GONE), (path, key))
            elif tree.item is not None:
                yield from _run(tree.item, inner, matched.get(key, GONE), (path, Key(key)))
    elif isinstance(value, list) and tree.item is not None:
        for index, inner in enumerate(value):
            yield from _run(tree.item, inner, partner(inner, old, tree.node), (path, index))


def _at(tree: RuleTree, value: Any, old: Any, path: Path) -> Iterator[Problem]:
    """The rules of one position."""
    missing = old is GONE or old is None
    convert: Callable[[Any], Any] = tree.convert or _same
    seen = convert(value)
    seen_old = None if missing else convert(old)
    for rule, place in zip(tree.rules, tree.paths, strict=True):
        if missing and rule.is_transition and not rule.optional_old:
            continue
        before = (NONE if missing else Optional(True, seen_old)) if rule.optional_old else seen_old
        error = _broken(tree, rule, {"self": seen, "oldSelf": before}, value, (path, place))
        # Without oldSelf a rule cannot tell that nothing changed, so that is told for it.
        if error is not None and (rule.is_transition or missing or value != old):
            yield Problem(path, error)


def _same(value: Any) -> Any:
    return value


def _broken(
    tree: RuleTree, rule: _Rule, variables: dict[str, Any], value: Any, place: tuple[Path, str]
) -> FieldError | None:
    """The rule's complaint about the value, if it has one."""
    path, below = place
    try:
        if rule.program.run(variables) is True:
            return None
    except CelError as error:
        return invalid(written(path), tree.kind, _failure(str(error), rule.text))
    except (TypeError, OverflowError, RecursionError):
        # A value of unknown type slipped into a function that cannot take it, or there is too much of it.
        return invalid(written(path), tree.kind, _failure(NO_OVERLOAD, rule.text))
    where = written(path) + (f".{below}" if below and path is not ROOT else below)
    return _complaint(rule, where, value, tree.kind, _detail(rule, variables))


def _failure(error: str, rule: str) -> str:
    if error.startswith(NO_OVERLOAD):
        reason = "call arguments did not match a supported operator, function or macro signature for rule"
        return f"'{error}': {reason}: {rule}"
    return f"{error} evaluating rule: {rule}"


def _detail(rule: _Rule, variables: dict[str, Any]) -> str:
    """The computed message if it can be computed and is fit to be shown, else the written one."""
    if rule.message is None:
        return rule.fallback
    try:
        text = str(rule.message.run(variables)).strip()
    except CelError:
        return rule.fallback
    unfit = not text or "\n" in text or len(text) > _LONGEST_MESSAGE
    return rule.fallback if unfit else text


def _complaint(rule: _Rule, where: str, value: Any, kind: str, detail: str) -> FieldError:
    omitted = kind in ("object", "array")
    match rule.reason:
        case "FieldValueForbidden":
            return forbidden(where, detail)
        case "FieldValueRequired":
            return required(where, detail)
        case "FieldValueDuplicate":
            return FieldError(rule.reason, where, "Duplicate value" if omitted else f"Duplicate value: {_json(value)}")
    if omitted:
        return FieldError("FieldValueInvalid", where, f"Invalid value: {detail}")
    return invalid(where, value, detail)


def _json(value: Any) -> str:
    return field_errors.shown(value)
