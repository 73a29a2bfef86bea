# SPDX-License-Identifier: Apache-2.0
"""CEL's standard functions and operators, with its string, list and set extensions, as kube-apiserver enables them."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from springtide.local.schema.cel.registry import function
from springtide.local.schema.cel.values import (
    NO_OVERLOAD,
    NONE,
    CelError,
    MapList,
    Optional,
    SetList,
    TypeName,
    UInt,
    equal,
    no_conversion,
    parse_duration,
    parse_timestamp,
    type_name,
    written_duration,
    written_timestamp,
)
from springtide.local.schema.regex import GoRegexError, compile_go

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
    """Lists of type set and map keep each item once; the right one wins."""
    if isinstance(left, SetList):
        return SetList([*left, *(item for item in right if not contains(left, item))])
    if isinstance(left, MapList):
        keys = left.keys
        newer = {tuple(item.get(key) for key in keys): item for item in right}
        kept = [newer.pop(tuple(item.get(key) for key in keys), item) for item in left]
        return MapList([*kept, *newer.values()], keys)
    return [*left, *right]


# --- comparison

_NUMBERS = ("int", "uint", "double")
_ORDERED = ("string", "bool", "bytes", "timestamp", "duration")
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
}


def _declare_comparisons() -> None:
    pairs = [(left, right) for left in _NUMBERS for right in _NUMBERS] + [(name, name) for name in _ORDERED]
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


@function(*(f"string({name}) string" for name in (*_NUMBERS, *_ORDERED)))
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
    return datetime.fromtimestamp(value, UTC) if isinstance(value, int) else value


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


def _zone(name: str) -> timezone | ZoneInfo:
    offset = re.fullmatch(r"([+-]?)(\d\d):(\d\d)", name)
    if offset is not None:
        minutes = int(offset[2]) * 60 + int(offset[3])
        return timezone(timedelta(minutes=-minutes if offset[1] == "-" else minutes))
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        raise CelError(f"unknown time zone {name}") from None


_declare_clock()

# --- strings


@function("string.contains(string) bool")
def _contains(text: str, part: str) -> bool:
    return part in text


@function("string.startsWith(string) bool")
def _starts_with(text: str, part: str) -> bool:
    return text.startswith(part)


@function("string.endsWith(string) bool")
def _ends_with(text: str, part: str) -> bool:
    return text.endswith(part)


@function("string.matches(string) bool", "matches(string, string) bool")
def _matches(text: str, pattern: str) -> bool:
    return regex(pattern).search(text) is not None


def regex(pattern: str) -> re.Pattern[str]:
    try:
        return compile_go(pattern)
    except GoRegexError as error:
        raise CelError(str(error)) from None


@function("string.charAt(int) string")
def _char_at(text: str, at: int) -> str:
    if not 0 <= at <= len(text):
        raise CelError(f"index out of range: {at}")
    return text[at : at + 1]


@function("string.indexOf(string) int", "string.indexOf(string, int) int")
def _index_of(text: str, part: str, start: int = 0) -> int:
    if not 0 <= start <= len(text):
        raise CelError(f"index out of range: {start}")
    return text.find(part, start)


@function("string.lastIndexOf(string) int", "string.lastIndexOf(string, int) int")
def _last_index_of(text: str, part: str, end: int | None = None) -> int:
    if end is not None and not 0 <= end <= len(text):
        raise CelError(f"index out of range: {end}")
    return text.rfind(part) if end is None else text.rfind(part, 0, end + len(part))


@function("list(string).join() string", "list(string).join(string) string")
def _join(parts: list[str], between: str = "") -> str:
    return between.join(parts)


def _ascii(change: Callable[[str], str]) -> Callable[[str], str]:
    return lambda text: "".join(change(char) if char.isascii() else char for char in text)


function("string.lowerAscii() string")(_ascii(str.lower))
function("string.upperAscii() string")(_ascii(str.upper))


@function("string.replace(string, string) string", "string.replace(string, string, int) string")
def _replace(text: str, old: str, new: str, count: int = -1) -> str:
    return text.replace(old, new, count)


@function("string.split(string) list(string)", "string.split(string, int) list(string)")
def _split(text: str, between: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    if not between:
        letters = list(text)
        return letters if limit < 0 else [*letters[: limit - 1], "".join(letters[limit - 1 :])]
    return text.split(between, limit - 1 if limit > 0 else -1)


@function("string.substring(int) string", "string.substring(int, int) string")
def _substring(text: str, start: int, end: int | None = None) -> str:
    last = len(text) if end is None else end
    if not 0 <= start <= len(text):
        raise CelError(f"index out of range: {start}")
    if not 0 <= last <= len(text):
        raise CelError(f"index out of range: {last}")
    if start > last:
        raise CelError(f"invalid substring range. start: {start}, end: {last}")
    return text[start:last]


@function("string.trim() string")
def _trim(text: str) -> str:
    return text.strip()


_QUOTED = str.maketrans(
    {
        "\a": "\\a",
        "\b": "\\b",
        "\f": "\\f",
        "\n": "\\n",
        "\r": "\\r",
        "\t": "\\t",
        "\v": "\\v",
        "\\": "\\\\",
        '"': '\\"',
    }
)


@function("static strings.quote(string) string")
def _quote(text: str) -> str:
    return f'"{text.translate(_QUOTED)}"'


_DIRECTIVE = re.compile(r"%(?:%|(?:\.(\d+))?([sdfexXob]))?")


@function("string.format(list(dyn)) string")
def _format(text: str, values: list[Any]) -> str:
    left = iter(values)

    def fill(match: re.Match[str]) -> str:
        if match.group() == "%%":
            return "%"
        if match[2] is None:
            raise CelError(f"could not parse formatting clause: {text}")
        try:
            value = next(left)
        except StopIteration:
            raise CelError("index out of range: " + str(len(values))) from None
        return _formatted(match[2], int(match[1] or 6), value)

    return _DIRECTIVE.sub(fill, text)


def _formatted(directive: str, precision: int, value: Any) -> str:
    if directive == "s":
        return _listed(value)
    if directive in "fe" and isinstance(value, int | float):
        return f"{float(value):.{precision}{directive}}"
    if directive in "xX" and isinstance(value, str | bytes):
        raw = (value.encode() if isinstance(value, str) else value).hex()
        return raw.upper() if directive == "X" else raw
    if isinstance(value, bool | int) and directive in "dxXob":
        return f"{int(value):{directive}}"
    if isinstance(value, float) and directive == "d":
        return written(value)
    raise CelError(NO_OVERLOAD)


def _listed(value: Any) -> str:
    """`%s` writes collections too."""
    if value is None:
        return "null"
    if isinstance(value, list):
        return "[" + ", ".join(_listed(one) for one in value) + "]"
    if isinstance(value, dict):
        pairs = sorted(
            (_quote(key) if isinstance(key, str) else _listed(key), _listed(one)) for key, one in value.items()
        )
        return "{" + ", ".join(f"{key}:{one}" for key, one in pairs) + "}"
    return value.name if isinstance(value, TypeName) else written(value)


# --- lists and sets

_SUMMABLE = {"int": 0, "uint": UInt(0), "double": 0.0, "duration": timedelta(0)}


def _declare_lists() -> None:
    for name, zero in _SUMMABLE.items():
        function(f"list({name}).sum() {name}")(lambda values, zero=zero: sum(values, zero))
    for name in (*_NUMBERS, *_ORDERED):
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
    for value in values:
        if isinstance(value, list) and depth > 0:
            found += _flatten(value, depth - 1)
        else:
            found.append(value)
    return found


@function("static lists.range(int) list(int)")
def _range(end: int) -> list[int]:
    return list(range(min(end, 1_000_000)))


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


# --- optional values


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
