# SPDX-License-Identifier: Apache-2.0
"""How deep and how large a body may be before it is turned into an object.

The real server allows 10,000 levels; here every level costs a few Python frames on the way through schema, admission
and managedFields, and nothing real comes near this bound. YAML is far slower to read than JSON, and an alias can stand
for a million values, so it is measured on its events before anything is built: the loader itself recurses in C, where
too deep means a dead process.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

MAX_DEPTH = 128
MAX_CONTAINERS = 65_536
MAX_VALUES = 120_000
"""Objects and lists of a JSON body, and values of all of them: two letters become an object of hundreds of bytes, and
several times that while it is defaulted, tracked and validated. The largest definitions people write have half."""
MAX_YAML_VALUES = 50_000
TOO_DEEP = "exceeded max depth"

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class TooMuch(ValueError):
    """Beyond a bound; the message says which."""


_STRING = re.compile(rb'"[^"]*"')


def check_size(body: bytes) -> None:
    """Before a JSON body is read. Only what looks too large is looked at more closely: signs in strings are none."""
    if _is_small(body):
        return
    without_escapes = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    strings = without_escapes.count(b'"') // 2
    if strings <= 3 * MAX_VALUES:
        structure = _STRING.sub(b"", without_escapes)
        if _is_small(structure):
            return
        if structure.count(b"{") + structure.count(b"[") > MAX_DEPTH * (structure.count(b",") + 1):
            raise TooMuch(TOO_DEEP)  # too few branches for so many levels
    raise TooMuch(f"more than {MAX_CONTAINERS} objects and lists, or more than {MAX_VALUES} values, in one body")


def _is_small(body: bytes) -> bool:
    if len(body) <= MAX_CONTAINERS:
        return True
    return body.count(b"{") + body.count(b"[") <= MAX_CONTAINERS and body.count(b",") <= MAX_VALUES


def check_json(body: bytes, value: Any) -> None:
    """`value` was decoded from `body`. Counting brackets settles nearly all bodies without a look at the value."""
    if body.count(b"{") + body.count(b"[") <= MAX_DEPTH:
        return
    check_depth(value)


def check_depth(value: Any) -> None:
    """Level by level, so that no depth can exhaust the stack."""
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [child for parent in level for child in _children(parent) if isinstance(child, (dict, list))]
        if not level:
            return
    raise TooMuch(TOO_DEEP)


def _children(value: Any) -> Any:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def load_yaml(body: bytes) -> Any:
    """The first document. YAMLError, or TooMuch before any time or stack is spent on it."""
    _measure(body)
    return yaml.load(body, Loader=_Loader)  # a SafeLoader, in C where there is one


def _measure(body: bytes) -> None:
    measured = _Measured()
    for event in yaml.parse(body, Loader=_Loader):
        measured.take(event)
        if len(measured.open) > MAX_DEPTH:
            raise TooMuch(TOO_DEEP)
        if measured.total > MAX_YAML_VALUES:
            raise TooMuch("document contains excessive aliasing, or more values than are read as YAML: send it as JSON")


class _Measured:
    """How many values the events so far stand for, aliases counted as what they repeat."""

    def __init__(self) -> None:
        self.total = 0
        self.open: list[tuple[str | None, int]] = []  # anchor, and how many values came before
        self._sizes: dict[str | None, int] = {}

    def take(self, event: yaml.Event) -> None:
        if isinstance(event, yaml.CollectionStartEvent):
            self.open.append((event.anchor, self.total))
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = self.open.pop()
            self.total += 1
            self._sizes[anchor] = self.total - before
        elif isinstance(event, yaml.ScalarEvent):
            self.total += 1
            self._sizes[event.anchor] = 1
        elif isinstance(event, yaml.AliasEvent):
            if any(anchor == event.anchor for anchor, _ in self.open):
                raise TooMuch(f"anchor '{event.anchor}' value contains itself")
            self.total += self._sizes.get(event.anchor, 1)
