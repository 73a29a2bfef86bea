# SPDX-License-Identifier: Apache-2.0
"""CEL's operators, conversions, and functions on times."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from springtide.local.schema.cel.registry import function
from springtide.local.schema.cel.values import (
    CelError,
    MapList,
    SetList,
    TypeName,
    UInt,
    equal,
    item_key,
    no_conversion,
    parse_duration,
    parse_timestamp,
    token,
    type_name,
    written_duration,
    written_timestamp,
)

# --- arithmetic


def checked(value: int) -> int:
    if not -(2**63) <= value < 2**63:
        raise CelError("integer overflow")
    return value


def _unsigned(value: int) -> UInt:
    if not 0 <= value < 2**64:
        raise CelError("unsigned integer overflow")
    return UInt(value)


def _truncated(left: int, right: int) -> int:
    if right == 0:
        raise CelError("division by zero")
    quotient = abs(left) // abs(right)
    return checked(quotient if (left < 0) == (right < 0) else -quotient)


def _remainder(left: int, right: int) -> int:
    if right == 0:
        raise CelError("modulus by zero")
    return left - right * _truncated(left, right)


def _divided(left: float, right: float) -> float:
    if right == 0:
        return math.nan if left == 0 or math.isnan(left) else math.copysign(math.inf, left) * math.copysign(1, right)
    return left / right


_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": _truncated,
    "%": _remainder,
}


def _declare_arithmetic() -> None:
    for operator, run in _ARITHMETIC.items():
        function(f"_{operator}_(int, int) int")(lambda left, right, run=run: checked(run(left, right)))
        function(f"_{operator}_(uint, uint) uint")(lambda left, right, run=run: _unsigned(run(int(left), int(right))))
        if operator in "+-*":
            function(f"_{operator}_(double, double) double")(run)
    function("_/_(double, double) double")(_divided)
    function(
        "_+_(string, string) string",
        "_+_(bytes, bytes) bytes",
        "_+_(duration, duration) duration",
        "_+_(timestamp, duration) timestamp",
        "_+_(duration, timestamp) timestamp",
    )(_ARITHMETIC["+"])
    function(
        "_-_(duration, duration) duration",
        "_-_(timestamp, duration) timestamp",
        "_-_(timestamp, timestamp) duration",
    )(_ARITHMETIC["-"])


_declare_arithmetic()


@function("-_(int) int")
def _negated(value: int) -> int:
    return checked(-value)


@function("-_(double) double")
def _negated_double(value: float) -> float:
    return -value


@function("!_(bool) bool")
def _not(value: bool) -> bool:
    return not value


@function("_+_(list(A), list(A)) list(A)")
def _joined_lists(left: list[Any], right: list[Any]) -> list[Any]:
    """Concatenate lists. Lists of type set and map keep each item once; the right one wins."""
    if isinstance(left, SetList):
        known = {token(item) for item in left}
        return SetList([*left, *(item for item in right if token(item) not in known)])
    if isinstance(left, MapList):
        keys = left.keys
        newer = {item_key(item, keys): item for item in right}
        kept = [newer.pop(item_key(item, keys), item) for item in left]
        return MapList([*kept, *newer.values()], keys)
    return [*left, *right]


# --- comparison

NUMBERS = ("int", "uint", "double")
ORDERED = ("string", "bool", "bytes", "timestamp", "duration")
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
}


def _declare_comparisons() -> None:
    pairs = [(left, right) for left in NUMBERS for right in NUMBERS] + [(name, name) for name in ORDERED]
    for operator, run in _COMPARISONS.items():
        function(*(f"_{operator}_({left}, {right}) bool" for left, right in pairs))(run)


_declare_comparisons()


@function("_==_(A, A) bool")
def _equal(left: Any, right: Any) -> bool:
    return equal(left, right)


@function("_!=_(A, A) bool")
def _unequal(left: Any, right: Any) -> bool:
    return not equal(left, right)


@function("@in(A, list(A)) bool")
def _in_list(item: Any, values: list[Any]) -> bool:
    return contains(values, item)


@function("@in(A, map(A, B)) bool")
def _in_map(key: Any, values: dict[Any, Any]) -> bool:
    return any(equal(key, other) for other in values) if isinstance(key, float) else key in values


def contains(values: Iterable[Any], item: Any) -> bool:
    return any(equal(value, item) for value in values)


# --- sizes and conversions


@function("size(string) int", "size(bytes) int", "size(list(A)) int", "size(map(A, B)) int")
@function("string.size() int", "bytes.size() int", "list(A).size() int", "map(A, B).size() int")
def _size(value: Any) -> int:
    return len(value)


@function("type(A) type")
def _type_of(value: Any) -> TypeName:
    return TypeName(type_name(value))


@function("dyn(A) dyn")
def _dyn(value: Any) -> Any:
    return value


@function("int(int) int", "int(uint) int", "int(double) int", "int(string) int", "int(timestamp) int")
def _int(value: Any) -> int:
    if isinstance(value, datetime):
        return int(value.timestamp())
    try:
        return checked(int(value))
    except (ValueError, OverflowError):
        raise CelError(_no_number(value, "int")) from None


@function("uint(int) uint", "uint(uint) uint", "uint(double) uint", "uint(string) uint")
def _uint(value: Any) -> UInt:
    try:
        return _unsigned(int(value))
    except (ValueError, OverflowError):
        raise CelError(_no_number(value, "uint")) from None


@function("double(int) double", "double(uint) double", "double(double) double", "double(string) double")
def _double(value: Any) -> float:
    try:
        return float(value)
    except ValueError:
        raise CelError(_no_number(value, "double")) from None


def _no_number(value: Any, wanted: str) -> str:
    return no_conversion(wanted) if isinstance(value, str) else "integer overflow"


@function("bool(bool) bool", "bool(string) bool")
def _bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if value in ("1", "t", "T", "true", "TRUE", "True"):
        return True
    if value in ("0", "f", "F", "false", "FALSE", "False"):
        return False
    raise CelError(no_conversion("bool"))


@function(*(f"string({name}) string" for name in (*NUMBERS, *ORDERED)))
def written(value: Any) -> str:
    """A value as text, also for messages."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e21 else repr(value)
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, datetime):
        return written_timestamp(value)
    return written_duration(value) if isinstance(value, timedelta) else str(value)


@function("bytes(string) bytes", "bytes(bytes) bytes")
def _bytes(value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


@function("timestamp(string) timestamp", "timestamp(timestamp) timestamp", "timestamp(int) timestamp")
def _timestamp(value: Any) -> datetime:
    if isinstance(value, str):
        return parse_timestamp(value)
    try:
        return datetime.fromtimestamp(value, UTC) if isinstance(value, int) else value
    except (ValueError, OverflowError, OSError):
        raise CelError("timestamp overflow") from None


@function("duration(string) duration", "duration(duration) duration")
def _duration(value: Any) -> timedelta:
    return parse_duration(value) if isinstance(value, str) else value


_CLOCK: dict[str, Callable[[datetime], int]] = {
    "getFullYear": lambda moment: moment.year,
    "getMonth": lambda moment: moment.month - 1,
    "getDate": lambda moment: moment.day,
    "getDayOfMonth": lambda moment: moment.day - 1,
    "getDayOfWeek": lambda moment: moment.isoweekday() % 7,
    "getDayOfYear": lambda moment: moment.timetuple().tm_yday - 1,
    "getHours": lambda moment: moment.hour,
    "getMinutes": lambda moment: moment.minute,
    "getSeconds": lambda moment: moment.second,
    "getMilliseconds": lambda moment: moment.microsecond // 1000,
}
_SPANS = {"getHours": 3600.0, "getMinutes": 60.0, "getSeconds": 1.0, "getMilliseconds": 0.001}


def _declare_clock() -> None:
    for name, read in _CLOCK.items():
        function(f"timestamp.{name}() int")(read)
        function(f"timestamp.{name}(string) int")(lambda moment, zone, read=read: read(moment.astimezone(_zone(zone))))
    for name, unit in _SPANS.items():
        function(f"duration.{name}() int")(lambda span, unit=unit: int(span.total_seconds() / unit))


_ZONE = re.compile(r"[A-Za-z0-9_+-]{1,32}(?:/[A-Za-z0-9_+-]{1,32}){0,3}")
"""Names that a time zone may have. `ZoneInfo` looks others up as files and packages, once for each part of the name."""


def _zone(name: str) -> timezone | ZoneInfo:
    offset = re.fullmatch(r"([+-]?)(\d\d):(\d\d)", name)
    try:
        if offset is not None:
            minutes = int(offset[2]) * 60 + int(offset[3])
            return timezone(timedelta(minutes=-minutes if offset[1] == "-" else minutes))
        if _ZONE.fullmatch(name):
            return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        pass
    raise CelError(f"unknown time zone {name[:100]}")


_declare_clock()
