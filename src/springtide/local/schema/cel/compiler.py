# SPDX-License-Identifier: Apache-2.0
"""Compiler from CEL tree to a function, with type checks.

One walk does both: each node yields its type and a closure from variables to value. Type errors are recorded with their
positions, as in cel-go, and the walk continues, so that a rule's author sees all errors at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from springtide.local.schema.cel import collections, kubernetes, library, steps, strings, types
from springtide.local.schema.cel.bounds import Bounds
from springtide.local.schema.cel.cost import (
    LIST_COST,
    MAP_COST,
    METER,
    ONE,
    CostExceeded,
    Entry,
    Estimate,
    Size,
    capped,
)
from springtide.local.schema.cel.estimates import Argument, call_estimate
from springtide.local.schema.cel.macros import MACROS
from springtide.local.schema.cel.registry import FUNCTIONS, Overload
from springtide.local.schema.cel.syntax import (
    NOWHERE,
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
from springtide.local.schema.cel.types import Local, Run, Type, Typed, Variables, optional_of, resolved, unify
from springtide.local.schema.cel.values import CelError, TypeName, UInt, parse_duration, parse_timestamp
from springtide.local.schema.regex import GoRegexError, TooManyStepsError, compile_go

LIBRARIES: Final = (library, strings, collections, kubernetes)
"""Imported for the functions they declare."""

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
    """The expression is invalid CEL or has a type error; the text is kube-apiserver's message."""


class Program(NamedTuple):
    type: Type
    run: Run
    """From the variables, including the meter (`METER`), to the value. Raises `CelError`, or `CostExceeded` when the
    meter is used up; the thread's `RUNNING` meter must be the same."""
    names: frozenset[str]
    """Variables used by the expression."""
    cost: int
    """Maximum units of an evaluation, as far as the schema limits them."""


def compile_expression(text: str, variables: Mapping[str, Type], bounds: Bounds) -> Program:
    compiler = Compiler(variables, bounds)
    try:
        typed = compiler.typed(parse(text))
    except CelSyntaxError as error:
        raise CelCompileError(f"compilation failed: {report(text, [error.issue])}") from None
    except RecursionError:
        detail = report(text, [(NOWHERE, "max recursion depth exceeded")])
        raise CelCompileError(f"compilation failed: {detail}") from None
    if compiler.issues:
        raise CelCompileError(f"compilation failed: {report(text, compiler.issues)}")
    if compiler.failure:
        raise CelCompileError(f"program instantiation failed: {compiler.failure}")
    return Program(typed.type, typed.run, frozenset(compiler.used), typed.estimate.cost)


def _broken(variables: Variables) -> Any:
    raise CelError("the expression did not compile")


BROKEN: Final = Typed(types.DYN, _broken)
"""Placeholder for an expression with a type error, which is reported."""

_CONVERSIONS: Final = frozenset(
    {"bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"}
)
"""Functions that are evaluated at compile time when their argument is a constant."""


class Compiler:
    """State of one walk; also passed to macros."""

    def __init__(self, variables: Mapping[str, Type], bounds: Bounds) -> None:
        self.scope: dict[str, Local] = {name: Local(type_, (name,)) for name, type_ in variables.items()}
        self.bounds = bounds
        self.issues: list[Issue] = []
        self.failure = ""
        """The reason why a constant part cannot be computed."""
        self.used: set[str] = set()
        self.mixes = False
        """Whether list and map literals may have elements of different types here."""

    def complain(self, at: int, message: str) -> Typed:
        self.issues.append((at, message))
        return BROKEN

    def sized(self, type_: Type, path: tuple[str, ...], known: Size | None = None) -> Size | None:
        """The size of a value: the schema's bounds have priority, even if they are those of another position."""
        found = self.bounds.size(path)
        if found is None and types.is_scalar(type_):
            found = ONE
        return known if found is None else found

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
        length = len(value) if isinstance(value, str | bytes) else 1
        return steps.constant(types.NAMED[expr.type], value, Estimate(0, Size(length, length)))

    def _ident(self, expr: Ident) -> Typed:
        name = expr.name
        local = self.scope.get(name)
        if local is not None:
            self.used.add(name)
            estimate = Estimate(1, self.sized(local.type, local.path, local.size), local.entry, local.path)
            return steps.attribute(local.type, lambda variables: variables[name], estimate)
        if name in _TYPE_NAMES:
            known = Estimate(1, self.sized(types.TYPE, (name,)), path=(name,))
            return steps.constant(types.TYPE, TypeName(_TYPE_NAMES[name]), known)
        return self.complain(expr.at, f"undeclared reference to '{name}' (in container '')")

    # --- fields and items

    def field(self, operand: Typed, name: str, at: int) -> tuple[Type, str] | None:
        """Type of a field and its name in JSON; records an error if the type has no such field."""
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
        inside = operand._replace(type=operand.type.params[0]) if through else operand
        found = self.field(inside, expr.field, expr.at)
        if found is None:
            return BROKEN
        type_, key = found
        if through or expr.optional:
            type_ = optional_of(type_)
        if expr.optional:
            estimate = Estimate(capped(operand.estimate.cost + 1), self.sized(type_, ()))
        else:
            path = (*operand.estimate.path, expr.field)
            unit = operand.type.name in ("map", "object")
            estimate = Estimate(capped(operand.estimate.cost + unit), self.sized(type_, path), path=path)
        return steps.qualified(
            type_, operand, steps.field_look(operand.resolve, key, through or expr.optional), estimate
        )

    def has(self, expr: Select, at: int) -> Typed:
        """Compile `has()`: the test whether a field is present."""
        operand = self.typed(expr.operand)
        found = None if operand is BROKEN else self.field(operand, expr.field, at)
        if found is None:
            return BROKEN
        key, run = found[1], operand.resolve

        def test(variables: Variables) -> bool:
            value = run(variables)
            meter = variables[METER]
            meter.left -= 1
            if meter.left < 0:
                raise CostExceeded
            return steps.look_up(value, key).present

        return Typed(types.BOOL, test, Estimate(operand.estimate.cost, ONE), bare=test)

    def _index(self, expr: Index) -> Typed:
        operand, key = self.typed(expr.operand), self.typed(expr.key)
        through = operand.type.name == "optional_type"
        type_ = operand.type.params[0] if through else operand.type
        element = _element(type_, key.type)
        if element is None:
            name = "_[?_]" if expr.optional else "_[_]"
            return self.complain(expr.at, f"found no matching overload for '{name}' applied to '({type_}, {key.type})'")
        cost = capped(operand.estimate.cost + key.estimate.cost + 1)
        if through or expr.optional:
            element = optional_of(element)
            estimate = Estimate(cost, self.sized(element, ()))
        else:
            path = (*operand.estimate.path, "@items" if type_.name == "list" else "@values")
            entry = operand.estimate.entry
            estimate = Estimate(cost, entry.value if entry is not None else self.sized(element, path), path=path)
        look = steps.item_look(operand.resolve, key.resolve, through or expr.optional)
        return steps.qualified(element, operand, look, estimate)

    # --- lists and maps

    def _list(self, expr: ListOf) -> Typed:
        items = [self.typed(item) for item in expr.items]
        element = self._common([(item, one.at) for item, one in zip(items, expr.items, strict=True)])
        runs = [item.run for item in items]
        estimate = steps.list_estimate(items)
        if all(item.constant for item in items):
            return steps.constant(types.list_of(element), [run({}) for run in runs], estimate)

        def build(variables: Variables) -> list[Any]:
            values = [run(variables) for run in runs]
            variables[METER].charge(LIST_COST)
            return values

        return Typed(types.list_of(element), build, estimate)

    def _map(self, expr: MapOf) -> Typed:
        keys = [(self.typed(key), key.at) for key, _ in expr.entries]
        values = [(self.typed(value), value.at) for _, value in expr.entries]
        pairs = [(key.run, value.run) for (key, _), (value, _) in zip(keys, values, strict=True)]
        key_type = self._common(keys)
        # A compound key type would double with every level of nesting.
        type_ = types.map_of(types.DYN if key_type.params else key_type, self._common(values))
        parts = [typed for typed, _ in keys + values]
        cost = capped(sum(part.estimate.cost for part in parts) + MAP_COST)
        entry = Entry(False, steps.widest([key for key, _ in keys]), steps.widest([value for value, _ in values]))
        estimate = Estimate(cost, Size(len(pairs), len(pairs)), entry)
        if all(part.constant for part in parts) and not key_type.params:
            return steps.constant(type_, {key({}): value({}) for key, value in pairs}, estimate)

        def build(variables: Variables) -> dict[Any, Any]:
            made = {key(variables): value(variables) for key, value in pairs}
            variables[METER].charge(MAP_COST)
            return made

        return Typed(type_, build, estimate)

    def _common(self, items: list[tuple[Typed, int]]) -> Type:
        """The common type of a literal's elements: in Kubernetes they may be mixed only for `format`."""
        known = [(item.type, at) for item, at in items if item is not BROKEN]
        if not known:
            return types.DYN
        first = known[0][0]
        others = [(other, at) for other, at in known[1:] if not _alike(first, other)]
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
            return self.apply(expr, static, [Argument(self.typed(arg), arg) for arg in expr.args], member=False)
        target = [] if expr.target is None else [Argument(self.typed(expr.target), expr.target)]
        mixed, self.mixes = self.mixes, self.mixes or (expr.name == "format" and bool(target))
        args = [*target, *(Argument(self.typed(arg), arg) for arg in expr.args)]
        self.mixes = mixed
        return self.apply(expr, expr.name, args, member=bool(target))

    def apply(self, expr: Call, name: str, args: list[Argument], member: bool) -> Typed:
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
            if any(arg.typed is BROKEN for arg in args):
                return BROKEN
            shown = _shown([arg.typed for arg in args], member)
            return self.complain(expr.at, f"found no matching overload for '{name}' applied to '{shown}'")
        self._check_literal(expr, name)
        overloads = [overload for overload, _ in matching]
        results = {str(result) for _, result in matching}
        type_ = matching[0][1] if len(results) == 1 else types.DYN
        estimate = self._call_estimate(name, overloads, args, type_)
        if name in _CONVERSIONS and len(args) == 1 and args[0].typed.constant:
            return self._converted(type_, overloads, args[0].typed, estimate)
        certain = len(matching) == 1 and all(arg.type is not types.DYN for arg in args)
        return Typed(type_, steps.call(name, overloads, [arg.typed for arg in args], certain), estimate)

    def _call_estimate(self, name: str, overloads: list[Overload], args: list[Argument], type_: Type) -> Estimate:
        cost = sum(arg.typed.estimate.cost for arg in args)
        if name == "dyn":
            inner = args[0].typed.estimate
            return Estimate(capped(cost + 1), inner.size, inner.entry)
        found = call_estimate(name, overloads, args, self.bounds)
        return Estimate(capped(cost + found.cost), found.size or self.sized(type_, ()), found.entry)

    def _converted(self, type_: Type, overloads: list[Overload], argument: Typed, estimate: Estimate) -> Typed:
        try:
            return steps.constant(type_, steps.dispatch(overloads, (argument.run({}),))(argument.run({})), estimate)
        except CelError as error:
            self.failure = self.failure or str(error)
            return Typed(type_, _broken, estimate)

    def _check_literal(self, expr: Call, name: str) -> None:
        """Check a pattern, time or duration in a literal at compile time."""
        literal = expr.args[-1] if expr.args else None
        parser = _LITERAL_PARSERS.get(name)
        if parser is None or not isinstance(literal, Literal) or not isinstance(literal.value, str):
            return
        try:
            parser(literal.value)
        except (CelError, GoRegexError, TooManyStepsError):
            self.complain(literal.at, f"invalid {name} argument")

    def _logic(self, expr: Call) -> Typed:
        sides = [self.typed(arg) for arg in expr.args]
        for side, arg in zip(sides, expr.args, strict=True):
            if not unify(types.BOOL, side.type, {}):
                self.complain(arg.at, f"expected type 'bool' but found '{side.type}'")
        left, right = sides[0].run, sides[1].run
        cost = capped(sum(side.estimate.cost for side in sides))
        return Typed(types.BOOL, steps.logical(left, right, decisive=expr.name == "_||_"), Estimate(cost, ONE))

    def _choice(self, expr: Call) -> Typed:
        condition, chosen, other = (self.typed(arg) for arg in expr.args)
        bound: dict[str, Type] = {}
        a = Type("A")
        if not (unify(types.BOOL, condition.type, {}) and unify(a, chosen.type, bound) and unify(a, other.type, bound)):
            shown = _shown([condition, chosen, other], member=False)
            return self.complain(expr.at, f"found no matching overload for '_?_:_' applied to '{shown}'")
        return steps.choice(bound["A"], condition, chosen, other)


def _static_name(expr: Call, scope: Mapping[str, Local]) -> str | None:
    """The name of a static function such as `sets.contains`, if the call is one."""
    if isinstance(expr.target, Ident) and expr.target.name not in scope:
        name = f"{expr.target.name}.{expr.name}"
        return name if name in FUNCTIONS else None
    return None


def _alike(first: Type, other: Type) -> bool:
    return (first is types.DYN) == (other is types.DYN) and unify(first, other, {})


def _shown(args: list[Typed], member: bool) -> str:
    names = [str(arg.type) for arg in args]
    return f"{names[0]}.({', '.join(names[1:])})" if member else f"({', '.join(names)})"


def _element(type_: Type, key: Type) -> Type | None:
    """Type of `x[key]`; None if the type cannot be indexed so."""
    if type_ is types.DYN:
        return types.DYN
    if type_.name == "list" and unify(types.INT, key, {}):
        return type_.params[0]
    if type_.name == "map" and unify(type_.params[0], key, {}):
        return type_.params[1]
    return None
