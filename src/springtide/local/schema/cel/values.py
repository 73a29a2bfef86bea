# SPDX-License-Identifier: Apache-2.0
"""Values that CEL rules compute with, and their conversion from JSON.

JSON values are used unchanged; only values that JSON does not distinguish (times, durations, bytes, doubles without a
fraction, lists without order) are converted, and only where the schema has such positions.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from springtide.local.schema.cel import types
from springtide.local.schema.cel.cost import COMPARISON, RUNNING
from springtide.local.schema.cel.types import Type


class CelError(Exception):
    """Evaluation failed; the text is cel-go's."""


NO_OVERLOAD = "no such overload"


def no_conversion(wanted: str) -> str:
    """cel-go's message when a string cannot be converted."""
    return f"type conversion error from 'string' to '{wanted}'"


class UInt(int):
    """An unsigned number, which CEL distinguishes from a signed one."""

    __slots__ = ()


class SetList(list[Any]):
    """A list of type set: equality ignores the order."""


class MapList(list[Any]):
    """A list of type map: items are identified by their keys, equality ignores the order."""

    def __init__(self, items: list[Any], keys: tuple[str, ...]) -> None:
        super().__init__(items)
        self.keys = keys


@dataclass(frozen=True, slots=True)
class Optional:
    """A value that may be missing; `present` because null is a value."""

    present: bool = False
    value: Any = None


NONE = Optional()


@dataclass(frozen=True, slots=True)
class TypeName:
    name: str


def type_name(value: Any) -> str:
    """The result of `type(x)`."""
    if isinstance(value, Optional):
        return "optional_type"
    for python, name in _NAMES:
        if isinstance(value, python):
            return name
    return "null_type" if value is None else type(value).__name__


_NAMES: tuple[tuple[type, str], ...] = (
    (bool, "bool"),
    (UInt, "uint"),
    (int, "int"),
    (float, "double"),
    (str, "string"),
    (bytes, "bytes"),
    (list, "list"),
    (dict, "map"),
    (datetime, "google.protobuf.Timestamp"),
    (timedelta, "google.protobuf.Duration"),
    (TypeName, "type"),
)


def equal(left: Any, right: Any) -> bool:
    """CEL's equality: numbers by value, never a bool equal to a number."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list) and isinstance(right, list):
        return _equal_lists(left, right)
    if isinstance(left, dict) and isinstance(right, dict):
        RUNNING.meter.reserve(COMPARISON * len(left))
        return left.keys() == right.keys() and all(equal(value, right[key]) for key, value in left.items())
    return bool(left == right)


def _equal_lists(left: list[Any], right: list[Any]) -> bool:
    if len(left) != len(right):
        return False
    if _are_plain(left) and _are_plain(right):
        RUNNING.meter.reserve(len(left))
        return left == right
    RUNNING.meter.reserve(COMPARISON * len(left))
    for listed in (left, right):
        if isinstance(listed, SetList):
            return {token(one) for one in left} <= {token(one) for one in right}
        if isinstance(listed, MapList):
            known = {item_key(one, listed.keys): one for one in right}
            return all(equal(one, known.get(item_key(one, listed.keys))) for one in left)
    return all(equal(one, other) for one, other in zip(left, right, strict=True))


_PLAIN = frozenset({str, int, float})


def _are_plain(values: list[Any]) -> bool:
    """Whether Python compares the values as CEL does: in order, without bools and nested values."""
    return type(values) is list and _PLAIN.issuperset(map(type, values))


def token(value: Any) -> Hashable:
    """A hashable that is equal exactly for equal values: used to look values up in sets."""
    if isinstance(value, list | dict):
        RUNNING.meter.reserve(COMPARISON * len(value))
        if isinstance(value, list):
            return ("list", *map(token, value))
        return ("map", frozenset((key, token(one)) for key, one in value.items()))
    return (isinstance(value, bool), value)


def item_key(item: Any, keys: tuple[str, ...]) -> Hashable:
    """The key that identifies an item of a map list."""
    return tuple(token(item.get(key)) for key in keys) if isinstance(item, dict) else token(item)


_DURATION_PART = re.compile(r"([0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(ns|us|µs|μs|ms|s|m|h)")
_MICROSECONDS = {"ns": 0.001, "us": 1, "µs": 1, "μs": 1, "ms": 1e3, "s": 1e6, "m": 6e7, "h": 3.6e9}


def parse_duration(text: str) -> timedelta:
    """Parse a Go duration such as `1h30m`. Stops at the first part that is not one, as Go does."""
    sign = -1 if text.startswith("-") else 1
    body = text[1:] if text[:1] in ("+", "-") else text
    if body == "0":
        return timedelta()
    amount, at = 0.0, 0
    while at < len(body) or not body:
        part = _DURATION_PART.match(body, at)
        if part is None:
            raise CelError(no_conversion("google.protobuf.Duration"))
        amount += float(part[1]) * _MICROSECONDS[part[2]]
        if not amount * 1000 < 2**63:
            raise CelError(no_conversion("google.protobuf.Duration"))
        at = part.end()
    return timedelta(microseconds=sign * amount)


_TIMESTAMP = re.compile(r"(\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d)(\.\d+)?([Zz]|[+-]\d\d:\d\d)")


def parse_timestamp(text: str) -> datetime:
    match = _TIMESTAMP.fullmatch(text)
    try:
        if match is None:
            return datetime.fromisoformat(text).replace(tzinfo=UTC) if len(text) == 10 else _no_time()
        whole, fraction, zone = match.groups()
        micros = (fraction or ".0")[:7].ljust(7, "0")
        return datetime.fromisoformat(f"{whole.upper()}{micros}{'+00:00' if zone in 'Zz' else zone}").astimezone(UTC)
    except (ValueError, OverflowError):
        return _no_time()


def _no_time() -> datetime:
    raise CelError(no_conversion("google.protobuf.Timestamp"))


def written_duration(value: timedelta) -> str:
    """A duration as in CEL's string(): seconds, with a fraction if there is one."""
    seconds = value / timedelta(seconds=1)
    return f"{int(seconds)}s" if seconds == int(seconds) else f"{seconds}s"


def written_timestamp(value: datetime) -> str:
    fraction = f".{value.microsecond:06d}".rstrip("0") if value.microsecond else ""
    return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S") + fraction + "Z"


Convert = Callable[[Any], Any]

_SCALARS: dict[Type, Convert] = {
    types.DOUBLE: float,
    types.TIMESTAMP: parse_timestamp,
    types.DURATION: parse_duration,
    types.BYTES: base64.b64decode,
}


def converter(type_: Type) -> Convert | None:
    """A function that converts JSON of the type to CEL values; None where no conversion is needed."""
    if type_.name == "list":
        return _list_converter(type_)
    if type_.name == "map":
        inner = converter(type_.params[1])
        return inner and (lambda value: {key: safely(inner, one) for key, one in value.items()})
    if type_.name == "object":
        return _object_converter(type_)
    return _SCALARS.get(type_)


def safely(convert: Convert, value: Any) -> Any:
    """Convert a value; nulls and invalid values, which value validation has reported already, are unchanged."""
    if value is None:
        return None
    try:
        return convert(value)
    except (CelError, ValueError, TypeError, AttributeError):
        return value


def _list_converter(type_: Type) -> Convert | None:
    inner = converter(type_.params[0])

    def items(value: Any) -> list[Any]:
        return [safely(inner, one) for one in value] if inner else list(value)

    if type_.list_type == "set":
        return lambda value: SetList(items(value))
    if type_.list_type == "map":
        return lambda value: MapList(items(value), type_.list_keys)
    return items if inner else None


def _object_converter(type_: Type) -> Convert | None:
    inner = {name: made for name, field in type_.fields.values() if (made := converter(field)) is not None}
    if not inner:
        return None

    def convert(value: Any) -> Any:
        return {key: safely(inner[key], one) if key in inner else one for key, one in value.items()}

    return convert
