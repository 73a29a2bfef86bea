# SPDX-License-Identifier: Apache-2.0
"""Lets an update pass that does not make things worse.

When a schema grew stricter, objects that break it must still be updatable elsewhere: a complaint is dropped when the
value it is about, or anything around it, is the same as before. List items can be compared only in lists of type map.
"""

from __future__ import annotations

from typing import Any, Final

from springtide.local.schema.node import Node
from springtide.local.schema.paths import Path, Problem, steps

GONE: Final = object()
"""There is no old value that corresponds."""


def introduced(problems: list[Problem], new: Any, old: Any, node: Node) -> list[Problem]:
    """The problems that the update brings in."""
    return [problem for problem in problems if not unchanged(problem.path, new, old, node)]


def unchanged(path: Path, new: Any, old: Any, node: Node | None) -> bool:
    """Whether the value at the path, or one that contains it, is as it was."""
    for step in steps(path):
        new, old, node = _down(new, old, node, step)
        if old is GONE:
            return False
        if new == old:
            return True
    return False


def _down(new: Any, old: Any, node: Node | None, step: str | int) -> tuple[Any, Any, Node | None]:
    """One step further in both objects; `GONE` where the old one has nothing that corresponds."""
    if isinstance(step, int):
        item = new[step]
        return item, partner(item, old, node), node.item if node is not None else None
    if not isinstance(old, dict) or step not in old or step not in new:
        return None, GONE, None
    field = node.fields.get(step) if node is not None else None
    inner = field.node if field is not None else node.item if node is not None else None
    return new[step], old[step], inner


def partner(item: Any, old: Any, node: Node | None) -> Any:
    """The old list's item with the same keys."""
    if node is None or node.list_type != "map" or not isinstance(old, list) or not isinstance(item, dict):
        return GONE
    wanted = [item.get(key) for key in node.list_keys]
    for candidate in old:
        if isinstance(candidate, dict) and [candidate.get(key) for key in node.list_keys] == wanted:
            return candidate
    return GONE
