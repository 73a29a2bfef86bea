# SPDX-License-Identifier: Apache-2.0
"""Documents of YAML or JSON as the values that JSON has, as kubectl reads them. Small texts stay small.

YAML knows more than JSON: dates, which are texts here, keys of any type, and aliases, with which a few lines stand for
more than any memory holds.
"""

from __future__ import annotations

import math
from typing import Any, Final

import msgspec
import yaml

_DEEPEST: Final = 200
_MOST: Final = 5_000_000
"""Values in all documents together, aliases replaced."""
_LEAST_NUMBER, _GREATEST_NUMBER = -(1 << 63), (1 << 64) - 1
_TIME: Final = "tag:yaml.org,2002:timestamp"


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # either one
    """A time is text, as in JSON."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in found if tag != _TIME]
    for first, found in _Loader.yaml_implicit_resolvers.items()
}


def read(content: str) -> list[Any]:
    """yaml.YAMLError or ValueError for what is none."""
    return _Values().of_list(_json(content) or _yaml(content))


def _json(content: str) -> list[Any]:
    """Empty for what is none. YAML lacks the characters that JSON writes as pairs of surrogates."""
    try:
        return [msgspec.json.decode(content)]
    except (msgspec.DecodeError, RecursionError):
        return []


def _yaml(content: str) -> list[Any]:
    _check_depth(content)
    return list(yaml.load_all(content, Loader=_Loader))


def _check_depth(content: str) -> None:
    depth = 0
    for event in yaml.parse(content, Loader=_Loader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise _too_deep()


def _too_deep() -> ValueError:
    return ValueError(f"it is nested more than {_DEEPEST} levels deep")


class _Values:
    """What an alias stands for is read once, and counted as often as it is named."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, int]] = {}
        self._open: set[int] = set()
        self._count = 0

    def of(self, value: Any) -> Any:
        match value:
            case dict() | list():
                return self._of_collection(value)
            case int() if not isinstance(value, bool) and not _LEAST_NUMBER <= value <= _GREATEST_NUMBER:
                raise ValueError(f"the number {str(value)[:20]}… has more than 64 bits")
            case float() if not math.isfinite(value):
                raise ValueError(f"{value} is no number of JSON")
            case None | bool() | int() | float():
                pass
            case str():
                value.encode()
            case _:
                raise ValueError(f"a value is a {type(value).__name__}, which JSON does not have")
        self._add(1)
        return value

    def of_list(self, values: list[Any]) -> list[Any]:
        return [self.of(each) for each in values]

    def _of_collection(self, value: Any) -> Any:
        if id(value) in self._open:
            raise ValueError("an alias stands for what it is in")
        if id(value) in self._known:
            found, count = self._known[id(value)]
            self._add(count)
            return found
        if len(self._open) >= _DEEPEST:
            raise _too_deep()
        self._open.add(id(value))
        before = self._count
        self._add(1)
        found = self.of_list(value) if isinstance(value, list) else {_key(n): self.of(v) for n, v in value.items()}
        self._open.remove(id(value))
        self._known[id(value)] = found, self._count - before
        return found

    def _add(self, count: int) -> None:
        self._count += count
        if self._count > _MOST:
            raise ValueError("its aliases stand for more than an object can hold")


def _key(name: Any) -> str:
    """As kubectl makes a text of it."""
    match name:
        case str():
            return name
        case bool():
            return str(name).lower()
        case int():
            return str(name)
    raise ValueError(f"a key is a {type(name).__name__}, which JSON does not have")
