# SPDX-License-Identifier: Apache-2.0
"""CEL's macros: `has`, and those that run an expression over the items of a list or the keys of a map.

Each takes the compiler and the call, declares its variables for the inner expressions and returns a typed closure; it
returns None when the call only looks like the macro.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from springtide.local.schema.cel import types
from springtide.local.schema.cel.syntax import Call, Expr, Ident, Select
from springtide.local.schema.cel.types import Run, Type, Typed, Variables, unify
from springtide.local.schema.cel.values import NO_OVERLOAD, NONE, CelError, Optional

if TYPE_CHECKING:
    from springtide.local.schema.cel.compiler import Compiler

Macro = Callable[["Compiler", Call], Typed | None]


class _Loop(NamedTuple):
    """A range, the variables that run over it, and the compiled inner expressions."""

    range: Run
    names: tuple[str, ...]
    inner: tuple[Typed, ...]
    element: Type

    def turns(self, variables: Variables) -> Iterator[Variables]:
        """The variables for each turn; one dictionary, changed in place."""
        values = self.range(variables)
        scope = dict(variables)
        for turn in _turns(values, len(self.names)):
            scope.update(zip(self.names, turn, strict=True))
            yield scope


def _turns(values: Any, names: int) -> Iterator[tuple[Any, ...]]:
    if isinstance(values, dict):
        yield from values.items() if names == 2 else ((key,) for key in values)
    elif isinstance(values, list):
        yield from enumerate(values) if names == 2 else ((value,) for value in values)
    else:
        raise CelError(NO_OVERLOAD)


def _loop(compiler: Compiler, call: Call, names: int) -> _Loop | None:
    """The call taken apart; the last arguments are the inner expressions."""
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
    inner = _scoped(compiler, dict(zip(named, kinds, strict=True)), call.args[names:])
    return _Loop(target.run, named, inner, target.type)


def _variable_types(type_: Type, names: int) -> tuple[Type, ...] | None:
    if type_ is types.DYN:
        return (types.DYN,) * names
    if type_.name == "list":
        return (types.INT, type_.params[0]) if names == 2 else type_.params
    if type_.name == "map":
        return type_.params if names == 2 else type_.params[:1]
    return None


def _scoped(compiler: Compiler, names: dict[str, Type], expressions: tuple[Expr, ...]) -> tuple[Typed, ...]:
    outer, compiler.scope = compiler.scope, {**compiler.scope, **names}
    try:
        return tuple(compiler.typed(expression) for expression in expressions)
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
    """`all` and `exists`: one deciding item makes errors of the others irrelevant."""

    def macro(compiler: Compiler, call: Call) -> Typed | None:
        loop = _loop(compiler, call, names)
        if loop is None:
            return None
        _is_bool(compiler, loop.inner[0], call.args[-1])
        test = loop.inner[0].run

        def run(variables: Variables) -> bool:
            failure: CelError | None = None
            for turn in loop.turns(variables):
                try:
                    if test(turn) is decisive:
                        return bool(decisive)
                except CelError as error:
                    failure = failure or error
            if failure is not None:
                raise failure
            return not decisive

        return Typed(types.BOOL, run)

    return macro


def _exists_one(names: int) -> Macro:
    def macro(compiler: Compiler, call: Call) -> Typed | None:
        loop = _loop(compiler, call, names)
        if loop is None:
            return None
        _is_bool(compiler, loop.inner[0], call.args[-1])
        test = loop.inner[0].run
        return Typed(types.BOOL, lambda variables: [test(turn) for turn in loop.turns(variables)].count(True) == 1)

    return macro


def _filter(compiler: Compiler, call: Call) -> Typed | None:
    loop = _loop(compiler, call, 1)
    if loop is None:
        return None
    _is_bool(compiler, loop.inner[0], call.args[-1])
    (name,), test = loop.names, loop.inner[0].run
    element = _variable_types(loop.element, 1) or (types.DYN,)

    def run(variables: Variables) -> list[Any]:
        return [turn[name] for turn in loop.turns(variables) if test(turn) is True]

    return Typed(types.list_of(element[0]), run)


def _map(names: int, filtered: bool) -> Macro:
    """`map` and `transformList`, with or without a condition before the expression."""

    def macro(compiler: Compiler, call: Call) -> Typed | None:
        loop = _loop(compiler, call, names)
        if loop is None:
            return None
        made = loop.inner[-1]
        if not filtered:
            return Typed(types.list_of(made.type), lambda variables: [made.run(turn) for turn in loop.turns(variables)])
        _is_bool(compiler, loop.inner[0], call.args[-2])
        test = loop.inner[0].run
        return Typed(
            types.list_of(made.type),
            lambda variables: [made.run(turn) for turn in loop.turns(variables) if test(turn) is True],
        )

    return macro


def _sort_by(compiler: Compiler, call: Call) -> Typed | None:
    """`x.sortBy(e, key)` is a call with the list and the list of its keys."""
    if call.target is None or not isinstance(call.args[0], Ident):
        return None
    keys = Call(call.at, "map", call.target, call.args)
    return compiler.typed(Call(call.at, "@sortByAssociatedKeys", call.target, (keys,)))


def _transform_map(filtered: bool) -> Macro:
    """`transformMap`: the keys stay, the values are computed."""

    def macro(compiler: Compiler, call: Call) -> Typed | None:
        loop = _loop(compiler, call, 2)
        if loop is None:
            return None
        key, made = loop.names[0], loop.inner[-1]
        test = loop.inner[0].run if filtered else _always
        key_type = (_variable_types(loop.element, 2) or (types.DYN,))[0]

        def run(variables: Variables) -> dict[Any, Any]:
            return {turn[key]: made.run(turn) for turn in loop.turns(variables) if test(turn) is True}

        return Typed(types.map_of(key_type, made.type), run)

    return macro


def _always(variables: Variables) -> bool:
    return True


def _opt_map(flat: bool) -> Macro:
    """`optMap` and `optFlatMap`: the expression is computed if there is a value."""

    def macro(compiler: Compiler, call: Call) -> Typed | None:
        name = call.args[0]
        if call.target is None or not isinstance(name, Ident):
            return None
        target = compiler.typed(call.target)
        inner_type = target.type.params[0] if target.type.name == "optional_type" else types.DYN
        (made,) = _scoped(compiler, {name.name: inner_type}, call.args[1:])

        def run(variables: Variables) -> Optional:
            optional = target.run(variables)
            if not isinstance(optional, Optional):
                raise CelError(NO_OVERLOAD)
            if not optional.present:
                return NONE
            value = made.run({**variables, name.name: optional.value})
            return value if flat else Optional(True, value)

        return Typed(made.type if flat else types.optional_of(made.type), run)

    return macro


MACROS: dict[tuple[str, bool, int], Macro] = {
    ("has", False, 1): _has,
    ("all", True, 2): _quantifier(1, decisive=False),
    ("all", True, 3): _quantifier(2, decisive=False),
    ("exists", True, 2): _quantifier(1, decisive=True),
    ("exists", True, 3): _quantifier(2, decisive=True),
    ("exists_one", True, 2): _exists_one(1),
    ("existsOne", True, 2): _exists_one(1),
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
"""By name, whether it is called on something, and the number of arguments."""
