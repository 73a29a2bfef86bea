# SPDX-License-Identifier: Apache-2.0
"""Single values of protobuf messages, including messages that are one value in JSON.

`messages.py` looks them up by the scalar's name in the schema. Every function takes the buffer and the bounds of the
value, because slicing nested messages out of their parent would copy each byte once per level.
"""

from __future__ import annotations

import struct
from binascii import b2a_base64
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

Value = Callable[[bytes, int, int], Any]

# Go's zero time, the first second of the year 1, which is null in JSON.
_GO_ZERO: Final = -62135596800
_YEAR_10000: Final = 253402300800


class Malformed(ValueError):
    """The bytes are not a valid message."""


def varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """The unsigned integer at `at`, and the position after it."""
    value = shift = 0
    while at < end:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at
        shift += 7
        if shift > 63:
            raise Malformed("integer overflow")
    raise Malformed("unexpected EOF")


def signed64(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def signed32(value: int) -> int:
    value &= 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value


def double(value: int) -> float:
    """A JSON number; a whole one is an int, because Go prints it without a fraction."""
    number: float = struct.unpack("<d", value.to_bytes(8, "little"))[0]
    if number != number or number in (float("inf"), float("-inf")):
        raise Malformed("a number is not finite")
    return int(number) if number.is_integer() else number


def text(data: bytes, at: int, end: int) -> str:
    return data[at:end].decode()


def base64_text(data: bytes, at: int, end: int) -> str:
    return b2a_base64(data[at:end], newline=False).decode("ascii")


def fields_of(data: bytes, at: int, end: int) -> dict[int, int | bytes]:
    """The last value of every field of a small message with a fixed schema, including unknown fields, undecoded."""
    found: dict[int, int | bytes] = {}
    while at < end:
        tag, at = varint(data, at, end)
        stop = skip(data, tag, at, end)
        if tag & 7 == 0:
            found[tag >> 3] = varint(data, at, end)[0]
        elif tag & 7 == 2:
            length, begin = varint(data, at, end)
            found[tag >> 3] = data[begin : begin + length]
        at = stop
    return found


def skip(data: bytes, tag: int, at: int, end: int) -> int:
    """The position of the next field; groups do not occur in Kubernetes messages."""
    wire_type = tag & 7
    if tag >> 3 == 0:
        raise Malformed("illegal tag 0")
    if wire_type == 0:
        at = varint(data, at, end)[1]
    elif wire_type == 1:
        at += 8
    elif wire_type == 2:
        length, at = varint(data, at, end)
        at += length
    elif wire_type == 5:
        at += 4
    else:
        raise Malformed(f"illegal wire type {wire_type}")
    if at > end:
        raise Malformed("unexpected EOF")
    return at


def _integer(fields: Mapping[int, int | bytes], number: int) -> int:
    value = fields.get(number, 0)
    if isinstance(value, bytes):
        raise Malformed(f"field {number} must be an integer")
    return signed64(value)


def content(fields: Mapping[int, int | bytes], number: int) -> bytes:
    value = fields.get(number, b"")
    if isinstance(value, int):
        raise Malformed(f"field {number} must be length-delimited")
    return value


def _moment(fields: Mapping[int, int | bytes]) -> datetime | None:
    seconds = _integer(fields, 1)
    if not _GO_ZERO <= seconds < _YEAR_10000:
        raise Malformed("a time is outside the years 1 to 9999")
    return None if seconds == _GO_ZERO else datetime.fromtimestamp(seconds, UTC)


def time(data: bytes, at: int, end: int) -> str | None:
    """RFC 3339 in seconds: Kubernetes drops the fraction, because its JSON never had one."""
    moment = _moment(fields_of(data, at, end)) if at < end else None
    return None if moment is None else moment.isoformat()[:19] + "Z"


def microtime(data: bytes, at: int, end: int) -> str | None:
    if at == end:
        return None
    fields = fields_of(data, at, end)
    nanos = _integer(fields, 2)
    if not 0 <= nanos < 1_000_000_000:
        raise Malformed("the nanoseconds of a time are out of range")
    moment = _moment(fields)
    return None if moment is None else f"{moment.isoformat()[:19]}.{nanos // 1000:06d}Z"


def quantity(data: bytes, at: int, end: int) -> str:
    return content(fields_of(data, at, end), 1).decode() or "0"


def int_or_string(data: bytes, at: int, end: int) -> int | str:
    fields = fields_of(data, at, end)
    match _integer(fields, 1):
        case 0:
            return signed32(_integer(fields, 2))
        case 1:
            return content(fields, 3).decode()
        case other:
            raise Malformed(f"impossible IntOrString.Type {other}")


def free_json(data: bytes, at: int, end: int) -> Any:
    """RawExtension, JSON and FieldsV1: a message with bytes that are JSON."""
    raw = content(fields_of(data, at, end), 1)
    return msgspec.json.decode(raw) if raw else None


_UNITS: Final = (("h", 3600 * 10**9), ("m", 60 * 10**9), ("s", 10**9))


def duration(data: bytes, at: int, end: int) -> str:
    """A duration as printed by Go: `1h30m0s`, `1.5s`, `250ms`."""
    nanos = _integer(fields_of(data, at, end), 1)
    sign, left = ("-", -nanos) if nanos < 0 else ("", nanos)
    if left < 10**9:
        return sign + _below_a_second(left)
    shown = ""
    for unit, size in _UNITS[:2]:
        whole, left = divmod(left, size)
        if whole or shown:
            shown += f"{whole}{unit}"
    return f"{sign}{shown}{_decimal(left, 10**9)}s"


def _below_a_second(nanos: int) -> str:
    if nanos == 0:
        return "0s"
    for unit, size in (("ms", 10**6), ("µs", 10**3)):
        if nanos >= size:
            return _decimal(nanos, size) + unit
    return f"{nanos}ns"


def _decimal(value: int, size: int) -> str:
    whole, rest = divmod(value, size)
    return f"{whole}.{rest:0{len(str(size)) - 1}d}".rstrip("0") if rest else str(whole)


# Length-delimited values by the name of their scalar.
DELIMITED: Final[Mapping[str, Value]] = {
    "string": text,
    "bytes": base64_text,
    "time": time,
    "microtime": microtime,
    "duration": duration,
    "quantity": quantity,
    "int-or-string": int_or_string,
    "raw": free_json,
    "json": free_json,
    "fields": free_json,
}

# Conversions from the unsigned integer on the wire, by the name of the scalar.
NUMBERS: Final[Mapping[str, Callable[[int], Any]]] = {
    "int32": signed32,
    "int64": signed64,
    "bool": bool,
    "float64": double,
}

# JSON values for fields that are missing on the wire and that Go prints nevertheless.
ZERO: Final[Mapping[str, Any]] = {
    "string": "",
    "int32": 0,
    "int64": 0,
    "float64": 0,
    "bool": False,
    "quantity": "0",
    "int-or-string": 0,
    "duration": "0s",
}
