# SPDX-License-Identifier: Apache-2.0
"""Evaluation of a schema's rules on objects, within their budget and with Kubernetes' messages.

A transition rule (one that uses `oldSelf`) runs only where there is an old value, unless it has `optionalOldSelf`. When
a budget is used up no further rule runs, and the object is rejected.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from contextlib import suppress
from typing import Any, Final

from springtide.api.field_errors import FieldError, forbidden, invalid, required, shown
from springtide.local.schema.cel import TooLong
from springtide.local.schema.cel.bounds import Bounds, bounds
from springtide.local.schema.cel.compiler import Program
from springtide.local.schema.cel.cost import (
    METER,
    PER_CALL,
    PER_OBJECT,
    ROOM_PER_CALL,
    ROOM_PER_OBJECT,
    RUNNING,
    TURN,
    CostExceeded,
    Meter,
)
from springtide.local.schema.cel.rules import RULES, Rule, Schema, compile_rule, field_bounds, field_type
from springtide.local.schema.cel.types import Type, from_schema
from springtide.local.schema.cel.values import (
    NO_OVERLOAD,
    NONE,
    CelError,
    Convert,
    Optional,
    converter,
    safely,
)
from springtide.local.schema.field_paths import field_path
from springtide.local.schema.node import Node, Shape
from springtide.local.schema.paths import ROOT, Key, Path, Problem, written
from springtide.local.schema.ratchet import GONE

_LONGEST_MESSAGE: Final = 5 * 1024
_MOST_PROBLEMS: Final = 1000
_NO_FURTHER: Final = "no further validation rules will be run"
_PER_EVALUATION: Final = 20
"""Overhead of one evaluation, in units."""


class _Stop(Exception):
    """No further rule may run."""


class Budget:
    """Remaining budget of all rules on one object; `patience` limits it to the work that the caller waits for."""

    __slots__ = ("_patience", "_room", "_units", "meter")

    def __init__(self, patience: int | None = None) -> None:
        self._units, self._room, self._patience = PER_OBJECT, ROOM_PER_OBJECT, patience
        self.meter = RUNNING.meter = Meter()

    @property
    def is_used_up(self) -> bool:
        return self._units <= 0

    def run(self, program: Program, variables: dict[str, Any]) -> Any:
        """The value of an expression. Raises `CelError`; `CostExceeded` when one call exceeds its limit; `_Stop` when
        all together do."""
        meter, patience = self.meter, self._patience
        if patience is None:
            limit, room = PER_CALL, min(ROOM_PER_CALL, self._room)
        else:
            limit, room = min(PER_CALL, patience), min(ROOM_PER_CALL, patience * TURN)
        meter.left, meter.room = limit, room
        try:
            return program.run(variables)
        except CostExceeded:
            if patience is not None:
                raise TooLong from None
            raise
        finally:
            self._take(limit - meter.left, room - max(meter.room, 0))

    def _take(self, units: int, room: int) -> None:
        if self._patience is not None:
            self._patience -= units + room // TURN + _PER_EVALUATION
            if self._patience <= 0:
                raise TooLong
        self._room -= room
        if units > self._units or self._room < 0:
            raise _Stop
        self._units -= units


class RuleTree:
    """The rules of a position and of those below it. Positions without rules are omitted."""

    def __init__(self, schema: Schema, node: Node, type_: Type, rules: list[Rule]) -> None:
        self.rules = rules
        self.kind = schema.get("type", "")
        self.convert: Convert | None = converter(type_)
        self.node = node
        self.paths = [field_path(rule.field_path, schema) or "" for rule in rules]
        self.fields: dict[str, RuleTree] = {}
        self.item: RuleTree | None = None


def compile_rules(schema: Schema, node: Node) -> RuleTree | None:
    """The rules of a whole schema; None if it has none. The schema must be free of `rule_errors`."""
    return _tree(schema, node, from_schema(schema, is_resource=True), bounds(schema, is_resource=True))


def _tree(schema: Schema, node: Node, type_: Type | None, limits: Bounds | None) -> RuleTree | None:
    if type_ is None or limits is None:
        return None
    rules = [made for rule in schema.get(RULES) or () if not isinstance(made := compile_rule(rule, type_, limits), str)]
    tree = RuleTree(schema, node, type_, rules)
    for name, inner in (schema.get("properties") or {}).items():
        if name in node.fields:
            inner_type, inner_limits = field_type(type_, name, inner), field_bounds(limits, name, inner)
            below = _tree(inner, node.fields[name].node, inner_type, inner_limits)
            if below is not None:
                tree.fields[name] = below
    inside = schema.get("items") if node.shape is Shape.LIST else schema.get("additionalProperties")
    if isinstance(inside, Mapping) and node.item is not None and type_.params:
        tree.item = _tree(inside, node.item, type_.params[-1], limits.item)
    return tree if rules or tree.fields or tree.item else None


def rule_problems(tree: RuleTree, obj: Any, old: Any, patience: int | None = None) -> list[Problem]:
    """The problems that the rules find in an object; `old` is None on creation.

    With `patience`, raises `TooLong` when the rules need more work than that.
    """
    run = _Run(Budget(patience))
    with suppress(_Stop):
        run.position(tree, obj, GONE if old is None else old, ROOT)
    return run.problems


class _Run:
    """One run of the rules on an object."""

    def __init__(self, budget: Budget) -> None:
        self.problems: list[Problem] = []
        self._budget = budget

    def position(self, tree: RuleTree, value: Any, old: Any, path: Path) -> None:
        if value is None:
            return
        if tree.rules:
            self._rules(tree, value, old, path)
        if isinstance(value, dict):
            matched = old if isinstance(old, dict) and not tree.node.atomic else {}
            for key, inner in value.items():
                below = tree.fields.get(key)
                if below is not None:
                    self.position(below, inner, matched.get(key, GONE), (path, key))
                elif tree.item is not None:
                    self.position(tree.item, inner, matched.get(key, GONE), (path, Key(key)))
        elif isinstance(value, list) and tree.item is not None:
            known = _by_key(old, tree.node)
            for index, inner in enumerate(value):
                before = known.get(_key(inner, tree.node.list_keys), GONE) if known else GONE
                self.position(tree.item, inner, before, (path, index))

    def _rules(self, tree: RuleTree, value: Any, old: Any, path: Path) -> None:
        """Run the rules of one position."""
        if self._budget.is_used_up:
            self._stop(tree, path, f"validation failed due to running out of cost budget, {_NO_FURTHER}")
        missing = old is GONE or old is None
        seen = _Seen(tree.convert, value, None if missing else old)
        for rule, place in zip(tree.rules, tree.paths, strict=True):
            if missing and rule.is_transition and not rule.optional_old:
                continue
            before = (NONE if missing else Optional(True, seen.old)) if rule.optional_old else seen.old
            error = self._broken(
                tree, rule, {"self": seen.new, "oldSelf": before, METER: self._budget.meter}, value, (path, place)
            )
            # A rule without oldSelf cannot detect that nothing changed, so that is checked here.
            if error is not None and (rule.is_transition or missing or seen.is_changed):
                self.problems.append(Problem(path, error))
                if len(self.problems) >= _MOST_PROBLEMS:
                    self._stop(tree, path, f"more than {_MOST_PROBLEMS} rules are broken, {_NO_FURTHER}")

    def _stop(self, tree: RuleTree, path: Path, detail: str) -> None:
        self.problems.append(Problem(path, invalid(written(path), tree.kind, detail)))
        raise _Stop

    def _broken(
        self, tree: RuleTree, rule: Rule, variables: dict[str, Any], value: Any, place: tuple[Path, str]
    ) -> FieldError | None:
        """The error of the rule for the value, or None."""
        path, below = place
        try:
            if self._budget.run(rule.program, variables) is True:
                return None
        except CelError as error:
            return invalid(written(path), tree.kind, _failure(str(error), rule.text))
        except (TypeError, ValueError, OverflowError, RecursionError):
            # A value of unknown type was passed to a function that does not support it, or it is too large.
            return invalid(written(path), tree.kind, _failure(NO_OVERLOAD, rule.text))
        except CostExceeded as error:
            self._stop(tree, path, f"'{error}': {_NO_FURTHER} due to call cost exceeds limit for rule: {rule.text}")
        except _Stop:
            self._stop(tree, path, f"validation failed due to running out of cost budget, {_NO_FURTHER}")
        where = written(path) + (f".{below}" if below and path is not ROOT else below)
        return _complaint(rule, where, value, tree.kind, self._detail(tree, rule, variables, (path, where)))

    def _detail(self, tree: RuleTree, rule: Rule, variables: dict[str, Any], place: tuple[Path, str]) -> str:
        """The computed message if it can be computed and is valid, else the static one."""
        if rule.message is None:
            return rule.fallback
        path, where = place
        try:
            text = str(self._budget.run(rule.message, variables)).strip()
        except (CelError, TypeError, ValueError, OverflowError, RecursionError):
            return rule.fallback
        except CostExceeded:
            detail = (
                f"{_NO_FURTHER} due to call cost exceeds limit for messageExpression: {json.dumps(rule.message_text)}"
            )
            self.problems.append(Problem(path, invalid(where, tree.kind, detail)))
            raise _Stop from None
        except _Stop:
            detail = f"messageExpression evaluation failed due to running out of cost budget, {_NO_FURTHER}"
            self.problems.append(Problem(path, invalid(where, tree.kind, detail)))
            raise
        unfit = not text or "\n" in text or len(text.encode(errors="replace")) > _LONGEST_MESSAGE
        return rule.fallback if unfit else text


class _Seen:
    """New and old value, converted and compared once for all rules of a position."""

    __slots__ = ("_changed", "_values", "new", "old")

    def __init__(self, convert: Convert | None, value: Any, old: Any) -> None:
        self._values = (value, old)
        self._changed: bool | None = None
        self.new = value if convert is None else safely(convert, value)
        self.old = old if convert is None else safely(convert, old)

    @property
    def is_changed(self) -> bool:
        if self._changed is None:
            self._changed = bool(self._values[0] != self._values[1])
        return self._changed


def _by_key(old: Any, node: Node) -> dict[Hashable, Any]:
    """The items of an old list by their keys; only items of map lists can be matched."""
    if node.list_type != "map" or not isinstance(old, list):
        return {}
    return {_key(item, node.list_keys): item for item in reversed(old) if isinstance(item, dict)}


def _key(item: Any, keys: tuple[str, ...]) -> Hashable:
    values = [item.get(key) if isinstance(item, dict) else None for key in keys]
    return tuple([(isinstance(value, bool), value) for value in values if not isinstance(value, list | dict)])


def _failure(error: str, rule: str) -> str:
    if error.startswith(NO_OVERLOAD):
        reason = "call arguments did not match a supported operator, function or macro signature for rule"
        return f"'{error}': {reason}: {rule}"
    return f"{error} evaluating rule: {rule}"


def _complaint(rule: Rule, where: str, value: Any, kind: str, detail: str) -> FieldError:
    omitted = kind in ("object", "array")
    match rule.reason:
        case "FieldValueForbidden":
            return forbidden(where, detail)
        case "FieldValueRequired":
            return required(where, detail)
        case "FieldValueDuplicate":
            return FieldError(rule.reason, where, "Duplicate value" if omitted else f"Duplicate value: {shown(value)}")
    if omitted:
        return FieldError("FieldValueInvalid", where, f"Invalid value: {detail}")
    return invalid(where, value, detail)
