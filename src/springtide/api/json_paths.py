# SPDX-License-Identifier: Apache-2.0
"""JSONPath in the dialect of kubectl and kube-apiserver, compiled once per printer column and run per table row.

The dialect differs from the standard: `.a.b`, `['a.b']`, `.a\\.b`, `[0]`, `[-1]`, `[1:3]`, `[*]`, `[0,2]`, `.*`,
`..name` and `[?(@.type=="Ready")]`. Of their templates only the inside of one pair of braces is supported; `range` is
meaningless in a column. A missing path yields nothing, a path that does not fit the value is an error.

A short path may yield more values than there are atoms: `[0,0]` doubles them, `..a..a` multiplies them by the depth of
the object. Every value on the way is charged to a budget.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from springtide.api import whole_numbers


class PathError(ValueError):
    """The path is invalid, or does not fit this object."""


class Budget:
    """Number of values that paths may still visit."""

    __slots__ = ("_left",)

    def __init__(self, values: int) -> None:
        self._left = values

    def spend(self, values: int) -> None:
        """Raises PathError when the budget is used up, now or before."""
        self._left -= values
        if self._left < 0:
            raise PathError("leads through too many values")


Step = Callable[[Sequence[Any], Budget], list[Any]]
"""From values to the values one step further."""


class JSONPath:
    """A compiled path; `find` returns all values that it leads to."""

    __slots__ = ("_steps",)

    def __init__(self, text: str) -> None:
        self._steps = _Reader(text).steps()

    def find(self, obj: Any, budget: Budget) -> list[Any]:
        return _walk(self._steps, [obj], budget)


def _walk(steps: Sequence[Step], values: Sequence[Any], budget: Budget) -> list[Any]:
    for step in steps:
        budget.spend(1 + len(values))
        values = step(values, budget)
    return list(values)


# -------------------------------------------------------------------------------------------------------------- steps


def _field(name: str, values: Sequence[Any], budget: Budget) -> list[Any]:
    return [value[name] for value in values if isinstance(value, dict) and name in value]


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _every(values: Sequence[Any], budget: Budget) -> list[Any]:
    found: list[Any] = []
    for value in values:
        children = _children(value)
        budget.spend(len(children))
        found += children
    return found


def _descend(values: Sequence[Any], budget: Budget) -> list[Any]:
    """The values and all containers below them, outermost first; empty ones are omitted."""
    found: list[Any] = []
    for value in values:
        if children := _children(value):
            budget.spend(len(children))
            found.append(value)
            found += _descend(children, budget)
    return found


def _literal(constant: str | int | float | bool, values: Sequence[Any], budget: Budget) -> list[Any]:
    # As in kubectl, a constant text occurs once, a constant number for every value.
    return [constant] if isinstance(constant, str) else [constant] * len(values)


def _index(index: int, values: Sequence[Any], budget: Budget) -> list[Any]:
    found = []
    for value in _lists(values):
        if not -len(value) <= index < len(value):
            raise PathError(f"array index out of bounds: index {index}, length {len(value)}")
        found.append(value[index])
    return found


def _slice(bounds: tuple[int | None, int | None, int | None], values: Sequence[Any], budget: Budget) -> list[Any]:
    start, stop, step = bounds
    if step is not None and step <= 0:
        raise PathError("step must be > 0")
    found: list[Any] = []
    for value in _lists(values):
        size = len(value)
        first = 0 if start is None else start + size * (start < 0)
        last = size if stop is None else stop + size * (stop < 0)
        if first == last:
            return found
        if not (0 <= first < size and first < last <= size):
            raise PathError(f"array index out of bounds: index {first}, length {size}")
        part = value[first:last:step]
        budget.spend(len(part))
        found += part
    return found


def _lists(values: Sequence[Any]) -> list[list[Any]]:
    present = [value for value in values if value is not None]
    for value in present:
        if not isinstance(value, list):
            raise PathError("not array or slice")
    return present


def _union(branches: Sequence[Sequence[Step]], values: Sequence[Any], budget: Budget) -> list[Any]:
    return [found for steps in branches for found in _walk(steps, values, budget)]


def _filter(test: Callable[[Any, Budget], bool], values: Sequence[Any], budget: Budget) -> list[Any]:
    if any(not isinstance(value, list) for value in values):
        raise PathError("not array or slice and cannot be filtered")
    return [item for value in values for item in value if test(item, budget)]


def _exists(steps: Sequence[Step], item: Any, budget: Budget) -> bool:
    try:
        return bool(_walk(steps, [item], budget))
    except PathError:
        budget.spend(0)  # the path may not fit an item; a used-up budget raises here
        return False


def _compares(left: Sequence[Step], sign: str, right: Sequence[Step], item: Any, budget: Budget) -> bool:
    compare = _COMPARISONS.get(sign)
    sides = _walk(left, [item], budget), _walk(right, [item], budget)
    if not all(sides):
        return False
    if any(len(side) > 1 for side in sides):
        raise PathError("can only compare one element at a time")
    one, other = sides[0][0], sides[1][0]
    if compare is None or type(one) is not type(other) or not isinstance(one, str | int | float):
        raise PathError("incompatible types for comparison")
    return bool(compare(one, other))


_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


# ------------------------------------------------------------------------------------------------------------ reading

_FIELD = re.compile(r"(?:\\.|[^\\\s.,\[\]$@{}])*", re.DOTALL)
_NUMBER = re.compile(r"[+-]?[0-9.]+")
_WORD = re.compile(r"\w[^\s.,\[\]$@{}]*")
_ARRAY = re.compile(r"\[([^\]\n]*)\]")
_KEY = re.compile(r"^'([^']*)'$")
_BOUNDS = re.compile(r"(-?[0-9]*)(:-?[0-9]*)?(:-?[0-9]*)?")
_CONDITION = re.compile(r"([^!<>=]+)([!<>=]+)(.+)", re.DOTALL)
_QUOTED = re.compile(r""""((?:[^"\\\n]|\\.)*)"|'((?:[^'\\\n]|\\.)*)'""")
_FILTER = re.compile(r"""\[\?\(((?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|[^"'\n)])*)\)\]""")


class _Reader:
    """Parser from the text of a path to its steps; raises PathError where kubectl's parser fails."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.found: list[Step] = []

    def steps(self) -> list[Step]:
        while self.position < len(self.text):
            self._step(self.text[self.position])
        return self.found

    def _match(self, pattern: re.Pattern[str], otherwise: str) -> re.Match[str]:
        match = pattern.match(self.text, self.position)
        if match is None:
            raise PathError(otherwise)
        self.position = match.end()
        return match

    def _step(self, sign: str) -> None:
        if self.text.startswith("[?(", self.position):
            self._filter(self._match(_FILTER, "unterminated filter").group(1))
        elif self.text.startswith("..", self.position):
            self._descent()
        elif sign in " @$":
            self.position += 1  # the object itself
        elif sign == "[":
            self._array(self._match(_ARRAY, "unterminated array").group(1))
        elif sign in "\"'":
            quoted = self._match(_QUOTED, "unterminated quoted string")
            text = quoted.group(1) if quoted.group(1) is not None else quoted.group(2)
            self._add(_literal, re.sub(r"\\(.)", r"\1", text))
        elif sign == ".":
            self.position += 1
            self._field()
        elif sign in "+-0123456789":
            self._number(self._match(_NUMBER, f"cannot parse number {sign}").group())
        else:
            self._word(self._match(_WORD, f"unrecognized character in action: {sign}").group())

    def _add(self, step: Callable[..., list[Any]], *arguments: Any) -> None:
        self.found.append(partial(step, *arguments))

    def _field(self) -> None:
        name = self._match(_FIELD, "unclosed action").group()
        if name == "*":
            self._add(_every)
        else:
            self._add(_field, name.replace("\\", ""))

    def _descent(self) -> None:
        if self.text.startswith("..", self.position + 2):
            raise PathError("invalid multiple recursive descent")
        self.position += 2
        self._add(_descend)
        following = self.text[self.position : self.position + 1]
        if following.isalnum() or following == "_":
            self._field()

    def _number(self, text: str) -> None:
        try:
            whole = whole_numbers.parse(text)
            self._add(_literal, float(text) if whole is None else whole)
        except ValueError:
            raise PathError(f"cannot parse number {text}") from None

    def _word(self, word: str) -> None:
        if word not in ("true", "false"):
            raise PathError(f"unrecognized identifier {word}")
        self._add(_literal, word == "true")

    def _array(self, inside: str) -> None:
        parts = inside.split(",")
        if len(parts) > 1:
            self._add(_union, [_Reader(f"[{part.strip()}]").steps() for part in parts])
        elif key := _KEY.match(inside):
            self.found += _Reader(f".{key.group(1)}").steps()
        else:
            self._bounds(":" if inside == "*" else inside)

    def _bounds(self, text: str) -> None:
        match = _BOUNDS.fullmatch(text)
        if match is None:
            raise PathError(f"invalid array index {text}")
        numbers = [_bound(part) for part in match.groups()]
        if match.group(2) is None and match.group(3) is None:
            self._add(_index, numbers[0] or 0)
        else:
            self._add(_slice, (numbers[0], numbers[1], numbers[2]))

    def _filter(self, inside: str) -> None:
        condition = _CONDITION.fullmatch(inside)
        if condition is None:
            self._add(_filter, partial(_exists, _Reader(inside).steps()))
            return
        left, sign, right = condition.groups()
        self._add(_filter, partial(_compares, _Reader(left).steps(), sign, _Reader(right).steps()))


def _bound(part: str | None) -> int | None:
    digits = (part or "").lstrip(":")
    if digits == "-":
        raise PathError(f"array index {digits} is not a number")
    return whole_numbers.clamped(digits) if digits else None
