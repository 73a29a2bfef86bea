# SPDX-License-Identifier: Apache-2.0
"""Error messages of Go's JSON decoder for unreadable bodies, so that users can search for them.

Called only after the fast decoder has rejected a body, so speed does not matter.
"""

from __future__ import annotations

import json
import math
from typing import Any

from springtide.local.apiserver.encoding import bounds

SUMMARY = 30
HEAD = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'

_AFTER = {
    "Expecting property name enclosed in double quotes": "looking for beginning of object key string",
    "Expecting ':' delimiter": "after object key",
    "Expecting value": "looking for beginning of value",
    "Extra data": "after top-level value",
    "Invalid control character at": "in string literal",
    "Invalid \\escape": "in string escape code",
    "Invalid \\uXXXX escape": "in \\u hexadecimal character escape",
}


class NotJsonError(ValueError):
    """The message is that of Go's decoder."""


def parse(body: bytes) -> Any:
    """The value, when Go accepts what the fast decoder rejects (such as half a surrogate pair), or NotJsonError."""
    text = body.decode("utf-8", "replace")
    try:
        value = json.loads(text, parse_constant=_no_constant, parse_int=_whole, parse_float=_finite)
    except json.JSONDecodeError as error:
        raise NotJsonError(_complaint(text, error)) from None
    except RecursionError:
        raise NotJsonError("exceeded max depth") from None
    try:
        bounds.check_json(body, value)
    except bounds.TooMuch as error:
        raise NotJsonError(str(error)) from None
    return _without_surrogates(value)


def _whole(digits: str) -> int:
    try:
        return int(digits)
    except ValueError:  # more digits than Python converts
        raise NotJsonError(f"json: cannot unmarshal number {digits[:64]}... into Go value of type float64") from None


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise NotJsonError(f"json: cannot unmarshal number {digits[:64]} into Go value of type float64")
    return value


def _no_constant(name: str) -> Any:
    raise NotJsonError(f"invalid character '{name[0]}' looking for beginning of value")


def _complaint(text: str, error: json.JSONDecodeError) -> str:
    if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string"):
        return "unexpected end of JSON input"
    what = _AFTER.get(error.msg) or _after_element(text[: error.pos])
    character = text[error.pos + 1] if error.msg == "Invalid \\escape" else text[error.pos]
    return f"invalid character {_quoted(character)} {what}"


def _after_element(before: str) -> str:
    """Go's context of a missing comma: in an object or in a list."""
    depth = 0
    for character in reversed(before):
        depth += (character in "]}") - (character in "[{")
        if depth < 0:
            return "after object key:value pair" if character == "{" else "after array element"
    return "after top-level value"


def _quoted(character: str) -> str:
    if character == "'":
        return "'\\''"
    return f"'{character}'" if character.isprintable() else "'" + repr(character)[1:-1] + "'"


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    return value


def summary(body: bytes) -> str:
    """The beginning of a body, for an error message."""
    if not body:
        return "<empty>"
    shown = body[:SUMMARY]
    text = shown.decode("utf-8", "replace") if body[:1] == b"{" else shown.hex()
    return f"{text} ..." if len(body) > SUMMARY else text


def kind_of(value: Any) -> str:
    return {list: "array", str: "string", bool: "bool", dict: "object", type(None): "null"}.get(type(value), "number")
