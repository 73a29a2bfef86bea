# SPDX-License-Identifier: Apache-2.0
"""Schema defaults, filled in where an object has no value.

The API server applies them to every object it decodes, built-in or custom, and to custom objects it reads back (a
default added to a CRD later appears in old objects). A node is compiled once; branches without any default cost
nothing. Defaults computed by Go's defaulting functions are in the kinds' strategies.

A list of `{}` and a schema with a long default turn a few characters into an object of gigabytes: the caller limits how
much defaults may add.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any, Final

from springtide.local.schema.node import MISSING, Node, Shape

MOST: Final = 3 << 19
"""Maximum bytes that defaults may add to one object: the maximum size of an object."""
_LEAST: Final = 16
"""Minimum size counted for a default: in memory it is longer than in JSON."""


class TooManyDefaults(ValueError):
    """Defaults would exceed their limit; those already filled in remain."""

    def __init__(self) -> None:
        super().__init__(f"the defaults of its schema would add more than {MOST} bytes")


class Room:
    """Remaining size of defaults that may be added, in bytes of JSON."""

    __slots__ = ("_left", "is_whole")

    def __init__(self, size: int = MOST) -> None:
        self._left = size
        self.is_whole = size >= MOST
        """Whether this is the full limit, so that no larger room can be tried."""

    def take(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise TooManyDefaults


Fill = Callable[[Any, Room], None]

_ATOMS = (str, int, float, bool)
_compiled: dict[int, tuple[Node, Fill | None]] = {}


def apply_defaults(obj: Any, node: Node, room: Room | None = None) -> None:
    """Fill in the schema's defaults, in place."""
    entry = _compiled.get(id(node))
    if entry is None:
        entry = _compiled[id(node)] = (node, compile_defaults(node))
    if entry[1] is not None:
        entry[1](obj, room or Room())


def compile_defaults(node: Node) -> Fill | None:
    """A function that fills in the defaults of a position, or None where there are none."""
    return _Compiler(_with_defaults(node)).fill(node)


def _with_defaults(root: Node) -> set[int]:
    """Ids of nodes that lead to a default. Computed by iteration to a fixed point, because graphs have cycles."""
    nodes = list(_reachable(root).values())
    found: set[int] = set()
    while True:
        more = {id(node) for node in nodes if id(node) not in found and _leads(node, found)}
        if not more:
            return found
        found |= more


def _leads(node: Node, found: set[int]) -> bool:
    if node.item is not None and id(node.item) in found:
        return True
    return any(field.default is not MISSING or id(field.node) in found for field in node.fields.values())


def _reachable(root: Node) -> dict[int, Node]:
    seen = {id(root): root}
    todo = [root]
    while todo:
        node = todo.pop()
        inner = [field.node for field in node.fields.values()]
        for child in [*inner, node.item] if node.item is not None else inner:
            if id(child) not in seen:
                seen[id(child)] = child
                todo.append(child)
    return seen


class _Compiler:
    """Closures for the nodes of one graph; each is made once, so that a cycle ends at the first one."""

    def __init__(self, wanted: set[int]) -> None:
        self._wanted = wanted
        self._made: dict[int, Fill] = {}

    def fill(self, node: Node | None) -> Fill | None:
        if node is None or id(node) not in self._wanted:
            return None
        made = self._made.get(id(node))
        if made is not None:
            return made
        return self._items(node) if node.shape in (Shape.LIST, Shape.MAP) else self._struct(node)

    def _items(self, node: Node) -> Fill:
        inner = self.fill(node.item)

        def fill(values: Any, room: Room) -> None:
            if inner is not None:
                for value in values.values() if type(values) is dict else values if type(values) is list else ():
                    inner(value, room)

        self._made[id(node)] = fill
        return fill

    def _struct(self, node: Node) -> Fill:
        missing: list[tuple[str, bool, int, Callable[[], Any]]] = []
        deeper: dict[str, Fill] = {}

        def fill(obj: Any, room: Room) -> None:
            if type(obj) is not dict:
                return
            for name, nullable, size, default in missing:
                if name not in obj or (obj[name] is None and not nullable):
                    room.take(size)
                    obj[name] = default()
            for name in obj.keys() & deeper.keys():
                deeper[name](obj[name], room)

        self._made[id(node)] = fill
        for name, field in node.fields.items():
            if field.default is not MISSING and field.default is not None:
                size = max(_LEAST, len(name) + len(json.dumps(field.default)))
                missing.append((name, field.node.nullable, size, _fresh(field.default)))
            inner = self.fill(field.node)
            if inner is not None:
                deeper[name] = inner
        return fill


def _fresh(default: Any) -> Callable[[], Any]:
    """A factory of defaults that returns a new copy of mutable ones."""
    if isinstance(default, _ATOMS):
        return lambda: default
    if isinstance(default, Mapping) and not default:
        return dict
    return lambda: deepcopy(default)
