# SPDX-License-Identifier: Apache-2.0
"""CEL's string functions: the standard ones and the extension that kube-apiserver enables."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

from springtide.local.schema.cel.cost import COMPARISON, RUNNING
from springtide.local.schema.cel.library import written
from springtide.local.schema.cel.registry import function
from springtide.local.schema.cel.values import NO_OVERLOAD, CelError, TypeName
from springtide.local.schema.regex import GoRegexError, Pattern, TooManyStepsError, compile_go, is_compiled

_T = TypeVar("_T")


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
    return searched(pattern, text, lambda compiled: compiled.matches(text))


_STEPS_PER_ITEM = 10  # steps of a search take as long as one item of a meter's room
_ITEMS_PER_CHARACTER = 40  # of a pattern that is compiled


def searched(pattern: str, text: str, search: Callable[[Pattern], _T]) -> _T:
    if not is_compiled(pattern):
        RUNNING.meter.reserve(_ITEMS_PER_CHARACTER * len(pattern))
    try:
        compiled = compile_go(pattern)
        RUNNING.meter.reserve(compiled.size * len(text) // _STEPS_PER_ITEM)
        return search(compiled)
    except (GoRegexError, TooManyStepsError) as error:
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
    def changed(text: str) -> str:
        if text.isascii():
            return change(text)
        return "".join(change(char) if char.isascii() else char for char in text)

    return changed


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
        precision = int(match[1][:9]) if match[1] else 6
        RUNNING.meter.reserve(precision)
        shown = _formatted(match[2], precision, value)
        RUNNING.meter.reserve(len(shown))
        return shown

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
    """The text of a value for `%s`, which also accepts collections."""
    if value is None:
        return "null"
    if isinstance(value, list | dict):
        RUNNING.meter.reserve(COMPARISON * len(value))
    if isinstance(value, list):
        return "[" + ", ".join(_listed(one) for one in value) + "]"
    if isinstance(value, dict):
        pairs = sorted(
            (_quote(key) if isinstance(key, str) else _listed(key), _listed(one)) for key, one in value.items()
        )
        return "{" + ", ".join(f"{key}:{one}" for key, one in pairs) + "}"
    return value.name if isinstance(value, TypeName) else written(value)
