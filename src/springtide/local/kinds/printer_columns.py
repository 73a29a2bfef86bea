# SPDX-License-Identifier: Apache-2.0
"""The table of a custom resource: its CRD's `additionalPrinterColumns`, compiled when the CRD is established.

The result fits the `columns` and `cells` of a strategy, so tables are made in one way for all kinds. A cell without a
value, or with a value that is not of the column's type, is null, as in kube-apiserver.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from springtide.api.json_paths import Budget, JSONPath, PathError
from springtide.local.kinds.columns import AGE, NAME, name_of, since
from springtide.local.kinds.strategy import Column, Obj

MOST_TEXT: Final = 16 << 10
"""Maximum characters of all paths of a definition; columns beyond it are omitted. Real definitions have hundreds."""
_ROW: Final = 10_000
"""Budget of the cells of one row: values on the paths to them, and blocks of 64 characters in them."""

Cells = Callable[[Obj, str], Sequence[Any]]
_Show = Callable[[Any, str], Any]

_AGE: Obj = {
    "name": "Age",
    "type": "date",
    "description": AGE.description,
    "jsonPath": ".metadata.creationTimestamp",
}
_RFC3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")


def compile_columns(definitions: Sequence[Obj] | None, most_text: int = MOST_TEXT) -> tuple[tuple[Column, ...], Cells]:
    """Columns and cells from one version's `additionalPrinterColumns`; without any, Name and Age.

    Columns from the first one with an invalid path on are omitted: the CRD was accepted, so tables must work.
    """
    columns, readers = [NAME], []
    for definition in definitions or (_AGE,):
        path = definition.get("jsonPath", "")
        most_text -= len(path)
        if most_text < 0:
            break
        try:
            compiled = JSONPath(path)
        except PathError:
            break
        kind = definition.get("type", "")
        readers.append((compiled, _SHOW.get(kind, _nothing)))
        columns.append(
            Column(
                definition.get("name", ""),
                type=kind,
                format=definition.get("format", ""),
                description=definition.get("description")
                or f"Custom resource definition column (in JSONPath format): {path}",
                priority=definition.get("priority", 0),
            )
        )

    def cells(obj: Obj, now: str) -> Sequence[Any]:
        budget = Budget(_ROW)
        return [name_of(obj), *(_cell(path, show, obj, now, budget) for path, show in readers)]

    return tuple(columns), cells


def _cell(path: JSONPath, show: _Show, obj: Obj, now: str, budget: Budget) -> Any:
    try:
        found = path.find(obj, budget)
        if not found or found[0] is None:
            return None
        cell = show(found[0], now)
        if isinstance(cell, str):
            budget.spend(len(cell) // 64)
    except PathError:
        return None
    return cell


def _nothing(value: Any, now: str) -> None:
    return None


def _text(value: Any, now: str) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case float():
            return _float_text(value)
        case dict() | list():
            # Go's encoder sorts the keys of maps.
            return msgspec.json.encode(value, order="sorted").decode()
    return str(value)


def _float_text(value: float) -> str:
    """Shortest digits, exponent form outside 1e-4 … 1e6: Go's `%v`."""
    mantissa, _, exponent = f"{value!r}".partition("e")
    power = int(exponent) if exponent else _power(mantissa)
    if -5 < power < 21 and value.is_integer() and abs(value) < 1e6:
        return str(int(value))
    if -5 < power < 6:
        return mantissa
    digits = mantissa.lstrip("-").replace(".", "").strip("0") or "0"
    sign = "-" if value < 0 else ""
    point = "." if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{point}{digits[1:]}e{'-' if power < 0 else '+'}{abs(power):02d}"


def _power(mantissa: str) -> int:
    """The power of ten of the first digit: 2 for 123.4, -3 for 0.00123."""
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    if whole != "0":
        return len(whole) - 1
    return -1 - (len(fraction) - len(fraction.lstrip("0")))


def _integer(value: Any, now: str) -> int | None:
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _number(value: Any, now: str) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _boolean(value: Any, now: str) -> bool | None:
    return value if isinstance(value, bool) else None


def _date(value: Any, now: str) -> str | None:
    if not isinstance(value, str):
        return None
    if value in ("", "null"):
        return since(None, now)
    if not _RFC3339.fullmatch(value):
        return "<invalid>"
    try:
        return since(value, now)
    except ValueError:  # such as February 30
        return "<invalid>"


_SHOW: dict[str, _Show] = {
    "string": _text,
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "date": _date,
}
