# SPDX-License-Identifier: Apache-2.0
"""The closures that a compiled expression consists of. Each charges its work to the evaluation's meter.

The charge precedes the work, so that work beyond the budget is not begun. Hot closures subtract from the meter inline,
because a call would take longer than their work.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from springtide.local.schema.cel.charges import ROOM, charge
from springtide.local.schema.cel.cost import (
    ANY_SIZE,
    LIST_COST,
    METER,
    ONE,
    CostExceeded,
    Entry,
    Estimate,
    Size,
    capped,
)
from springtide.local.schema.cel.registry import Overload, fits
from springtide.local.schema.cel.types import Run, Type, Typed, Variables
from springtide.local.schema.cel.values import NO_OVERLOAD, NONE, CelError, Optional, token


def constant(type_: Type, value: Any, estimate: Estimate) -> Typed:
    return Typed(type_, lambda variables: value, estimate, constant=True)


def attribute(type_: Type, bare: Run, estimate: Estimate) -> Typed:
    """A variable, or the end of a chain of fields and indexes: one unit in addition to the charges of `bare`."""

    def run(variables: Variables) -> Any:
        meter = variables[METER]
        meter.left -= 1
        if meter.left < 0:
            raise CostExceeded
        return bare(variables)

    return Typed(type_, run, estimate, bare)


def qualified(type_: Type, operand: Typed, look: Run, estimate: Estimate) -> Typed:
    """A field or item of an operand. Branches of `?:` and `has()` do not add a unit of their own."""
    if operand.bare is operand.run:
        return Typed(type_, look, estimate, look)
    return attribute(type_, look, estimate)


def field_look(run: Run, key: str, optional: bool) -> Run:
    def look(variables: Variables) -> Any:
        value = run(variables)
        meter = variables[METER]
        meter.left -= 1
        if meter.left < 0:
            raise CostExceeded
        if type(value) is dict and (found := value.get(key)) is not None:
            return found
        return get(value, key)

    return _optional_look(run, lambda variables: key) if optional else look


def item_look(run: Run, key: Run, optional: bool) -> Run:
    def look(variables: Variables) -> Any:
        value, wanted = run(variables), key(variables)
        meter = variables[METER]
        meter.left -= 1
        if meter.left < 0:
            raise CostExceeded
        return get(value, wanted)

    return _optional_look(run, key) if optional else look


def _optional_look(run: Run, key: Run) -> Run:
    """Look up an optional item; a missing one costs nothing."""

    def find(variables: Variables) -> Optional:
        found = look_up(run(variables), key(variables))
        if found.present:
            variables[METER].charge(1)
        return found

    return find


def get(value: Any, key: Any) -> Any:
    found = look_up(value, key)
    if found.present:
        return found.value
    raise CelError(f"no such key: {key}" if isinstance(value, dict) else f"index out of bounds: {key}")


def look_up(value: Any, key: Any) -> Optional:
    """Like `get`, but a missing value is no error. A null counts as missing."""
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


def truth(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise CelError(NO_OVERLOAD)


def logical(left: Run, right: Run, decisive: bool) -> Run:
    """`&&` and `||`: when one side decides the result, an error on the other is ignored, in either order."""

    def run(variables: Variables) -> bool:
        try:
            if truth(left(variables)) is decisive:
                return decisive
        except CelError as error:
            try:
                if truth(right(variables)) is decisive:
                    return decisive
            except CelError:
                raise error from None
            raise
        return truth(right(variables))

    return run


def choice(type_: Type, condition: Typed, chosen: Typed, other: Typed) -> Typed:
    """`?:`"""
    test, yes, no = condition.run, chosen.resolve, other.resolve

    def run(variables: Variables) -> Any:
        return (yes if truth(test(variables)) else no)(variables)

    size = (chosen.estimate.size or ANY_SIZE) | (other.estimate.size or ANY_SIZE)
    entries = chosen.estimate.entry, other.estimate.entry
    entry = entries[0] | entries[1] if entries[0] is not None and entries[1] is not None else None
    cost = capped(condition.estimate.cost + max(chosen.estimate.cost, other.estimate.cost))
    return Typed(type_, run, Estimate(cost, size, entry), run)


def widest(items: list[Typed]) -> Size:
    """The size range that covers all items."""
    sizes = [item.estimate.size or ANY_SIZE for item in items]
    return Size(min(size.least for size in sizes), max(size.most for size in sizes)) if sizes else Size(0, 0)


def list_estimate(items: list[Typed]) -> Estimate:
    cost = capped(sum(item.estimate.cost for item in items) + LIST_COST)
    return Estimate(cost, Size(len(items), len(items)), Entry(True, ONE, widest(items)))


def dispatch(overloads: list[Overload], values: tuple[Any, ...]) -> Callable[..., Any]:
    """The overload for values whose types were unknown at compile time."""
    for overload in overloads:
        if all(fits(wanted, value) for wanted, value in zip(overload.params, values, strict=True)):
            return overload.run
    raise CelError(NO_OVERLOAD)


def call(name: str, overloads: list[Overload], args: list[Typed], certain: bool) -> Run:
    """A function call; `certain` when the types alone determine the overload."""
    runs = [arg.run for arg in args]
    if name in ("or", "orValue"):
        return _otherwise(runs[0], runs[1], name == "orValue")
    if name == "@in" and args[1].constant and overloads[0].params[1].name == "list":
        return _member_of(runs[0], args[1].run({}))
    price, room = charge(name, overloads), ROOM.get(name)
    if certain and price is None and room is None:
        return _plain_call(overloads[0].run, runs)

    def run(variables: Variables) -> Any:
        values = tuple([run(variables) for run in runs])
        function = overloads[0].run if certain else dispatch(overloads, values)
        meter = variables[METER]
        meter.charge(1 if price is None else price(*values))
        if room is not None:
            meter.reserve(room(*values))
        return function(*values)

    return run


def _plain_call(function: Callable[..., Any], runs: list[Run]) -> Run:
    """The common case: one or two arguments, one unit."""
    if len(runs) == 1:
        (only,) = runs

        def unary(variables: Variables) -> Any:
            value = only(variables)
            meter = variables[METER]
            meter.left -= 1
            if meter.left < 0:
                raise CostExceeded
            return function(value)

        return unary
    if len(runs) == 2:
        left, right = runs

        def binary(variables: Variables) -> Any:
            first, second = left(variables), right(variables)
            meter = variables[METER]
            meter.left -= 1
            if meter.left < 0:
                raise CostExceeded
            return function(first, second)

        return binary

    def run(variables: Variables) -> Any:
        values = [run(variables) for run in runs]
        variables[METER].charge(1)
        return function(*values)

    return run


def _otherwise(optional: Run, other: Run, unwrap: bool) -> Run:
    """`or` and `orValue` evaluate the other side only when there is no value, and cost nothing."""

    def run(variables: Variables) -> Any:
        found = optional(variables)
        if not isinstance(found, Optional):
            raise CelError(NO_OVERLOAD)
        if not found.present:
            return other(variables)
        return found.value if unwrap else found

    return run


def _member_of(item: Run, values: list[Any]) -> Run:
    """A look-up in a list literal, which is free in cel-go."""
    known: set[Hashable] = {token(value) for value in values}
    return lambda variables: token(item(variables)) in known
