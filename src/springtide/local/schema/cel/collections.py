# SPDX-License-Identifier: Apache-2.0
"""CEL's functions on lists and optional values, with the list and set extensions kube-apiserver enables."""

from __future__ import annotations

import itertools
from datetime import timedelta
from typing import Any

from springtide.local.schema.cel.cost import COMPARISON, RUNNING
from springtide.local.schema.cel.library import NUMBERS, ORDERED, contains
from springtide.local.schema.cel.registry import function
from springtide.local.schema.cel.values import NONE, CelError, Optional, UInt, equal

_SUMMABLE = {"int": 0, "uint": UInt(0), "double": 0.0, "duration": timedelta(0)}


def _declare_lists() -> None:
    for name, zero in _SUMMABLE.items():
        function(f"list({name}).sum() {name}")(lambda values, zero=zero: sum(values, zero))
    for name in (*NUMBERS, *ORDERED):
        function(f"list({name}).isSorted() bool")(_is_sorted)
        function(f"list({name}).sort() list({name})")(sorted)
        function(f"list(A).@sortByAssociatedKeys(list({name})) list(A)")(_sorted_by)
        function(f"list({name}).min() {name}")(lambda values: min(_some(values, "min")))
        function(f"list({name}).max() {name}")(lambda values: max(_some(values, "max")))


def _is_sorted(values: list[Any]) -> bool:
    return all(left <= right for left, right in itertools.pairwise(values))


def _sorted_by(values: list[Any], keys: list[Any]) -> list[Any]:
    return [values[at] for at in sorted(range(len(values)), key=keys.__getitem__)]


def _some(values: list[Any], name: str) -> list[Any]:
    if not values:
        raise CelError(f"{name} called on empty list")
    return values


_declare_lists()


@function("list(A).indexOf(A) int")
def _list_index(values: list[Any], item: Any) -> int:
    return next((at for at, value in enumerate(values) if equal(value, item)), -1)


@function("list(A).lastIndexOf(A) int")
def _list_last_index(values: list[Any], item: Any) -> int:
    return next((at for at in range(len(values) - 1, -1, -1) if equal(values[at], item)), -1)


@function("list(A).slice(int, int) list(A)")
def _slice(values: list[Any], start: int, end: int) -> list[Any]:
    if not 0 <= start <= end <= len(values):
        raise CelError(f"cannot slice({start}, {end}), list is length {len(values)}")
    return values[start:end]


@function("list(A).reverse() list(A)")
def _reverse(values: list[Any]) -> list[Any]:
    return values[::-1]


@function("list(A).distinct() list(A)")
def _distinct(values: list[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if not contains(found, value):
            found.append(value)
    return found


@function("list(list(A)).flatten() list(A)", "list(dyn).flatten(int) list(dyn)")
def _flatten(values: list[Any], depth: int = 1) -> list[Any]:
    found: list[Any] = []
    RUNNING.meter.reserve(COMPARISON * len(values))
    for value in values:
        if isinstance(value, list) and depth > 0:
            found += _flatten(value, depth - 1)
        else:
            found.append(value)
    return found


@function("static lists.range(int) list(int)")
def _range(end: int) -> list[int]:
    return list(range(end))


@function("list(A).first() optional_type(A)")
def _first(values: list[Any]) -> Optional:
    return Optional(True, values[0]) if values else NONE


@function("list(A).last() optional_type(A)")
def _last(values: list[Any]) -> Optional:
    return Optional(True, values[-1]) if values else NONE


@function("static sets.contains(list(A), list(A)) bool")
def _superset(values: list[Any], others: list[Any]) -> bool:
    return all(contains(values, other) for other in others)


@function("static sets.equivalent(list(A), list(A)) bool")
def _equivalent(values: list[Any], others: list[Any]) -> bool:
    return _superset(values, others) and _superset(others, values)


@function("static sets.intersects(list(A), list(A)) bool")
def _intersects(values: list[Any], others: list[Any]) -> bool:
    return any(contains(values, other) for other in others)


@function("static optional.none() optional_type(A)")
def _none() -> Optional:
    return NONE


@function("static optional.of(A) optional_type(A)")
def _of(value: Any) -> Optional:
    return Optional(True, value)


@function("static optional.ofNonZeroValue(A) optional_type(A)")
def _of_non_zero(value: Any) -> Optional:
    return Optional(True, value) if value else NONE


@function("optional_type(A).hasValue() bool")
def _has_value(optional: Optional) -> bool:
    return optional.present


@function("optional_type(A).value() A")
def _value(optional: Optional) -> Any:
    if not optional.present:
        raise CelError("optional.none() dereference")
    return optional.value


@function("optional_type(A).orValue(A) A")
def _or_value(optional: Optional, other: Any) -> Any:
    return optional.value if optional.present else other


@function("optional_type(A).or(optional_type(A)) optional_type(A)")
def _or(optional: Optional, other: Optional) -> Optional:
    return optional if optional.present else other
