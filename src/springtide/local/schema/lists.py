# SPDX-License-Identifier: Apache-2.0
"""Rules that follow from a custom object's schema: unique list items and keys, embedded resources.

Run after value validation; both walk the `Node` graph, and only where the schema has such lists or resources.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from springtide.api import field_errors
from springtide.local.schema.node import Node, Shape
from springtide.local.schema.paths import ROOT, Key, Path, Problem, written

_encode = msgspec.json.Encoder(order="deterministic").encode


def mentions(node: Node) -> bool:
    """Whether the node or any below it needs these rules. Metadata has its own validation."""
    if node.list_type in ("set", "map") or node.embedded:
        return True
    inner = [field.node for name, field in node.fields.items() if name != "metadata"]
    return any(mentions(child) for child in ([*inner, node.item] if node.item is not None else inner))


def list_problems(obj: Any, node: Node) -> list[Problem]:
    """Duplicates in lists of type set and map."""
    return list(_walk_lists(obj, node, ROOT))


def _children(value: Any, node: Node, path: Path) -> Iterator[tuple[Any, Node, Path]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in node.fields:
                if not (key == "metadata" and node.fields[key].node.name):
                    yield inner, node.fields[key].node, (path, key)
            elif node.shape is Shape.MAP and node.item is not None:
                yield inner, node.item, (path, Key(key))
    elif isinstance(value, list) and node.item is not None:
        for index, inner in enumerate(value):
            yield inner, node.item, (path, index)


def _walk_lists(value: Any, node: Node, path: Path) -> Iterator[Problem]:
    if isinstance(value, list) and node.list_type == "set":
        for index in _repeated(value):
            yield Problem(path, field_errors.duplicate(written((path, index)), value[index]))
    elif isinstance(value, list) and node.list_type == "map":
        yield from _repeated_keys(value, node, path)
    for inner, child, place in _children(value, node, path):
        yield from _walk_lists(inner, child, place)


def _repeated_keys(values: list[Any], node: Node, path: Path) -> Iterator[Problem]:
    for index, value in enumerate(values):
        if value is not None and not isinstance(value, dict):
            detail = "must be an object for an array of list-type map"
            yield Problem(path, field_errors.invalid(written((path, index)), value, detail))
            return
    keys = [{key: value[key] for key in node.list_keys if key in value} if value else {} for value in values]
    for index in _repeated(keys):
        yield Problem(path, field_errors.duplicate(written((path, index)), keys[index]))


def _repeated(values: list[Any]) -> list[int]:
    """Index of the second occurrence of each repeated value; later ones are not reported."""
    counts: dict[bytes, int] = {}
    found = []
    for index, value in enumerate(values):
        encoded = _encode(value)
        counts[encoded] = counts.get(encoded, 0) + 1
        if counts[encoded] == 2:
            found.append(index)
    return found


def embedded_problems(obj: Any, node: Node) -> list[Problem]:
    """Embedded resources must have apiVersion and kind."""
    return list(_walk_embedded(obj, node, ROOT))


def _walk_embedded(value: Any, node: Node, path: Path) -> Iterator[Problem]:
    if node.embedded and isinstance(value, dict):
        for key in ("apiVersion", "kind"):
            if key not in value:
                yield Problem(path, field_errors.required(written((path, key))))
            elif value[key] == "":
                yield Problem(path, field_errors.invalid(written((path, key)), "", "must not be empty"))
    for inner, child, place in _children(value, node, path):
        yield from _walk_embedded(inner, child, place)
