# SPDX-License-Identifier: Apache-2.0
"""Ratcheting validation: accepts updates that add no errors.

When a schema becomes stricter, objects that violate it must remain updatable elsewhere: an error is dropped when its
value, or anything that contains it, is unchanged. List items can be compared only in lists of type map.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from springtide.local.schema.node import Node
from springtide.local.schema.paths import Path, Problem, steps

GONE: Final = object()
"""No corresponding old value."""


def introduced(problems: list[Problem], new: Any, old: Any, node: Node) -> list[Problem]:
    """The problems that the update introduces."""
    known = _Known()
    return [problem for problem in problems if not _unchanged(problem.path, (new, old, node), known)]


class _Known:
    """Results shared between the problems of one object, by the identities of values, which are kept alive."""

    def __init__(self) -> None:
        self._equal: dict[tuple[int, int], bool] = {}
        self._partners: dict[int, Partners] = {}

    def equal(self, new: Any, old: Any) -> bool:
        found = self._equal.get((id(new), id(old)))
        if found is None:
            found = self._equal[id(new), id(old)] = bool(new == old)
        return found

    def partner(self, item: Any, old: Any, node: Node | None) -> Any:
        if id(old) not in self._partners:
            self._partners[id(old)] = Partners(old, node)
        return self._partners[id(old)].of(item)


class Partners:
    """The items of an old list, by the keys that match them with new items."""

    def __init__(self, old: Any, node: Node | None) -> None:
        self._node = node if node is not None and node.list_type == "map" and isinstance(old, list) else None
        self._by_keys: dict[bytes, Any] = {}
        if self._node is not None:
            for item in old:
                if isinstance(item, dict):
                    self._by_keys.setdefault(_keys(item, self._node), item)

    def of(self, item: Any) -> Any:
        """The old item with the same keys, or `GONE`."""
        if self._node is None or not isinstance(item, dict):
            return GONE
        return self._by_keys.get(_keys(item, self._node), GONE)


def _keys(item: dict[str, Any], node: Node) -> bytes:
    return msgspec.json.encode([item.get(key) for key in node.list_keys], order="deterministic")


def _unchanged(path: Path, place: tuple[Any, Any, Node | None], known: _Known) -> bool:
    """Whether the value at the path, or one that contains it, is unchanged."""
    for step in steps(path):
        place = _down(*place, step, known)
        if place[1] is GONE:
            return False
        if known.equal(place[0], place[1]):
            return True
    return False


def _down(new: Any, old: Any, node: Node | None, step: str | int, known: _Known) -> tuple[Any, Any, Node | None]:
    """One step down in both objects; `GONE` where the old one has no corresponding value."""
    if isinstance(step, int):
        item = new[step]
        return item, known.partner(item, old, node), node.item if node is not None else None
    if not isinstance(old, dict) or step not in old or step not in new:
        return None, GONE, None
    field = node.fields.get(step) if node is not None else None
    inner = field.node if field is not None else node.item if node is not None else None
    return new[step], old[step], inner
