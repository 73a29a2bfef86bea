# SPDX-License-Identifier: Apache-2.0
"""Limits on the depth and size of a body, checked before it becomes an object.

kube-apiserver allows 10,000 levels; here every level takes a few Python frames in schema, admission and managedFields,
and no real object comes near this limit. YAML is far slower to read than JSON, and an alias can stand for a million
values, so YAML is measured by its events before any object is built: the loader itself recurses in C, where too much
depth kills the process.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

MAX_DEPTH = 128
MAX_CONTAINERS = 65_536
MAX_VALUES = 120_000
"""Objects and lists of a JSON body, and all of its values: two characters become an object of hundreds of bytes, and
several times that while it is defaulted, tracked and validated. The largest real definitions have half as many."""
MAX_YAML_VALUES = 50_000
TOO_DEEP = "exceeded max depth"

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class TooMuch(ValueError):
    """A limit is exceeded; the message names it."""


_STRING = re.compile(rb'"[^"]*"')


def check_size(body: bytes) -> None:
    """Check a JSON body before it is decoded. Only a body that looks too large is examined without its strings."""
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
    """Check the depth of `value`, decoded from `body`. For nearly all bodies a count of brackets is sufficient."""
    if body.count(b"{") + body.count(b"[") <= MAX_DEPTH:
        return
    check_depth(value)


def check_depth(value: Any) -> None:
    """Raise TooMuch when the value is too deep. Level by level, so that no depth can exhaust the stack."""
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [child for parent in level for child in _children(parent) if isinstance(child, (dict, list))]
        if not level:
            return
    raise TooMuch(TOO_DEEP)


def _children(value: Any) -> Any:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def load_yaml(body: bytes) -> Any:
    """The first document. Raises YAMLError; TooMuch before any time or stack is spent."""
    _measure(body)
    return yaml.load(body, Loader=_Loader)  # a SafeLoader, the C version where available


def _measure(body: bytes) -> None:
    measured = _Measured()
    for event in yaml.parse(body, Loader=_Loader):
        measured.take(event)
        if len(measured.open) > MAX_DEPTH:
            raise TooMuch(TOO_DEEP)
        if measured.total > MAX_YAML_VALUES:
            raise TooMuch("document contains excessive aliasing, or more values than are read as YAML: send it as JSON")


class _Measured:
    """Number of values that the events so far stand for; an alias counts as the value it repeats."""

    def __init__(self) -> None:
        self.total = 0
        self.open: list[tuple[str | None, int]] = []  # anchor, and the number of values before it
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
