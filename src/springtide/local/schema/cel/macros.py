# SPDX-License-Identifier: Apache-2.0
"""CEL's macros: `has`, and those that evaluate an expression for the items of a list or the keys of a map.

Each takes the compiler and the call, declares its variables for the inner expressions and returns a typed closure; it
returns None when the call only looks like the macro.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from springtide.local.schema.cel import types
from springtide.local.schema.cel.cost import (
    ANY_SIZE,
    LIST_COST,
    MAP_COST,
    METER,
    ONE,
    TURN,
    CostExceeded,
    Entry,
    Estimate,
    Meter,
    Size,
    capped,
)
from springtide.local.schema.cel.estimates import Argument
from springtide.local.schema.cel.syntax import Call, Expr, Ident, Select
from springtide.local.schema.cel.types import Local, Run, Type, Typed, Variables, unify
from springtide.local.schema.cel.values import NO_OVERLOAD, NONE, CelError, Optional

if TYPE_CHECKING:
    from springtide.local.schema.cel.compiler import Compiler

Macro = Callable[["Compiler", Call], Typed | None]

# cel-go turns a macro into a loop with an accumulator; these are the units of the loop's own steps.
_APPEND = 12  # reads the accumulator, makes a list of the one item and joins the two
_APPEND_CONSTANT = 2  # the list of one is a constant
_INSERT = 3  # reads the accumulator and the key, inserts


class _Loop(NamedTuple):
    """A range, its loop variables, and the compiled inner expressions."""

    range: Typed
    names: tuple[str, ...]
    inner: tuple[Typed, ...]

    def turns(self, variables: Variables) -> Iterator[Variables]:
        """The variables for each iteration; one dictionary, changed in place."""
        values = self.range.run(variables)
        if not isinstance(values, dict | list):
            raise CelError(NO_OVERLOAD)
        scope, meter = dict(variables), variables[METER]
        first, second = self.names[0], self.names[-1]
        if first == second:
            turns: Iterable[Any] = zip(values, values, strict=True)
        else:
            turns = values.items() if isinstance(values, dict) else enumerate(values)
        for scope[first], scope[second] in turns:
            meter.room -= TURN
            if meter.room < 0:
                raise CostExceeded
            yield scope

    def estimate(self, turn: int, around: int, entry: Entry | None = None) -> Estimate:
        """The estimate of a loop with `turn` units per iteration and `around` units in total before and after. Without
        an entry the result is a number or bool."""
        length = self.range.estimate.size or ANY_SIZE
        cost = capped(self.range.estimate.cost + around + length.most * turn)
        return Estimate(cost, length if entry is not None else ONE, entry)


def _loop(compiler: Compiler, call: Call, names: int) -> _Loop | None:
    """The parts of the call; the last arguments are the inner expressions."""
    variables = call.args[:names]
    if call.target is None or not all(isinstance(one, Ident) for one in variables):
        return None
    named = tuple(one.name for one in variables if isinstance(one, Ident))
    target = compiler.typed(call.target)
    kinds = _variable_types(target.type, names)
    if kinds is None:
        compiler.complain(
            call.target.at,
            f"expression of type '{target.type}' cannot be range of a comprehension (must be list, map, or dynamic)",
        )
        kinds = (types.DYN,) * names
    locals_ = dict(zip(named, _locals(target, kinds), strict=True))
    inner = _scoped(compiler, locals_, call.args[names:])
    return _Loop(target, named, inner)


def _variable_types(type_: Type, names: int) -> tuple[Type, ...] | None:
    if type_ is types.DYN:
        return (types.DYN,) * names
    if type_.name == "list":
        return (types.INT, type_.params[0]) if names == 2 else type_.params
    if type_.name == "map":
        return type_.params if names == 2 else type_.params[:1]
    return None


def _locals(target: Typed, kinds: tuple[Type, ...]) -> list[Local]:
    """The loop's variables with their schema paths and sizes."""
    path, entry = target.estimate.path, target.estimate.entry
    is_list = entry.is_list if entry is not None else target.type.name == "list"
    key = Local(kinds[0], (*path, "@indices" if is_list else "@keys"), entry and entry.key)
    value = Local(kinds[-1], (*path, "@items" if is_list else "@values"), entry and entry.value)
    if len(kinds) == 2:
        return [key, value]
    return [value if is_list else key]


def _scoped(compiler: Compiler, names: dict[str, Local], expressions: tuple[Expr, ...]) -> tuple[Typed, ...]:
    outer, compiler.scope = compiler.scope, {**compiler.scope, **names}
    try:
        return tuple([compiler.typed(expression) for expression in expressions])
    finally:
        compiler.scope = outer


def _has(compiler: Compiler, call: Call) -> Typed | None:
    (argument,) = call.args
    if not isinstance(argument, Select):
        return compiler.complain(argument.at, "invalid argument to has() macro")
    return compiler.has(argument, call.at)


def _is_bool(compiler: Compiler, typed: Typed, expr: Expr) -> None:
    if not unify(types.BOOL, typed.type, {}):
        compiler.complain(expr.at, f"expected type 'bool' but found '{typed.type}'")


def _quantifier(names: int, decisive: bool) -> Macro:
    """`all` and `exists`: one decisive item makes errors of the others irrelevant."""
    again = 3 if decisive else 2  # units for checking whether the result is decided

    def macro(compiler: Compiler, call: Call) -> Typed | None:
        loop = _loop(compiler, call, names)
        if loop is None:
            return None
        _is_bool(compiler, loop.inner[0], call.args[-1])
        test = loop.inner[0].run

        def run(variables: Variables) -> bool:
            failure: CelError | None = None
            meter: Meter = variables[METER]
            meter.charge(1)
            turns = loop.turns(variables)
            for turn in turns:
                meter.charge(again + 1)
                try:
                    if test(turn) is decisive:
                        meter.charge(again if next(turns, None) is not None else 0)
                        return bool(decisive)
                except CelError as error:
                    failure = failure or error
            if failure is not None:
                raise failure
            return not decisive

        return Typed(types.BOOL, run, loop.estimate(loop.inner[0].estimate.cost + again + 1, 1))

    return macro


def _exists_one(names: int) -> Macro:
    def macro(compiler: Compiler, call: Call) -> Typed | None:
        loop = _loop(compiler, call, names)
        if loop is None:
            return None
        _is_bool(compiler, loop.inner[0], call.args[-1])
        test = loop.inner[0].run

        def run(variables: Variables) -> bool:
            found = 0
            meter: Meter = variables[METER]
            for turn in loop.turns(variables):
                if test(turn) is True:
                    meter.charge(2)
                    found += 1
            meter.charge(2)
            return found == 1

        return Typed(types.BOOL, run, loop.estimate(loop.inner[0].estimate.cost + 2, 2))

    return macro


def _filter(compiler: Compiler, call: Call) -> Typed | None:
    loop = _loop(compiler, call, 1)
    if loop is None:
        return None
    _is_bool(compiler, loop.inner[0], call.args[-1])
    (name,), test = loop.names, loop.inner[0].run
    (item,) = _scoped_item(compiler, loop)

    def run(variables: Variables) -> list[Any]:
        made = []
        meter: Meter = variables[METER]
        for turn in loop.turns(variables):
            if test(turn) is True:
                meter.charge(_APPEND + 1)
                made.append(turn[name])
        meter.charge(1)
        return made

    turn = loop.inner[0].estimate.cost + _APPEND + 1
    return Typed(types.list_of(item.type), run, loop.estimate(turn, LIST_COST + 1, _list_of(item)))


def _scoped_item(compiler: Compiler, loop: _Loop) -> tuple[Typed, ...]:
    """The loop's variable as an expression."""
    kinds = _variable_types(loop.range.type, 1) or (types.DYN,)
    names = dict(zip(loop.names, _locals(loop.range, kinds), strict=True))
    return _scoped(compiler, names, (Ident(0, loop.names[0]),))


def _list_of(item: Typed) -> Entry:
    return Entry(True, ONE, Size(0, (item.estimate.size or ANY_SIZE).most))


def _map(names: int, filtered: bool) -> Macro:
    """`map` and `transformList`, with or without a condition before the expression."""

    def macro(compiler: Compiler, call: Call) -> Typed | None:
        loop = _loop(compiler, call, names)
        if loop is None:
            return None
        made = loop.inner[-1]
        test = _condition(compiler, loop, call) if filtered else _always
        append, compute = _APPEND_CONSTANT if made.constant else _APPEND, made.run

        def run(variables: Variables) -> list[Any]:
            values = []
            meter: Meter = variables[METER]
            for turn in loop.turns(variables):
                if test(turn) is True:
                    meter.charge(append)
                    values.append(compute(turn))
            meter.charge(1)
            return values

        turn = sum(inner.estimate.cost for inner in loop.inner) + _APPEND
        return Typed(types.list_of(made.type), run, loop.estimate(turn, LIST_COST + 1, _list_of(made)))

    return macro


def _condition(compiler: Compiler, loop: _Loop, call: Call) -> Run:
    _is_bool(compiler, loop.inner[0], call.args[-2])
    return loop.inner[0].run


_INPUT = "@sorted"
"""The variable that holds a list while it is sorted; expressions cannot reference it."""


def _sort_by(compiler: Compiler, call: Call) -> Typed | None:
    """`x.sortBy(e, key)`: compiled to a call with the list and the list of its keys."""
    if call.target is None or not isinstance(call.args[0], Ident):
        return None
    target = compiler.typed(call.target)
    known = target.estimate
    listed = Ident(call.target.at, _INPUT)
    outer = compiler.scope
    compiler.scope = {**outer, _INPUT: Local(target.type, known.path, known.size, known.entry)}
    values, keys = compiler.typed(listed), compiler.typed(Call(call.at, "map", listed, call.args))
    compiler.scope = outer
    arguments = [Argument(values, listed), Argument(keys, listed)]
    ordered = compiler.apply(call, "@sortByAssociatedKeys", arguments, member=True)
    cost = capped(known.cost + ordered.estimate.cost + LIST_COST)
    return Typed(
        ordered.type,
        lambda variables: ordered.run({**variables, _INPUT: target.run(variables)}),
        ordered.estimate._replace(cost=cost),
    )


def _transform_map(filtered: bool) -> Macro:
    """`transformMap`: keeps the keys and computes the values."""

    def macro(compiler: Compiler, call: Call) -> Typed | None:
        loop = _loop(compiler, call, 2)
        if loop is None:
            return None
        key, made = loop.names[0], loop.inner[-1]
        test = _condition(compiler, loop, call) if filtered else _always
        key_type = (_variable_types(loop.range.type, 2) or (types.DYN,))[0]

        def run(variables: Variables) -> dict[Any, Any]:
            found = {}
            meter: Meter = variables[METER]
            for turn in loop.turns(variables):
                if test(turn) is True:
                    meter.charge(_INSERT)
                    found[turn[key]] = made.run(turn)
            meter.charge(1)
            return found

        turn = sum(inner.estimate.cost for inner in loop.inner) + _INSERT
        estimate = loop.estimate(turn, MAP_COST + 1, _list_of(made))._replace(entry=None)
        return Typed(types.map_of(key_type, made.type), run, estimate)

    return macro


def _always(variables: Variables) -> bool:
    return True


def _opt_map(flat: bool) -> Macro:
    """`optMap` and `optFlatMap`: evaluate the expression if there is a value.

    cel-go computes the optional twice: once to test for a value and once for the value.
    """

    def macro(compiler: Compiler, call: Call) -> Typed | None:
        name = call.args[0]
        if call.target is None or not isinstance(name, Ident):
            return None
        target = compiler.typed(call.target)
        inner_type = target.type.params[0] if target.type.name == "optional_type" else types.DYN
        local = Local(inner_type, (), compiler.sized(inner_type, ()))
        (made,) = _scoped(compiler, {name.name: local}, call.args[1:])

        def run(variables: Variables) -> Optional:
            meter: Meter = variables[METER]
            before = meter.left
            optional = target.run(variables)
            if not isinstance(optional, Optional):
                raise CelError(NO_OVERLOAD)
            once = before - meter.left
            if not optional.present:
                meter.charge(2)
                return NONE
            meter.charge(once + (2 if flat else 3))
            value = made.run({**variables, name.name: optional.value})
            return value if flat else Optional(True, value)

        type_ = made.type if flat else types.optional_of(made.type)
        cost = 2 * (target.estimate.cost + 1) + LIST_COST + made.estimate.cost + (0 if flat else 1)
        size = (made.estimate.size if flat else compiler.sized(type_, ())) or ANY_SIZE
        return Typed(type_, run, Estimate(capped(cost), size | (compiler.sized(type_, ()) or ANY_SIZE)), run)

    return macro


MACROS: dict[tuple[str, bool, int], Macro] = {
    ("has", False, 1): _has,
    ("all", True, 2): _quantifier(1, decisive=False),
    ("all", True, 3): _quantifier(2, decisive=False),
    ("exists", True, 2): _quantifier(1, decisive=True),
    ("exists", True, 3): _quantifier(2, decisive=True),
    ("exists_one", True, 2): _exists_one(1),
    ("existsOne", True, 3): _exists_one(2),
    ("filter", True, 2): _filter,
    ("map", True, 2): _map(1, filtered=False),
    ("map", True, 3): _map(1, filtered=True),
    ("transformList", True, 3): _map(2, filtered=False),
    ("transformList", True, 4): _map(2, filtered=True),
    ("transformMap", True, 3): _transform_map(filtered=False),
    ("transformMap", True, 4): _transform_map(filtered=True),
    ("sortBy", True, 2): _sort_by,
    ("optMap", True, 2): _opt_map(flat=False),
    ("optFlatMap", True, 2): _opt_map(flat=True),
}
"""By name, whether it is called as a method, and the number of arguments."""
