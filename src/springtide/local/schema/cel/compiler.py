# SPDX-License-Identifier: Apache-2.0
"""A CEL tree to a function, with its types checked on the way.

One walk does both: each node yields its type and a closure from variables to value. What does not type-check is noted
with its place, as cel-go does, and the walk goes on, so that a rule's author sees all mistakes at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from springtide.local.schema.cel import collections, kubernetes, library, strings, types
from springtide.local.schema.cel.macros import MACROS
from springtide.local.schema.cel.registry import FUNCTIONS, Overload, fits
from springtide.local.schema.cel.syntax import (
    Call,
    CelSyntaxError,
    Expr,
    Ident,
    Index,
    Issue,
    ListOf,
    Literal,
    MapOf,
    Select,
    parse,
    report,
)
from springtide.local.schema.cel.types import Run, Type, Typed, Variables, optional_of, resolved, unify
from springtide.local.schema.cel.values import (
    NO_OVERLOAD,
    NONE,
    CelError,
    Optional,
    TypeName,
    UInt,
    parse_duration,
    parse_timestamp,
)
from springtide.local.schema.regex import GoRegexError, compile_go

LIBRARIES: Final = (library, strings, collections, kubernetes)
"""Imported for what they declare."""

_TYPE_NAMES: Final = {
    "int": "int",
    "uint": "uint",
    "double": "double",
    "string": "string",
    "bool": "bool",
    "bytes": "bytes",
    "list": "list",
    "map": "map",
    "null_type": "null_type",
    "type": "type",
}


_LITERAL_PARSERS: Final[Mapping[str, Callable[[str], object]]] = {
    "matches": compile_go,
    "timestamp": parse_timestamp,
    "duration": parse_duration,
}


class CelCompileError(Exception):
    """The expression is no CEL or does not fit the types; the text is cel-go's report."""


class Program(NamedTuple):
    type: Type
    run: Run
    names: frozenset[str]
    """Variables the expression uses."""


def compile_expression(text: str, variables: Mapping[str, Type]) -> Program:
    compiler = Compiler(variables)
    try:
        typed = compiler.typed(parse(text))
    except CelSyntaxError as error:
        raise CelCompileError(report(text, [error.issue])) from None
    except RecursionError:
        raise CelCompileError(report(text, [(0, "expression recursion limit exceeded")])) from None
    if compiler.issues:
        raise CelCompileError(report(text, compiler.issues))
    return Program(typed.type, typed.run, frozenset(compiler.used))


def _broken(variables: Variables) -> Any:
    raise CelError("the expression did not compile")


BROKEN: Final = Typed(types.DYN, _broken)
"""Stands for what did not type-check; a report follows."""


class Compiler:
    """The state of one walk; macros get it too."""

    def __init__(self, variables: Mapping[str, Type]) -> None:
        self.scope: dict[str, Type] = dict(variables)
        self.issues: list[Issue] = []
        self.used: set[str] = set()
        self.mixes = False
        """Whether literals here may have elements of different types."""

    def complain(self, at: int, message: str) -> Typed:
        self.issues.append((at, message))
        return BROKEN

    def typed(self, expr: Expr) -> Typed:
        match expr:
            case Literal():
                return self._literal(expr)
            case Ident():
                return self._ident(expr)
            case Select():
                return self._select(expr)
            case Index():
                return self._index(expr)
            case Call():
                return self._call(expr)
            case ListOf():
                return self._list(expr)
            case MapOf():
                return self._map(expr)

    def _literal(self, expr: Literal) -> Typed:
        value = UInt(expr.value) if expr.type == "uint" and isinstance(expr.value, int) else expr.value
        return Typed(types.NAMED[expr.type], lambda variables: value)

    def _ident(self, expr: Ident) -> Typed:
        name = expr.name
        if name in self.scope:
            self.used.add(name)
            return Typed(self.scope[name], lambda variables: variables[name])
        if name in _TYPE_NAMES:
            named = TypeName(_TYPE_NAMES[name])
            return Typed(types.TYPE, lambda variables: named)
        return self.complain(expr.at, f"undeclared reference to '{name}' (in container '')")

    # --- fields and items

    def field(self, operand: Typed, name: str, at: int) -> tuple[Type, str] | None:
        """Type of a field and its name in JSON; complains if there can be none."""
        type_ = operand.type
        if type_.name == "object":
            if name in type_.fields:
                key, inner = type_.fields[name]
                return inner, key
            self.complain(at, f"undefined field '{name}'")
            return None
        if type_.name == "map":
            return type_.params[1], name
        if type_ is types.DYN:
            return types.DYN, name
        self.complain(at, f"type '{type_}' does not support field selection")
        return None

    def _select(self, expr: Select) -> Typed:
        operand = self.typed(expr.operand)
        if operand is BROKEN:
            return BROKEN
        through = operand.type.name == "optional_type"
        inside = Typed(operand.type.params[0], operand.run) if through else operand
        found = self.field(inside, expr.field, expr.at)
        if found is None:
            return BROKEN
        type_, key = found
        run = operand.run
        if through or expr.optional:
            return Typed(optional_of(type_), lambda variables: _look(run(variables), key))
        return Typed(type_, lambda variables: _get(run(variables), key))

    def has(self, expr: Select, at: int) -> Typed:
        """The `has()` macro's test of a field."""
        operand = self.typed(expr.operand)
        found = None if operand is BROKEN else self.field(operand, expr.field, at)
        if found is None:
            return BROKEN
        key, run = found[1], operand.run
        return Typed(types.BOOL, lambda variables: _has(run(variables), key))

    def _index(self, expr: Index) -> Typed:
        operand, key = self.typed(expr.operand), self.typed(expr.key)
        through = operand.type.name == "optional_type"
        type_ = operand.type.params[0] if through else operand.type
        element = _element(type_, key.type)
        if element is None:
            name = "_[?_]" if expr.optional else "_[_]"
            return self.complain(expr.at, f"found no matching overload for '{name}' applied to '({type_}, {key.type})'")
        run, look_up = operand.run, key.run
        if through or expr.optional:
            return Typed(optional_of(element), lambda variables: _look(run(variables), look_up(variables)))
        return Typed(element, lambda variables: _get(run(variables), look_up(variables)))

    # --- lists and maps

    def _list(self, expr: ListOf) -> Typed:
        items = [self.typed(item) for item in expr.items]
        element = self._common([(item, one.at) for item, one in zip(items, expr.items, strict=True)])
        runs = [item.run for item in items]
        return Typed(types.list_of(element), lambda variables: [run(variables) for run in runs])

    def _map(self, expr: MapOf) -> Typed:
        keys = [(self.typed(key), key.at) for key, _ in expr.entries]
        values = [(self.typed(value), value.at) for _, value in expr.entries]
        pairs = [(key.run, value.run) for (key, _), (value, _) in zip(keys, values, strict=True)]
        type_ = types.map_of(self._common(keys), self._common(values))
        return Typed(type_, lambda variables: {key(variables): value(variables) for key, value in pairs})

    def _common(self, items: list[tuple[Typed, int]]) -> Type:
        """The one type of a literal's elements: Kubernetes lets them be mixed only for `format`."""
        if not items:
            return types.DYN
        first = items[0][0].type
        others = [(item.type, at) for item, at in items[1:] if not unify(first, item.type, {})]
        if others and self.mixes:
            return types.DYN
        for other, at in others:
            self.complain(at, f"expected type '{first}' but found '{other}'")
        return first

    # --- calls

    def _call(self, expr: Call) -> Typed:
        macro = MACROS.get((expr.name, expr.target is not None, len(expr.args)))
        if macro is not None:
            made = macro(self, expr)
            if made is not None:
                return made
        if expr.name in ("_&&_", "_||_"):
            return self._logic(expr)
        if expr.name == "_?_:_":
            return self._choice(expr)
        static = _static_name(expr, self.scope)
        if static is not None:
            return self._apply(expr, static, [self.typed(arg) for arg in expr.args], member=False)
        target = [] if expr.target is None else [self.typed(expr.target)]
        mixed, self.mixes = self.mixes, self.mixes or (expr.name == "format" and bool(target))
        args = [*target, *(self.typed(arg) for arg in expr.args)]
        self.mixes = mixed
        return self._apply(expr, expr.name, args, member=bool(target))

    def _apply(self, expr: Call, name: str, args: list[Typed], member: bool) -> Typed:
        if name not in FUNCTIONS:
            return self.complain(expr.at, f"undeclared reference to '{name}' (in container '')")
        matching: list[tuple[Overload, Type]] = []
        for overload in FUNCTIONS[name]:
            bound: dict[str, Type] = {}
            if overload.member != member or len(overload.params) != len(args):
                continue
            if all(unify(wanted, arg.type, bound) for wanted, arg in zip(overload.params, args, strict=True)):
                matching.append((overload, resolved(overload.result, bound)))
        if not matching:
            if any(arg is BROKEN for arg in args):
                return BROKEN
            return self.complain(
                expr.at, f"found no matching overload for '{name}' applied to '{_shown(args, member)}'"
            )
        self._check_literal(expr, name)
        runs = [arg.run for arg in args]
        if len(matching) == 1 and all(arg.type is not types.DYN for arg in args):
            return Typed(matching[0][1], _applied(matching[0][0].run, runs))
        results = {str(result) for _, result in matching}
        type_ = matching[0][1] if len(results) == 1 else types.DYN
        return Typed(type_, _dispatched([overload for overload, _ in matching], runs))

    def _check_literal(self, expr: Call, name: str) -> None:
        """A pattern, time or duration that is written out is checked at once."""
        literal = expr.args[-1] if expr.args else None
        parser = _LITERAL_PARSERS.get(name)
        if parser is None or not isinstance(literal, Literal) or not isinstance(literal.value, str):
            return
        try:
            parser(literal.value)
        except (CelError, GoRegexError):
            self.complain(literal.at, f"invalid {name} argument")

    def _logic(self, expr: Call) -> Typed:
        sides = [self.typed(arg) for arg in expr.args]
        for side, arg in zip(sides, expr.args, strict=True):
            if not unify(types.BOOL, side.type, {}):
                self.complain(arg.at, f"expected type 'bool' but found '{side.type}'")
        left, right = sides[0].run, sides[1].run
        return Typed(types.BOOL, _logical(left, right, decisive=expr.name == "_||_"))

    def _choice(self, expr: Call) -> Typed:
        condition, chosen, other = (self.typed(arg) for arg in expr.args)
        bound: dict[str, Type] = {}
        a = Type("A")
        if not (unify(types.BOOL, condition.type, {}) and unify(a, chosen.type, bound) and unify(a, other.type, bound)):
            shown = _shown([condition, chosen, other], member=False)
            return self.complain(expr.at, f"found no matching overload for '_?_:_' applied to '{shown}'")
        test, yes, no = condition.run, chosen.run, other.run
        return Typed(bound["A"], lambda variables: (yes if _truth(test(variables)) else no)(variables))


def _static_name(expr: Call, scope: Mapping[str, Type]) -> str | None:
    """`sets.contains`, if that is what a call on a name means."""
    if isinstance(expr.target, Ident) and expr.target.name not in scope:
        name = f"{expr.target.name}.{expr.name}"
        return name if name in FUNCTIONS else None
    return None


def _shown(args: list[Typed], member: bool) -> str:
    names = [str(arg.type) for arg in args]
    return f"{names[0]}.({', '.join(names[1:])})" if member else f"({', '.join(names)})"


def _element(type_: Type, key: Type) -> Type | None:
    """Type of `x[key]`; None if there is no such thing."""
    if type_ is types.DYN:
        return types.DYN
    if type_.name == "list" and unify(types.INT, key, {}):
        return type_.params[0]
    if type_.name == "map" and unify(type_.params[0], key, {}):
        return type_.params[1]
    return None


def _truth(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise CelError(NO_OVERLOAD)


def _logical(left: Run, right: Run, decisive: bool) -> Run:
    """`&&` and `||`: one side that decides makes an error on the other irrelevant, whichever it is."""

    def run(variables: Variables) -> bool:
        try:
            if _truth(left(variables)) is decisive:
                return decisive
        except CelError as error:
            try:
                if _truth(right(variables)) is decisive:
                    return decisive
            except CelError:
                raise error from None
            raise
        return _truth(right(variables))

    return run


def _applied(function: Callable[..., Any], runs: list[Run]) -> Run:
    if len(runs) == 1:
        (only,) = runs
        return lambda variables: function(only(variables))
    if len(runs) == 2:
        left, right = runs
        return lambda variables: function(left(variables), right(variables))
    return lambda variables: function(*(run(variables) for run in runs))


def _dispatched(overloads: list[Overload], runs: list[Run]) -> Run:
    """Picks the overload when the values are there, because a type was not known before."""

    def run(variables: Variables) -> Any:
        values = [run(variables) for run in runs]
        for overload in overloads:
            if all(fits(wanted, value) for wanted, value in zip(overload.params, values, strict=True)):
                return overload.run(*values)
        raise CelError(NO_OVERLOAD)

    return run


def _get(value: Any, key: Any) -> Any:
    found = _look(value, key)
    if found.present:
        return found.value
    raise CelError(f"no such key: {key}" if isinstance(value, dict) else f"index out of bounds: {key}")


def _look(value: Any, key: Any) -> Optional:
    """Like `_get`, but what is not there is no error. A null counts as not there."""
    if isinstance(value, Optional):
        if not value.present:
            return NONE
        value = value.value
    if isinstance(value, dict):
        found = value.get(key)
        return NONE if found is None else Optional(True, found)
    if isinstance(value, list) and isinstance(key, int):
        return Optional(True, value[key]) if 0 <= key < len(value) else NONE
    raise CelError(NO_OVERLOAD)


def _has(value: Any, key: str) -> bool:
    return _look(value, key).present
