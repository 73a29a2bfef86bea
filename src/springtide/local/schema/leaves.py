# SPDX-License-Identifier: Apache-2.0
"""Single values that Go reads by special rules: numbers with a range, times, base64, quantities, int-or-string.

Each converter takes a decoded JSON value and returns what kube-apiserver writes for it. It raises `Unfit`: without text
when the JSON type is wrong (the caller knows the field and makes the message), with the parser's message when the type
was right and the content was not. Decoding calls all converters with a second argument, which is unused here; `explain`
uses the same converters for messages.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from springtide.api import quantity


class Unfit(Exception):
    """The value is invalid; the text, if any, is Go's."""


def _int32(value: Any, _: object = None) -> int:
    if type(value) is int and -0x80000000 <= value <= 0x7FFFFFFF:
        return value
    raise Unfit


def _int64(value: Any, _: object = None) -> int:
    if type(value) is int and -0x8000000000000000 <= value <= 0x7FFFFFFFFFFFFFFF:
        return value
    raise Unfit


def _float64(value: Any, _: object = None) -> int | float:
    if type(value) is float:
        # Go writes 5.0 as 5 and switches to exponents at 1e21.
        return int(value) if value.is_integer() and abs(value) < 1e21 else value
    if type(value) is int:
        return value
    raise Unfit


def _string(value: Any, _: object = None) -> str:
    if type(value) is str:
        return value
    raise Unfit


def _bool(value: Any, _: object = None) -> bool:
    if type(value) is bool:
        return value
    raise Unfit


def _quantity(value: Any, _: object = None) -> str:
    if type(value) is str:
        text = value.strip()
    elif type(value) is int or type(value) is float:
        text = str(value)
    else:
        text = "?"
    try:
        return quantity.canonical(text)
    except quantity.QuantityError as error:
        raise Unfit(str(error)) from None


def _int_or_string(value: Any, _: object = None) -> int | str:
    return value if type(value) is str else _int32(value)


def _bytes(value: Any, _: object = None) -> str:
    if type(value) is not str:
        if type(value) is list and all(type(one) is int and 0 <= one <= 255 for one in value):
            return binascii.b2a_base64(bytes(value), newline=False).decode()
        raise Unfit
    try:
        raw = binascii.a2b_base64(value, strict_mode=True)
    except ValueError:  # binascii.Error, or non-ASCII characters
        raw = _lenient_base64(value)
    return binascii.b2a_base64(raw, newline=False).decode()


def _lenient_base64(value: str) -> bytes:
    """Decode base64 as Go does: skips line breaks, and reports the byte (in groups of four) of an error."""
    text = value.replace("\n", "").replace("\r", "")
    try:
        return binascii.a2b_base64(text, strict_mode=True)
    except ValueError:
        good = re.match(r"(?:[A-Za-z0-9+/]{4})*", text)
        position = good.end() if good else 0
        rest = re.match(r"[A-Za-z0-9+/]*", text[position:])
        odd = position + (rest.end() if rest else 0)
        raise Unfit(f"illegal base64 data at input byte {odd if odd < len(text) else position}") from None


_TIME_PARTS: Final = (
    (r"[0-9]{4}", "2006"),
    ("-", "-"),
    (r"[0-9]{2}", "01"),
    ("-", "-"),
    (r"[0-9]{2}", "02"),
    ("T", "T"),
    (r"[0-9]{1,2}", "15"),
    (":", ":"),
    (r"[0-9]{2}", "04"),
    (":", ":"),
    (r"[0-9]{2}", "05"),
)
_ZONE: Final = (r"Z|[+-][0-9]{2}:[0-9]{2}", "Z07:00")
_SECONDS: Final = (*_TIME_PARTS, (r"(?:[.,][0-9]+)?", ""), _ZONE)
_MICROS: Final = (*_TIME_PARTS, (r"[.,][0-9]{6}", ".000000"), _ZONE)
_COMMON_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")
_COMMON_MICROTIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z")
_RANGES: Final = ((2, 1, 12, "month"), (6, 0, 23, "hour"), (8, 0, 59, "minute"), (10, 0, 59, "second"))
_ZERO_TIME: Final = datetime(1, 1, 1, tzinfo=UTC)  # Go's "not set", null in JSON


def _time(value: Any, _: object = None) -> str | None:
    if type(value) is not str:
        raise Unfit
    if _stays(value, _COMMON_TIME):
        return value
    moment = _moment(value, _time_parts(value, _SECONDS))
    return None if moment == _ZERO_TIME else f"{_written(moment)}Z"


def _microtime(value: Any, _: object = None) -> str | None:
    if type(value) is not str:
        raise Unfit
    if _stays(value, _COMMON_MICROTIME):
        return value
    parts = _time_parts(value, _MICROS)
    moment = _moment(value, parts)
    return None if moment == _ZERO_TIME else f"{_written(moment)}.{parts[11][1:]}Z"


def _stays(value: str, common: re.Pattern[str]) -> bool:
    """Whether the value is a valid time in canonical form: true for nearly all, and fast."""
    if common.fullmatch(value) is None:
        return False
    try:
        return datetime.fromisoformat(value).year > 1
    except ValueError:
        return False  # the slow path makes the message


def _written(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0")


def _time_parts(value: str, layout: tuple[tuple[str, str], ...]) -> list[str]:
    """Split the text by the layout's elements; a mismatch raises the error of Go's time package."""
    parts: list[str] = []
    position = 0
    for pattern, element in layout:
        match = re.compile(pattern).match(value, position)
        if match is None:
            wanted = "2006-01-02T15:04:05" + "".join(name for _, name in layout[11:])
            raise Unfit(f'parsing time "{value}" as "{wanted}": cannot parse "{value[position:]}" as "{element}"')
        parts.append(match.group())
        position = match.end()
        for at, low, high, word in _RANGES:
            if len(parts) == at + 1 and not low <= int(match.group()) <= high:
                raise Unfit(f'parsing time "{value}": {word} out of range')
    if position < len(value):
        raise Unfit(f'parsing time "{value}": extra text: "{value[position:]}"')
    return parts


def _moment(value: str, parts: list[str]) -> datetime:
    year, month, day, hour, minute, second = (int(parts[at]) for at in (0, 2, 4, 6, 8, 10))
    zone = parts[12]
    offset = 0
    if zone != "Z":
        hours, minutes = int(zone[1:3]), int(zone[4:6])
        if hours > 24 or minutes > 60:
            word = "hour" if hours > 24 else "minute"
            raise Unfit(f'parsing time "{value}": time zone offset {word} out of range')
        offset = (hours * 60 + minutes) * (-1 if zone[0] == "-" else 1)
    try:
        return datetime(year, month, day, hour, minute, second, tzinfo=UTC) - timedelta(minutes=offset)
    except (ValueError, OverflowError):
        raise Unfit(f'parsing time "{value}": day out of range') from None


CONVERTERS: Final[dict[str, Callable[..., Any]]] = {
    "string": _string,
    "bool": _bool,
    "int32": _int32,
    "int64": _int64,
    "float64": _float64,
    "bytes": _bytes,
    "time": _time,
    "microtime": _microtime,
    "duration": _string,
    "quantity": _quantity,
    "int-or-string": _int_or_string,
}

ZEROS: Final[dict[str, Any]] = {
    "string": "",
    "bool": False,
    "int32": 0,
    "int64": 0,
    "float64": 0,
    "bytes": None,
    "time": None,
    "microtime": None,
    "duration": "0s",
    "quantity": "0",
    "int-or-string": 0,
}
"""Values that Go writes for an unset field."""
