# SPDX-License-Identifier: Apache-2.0
"""Merges an applied configuration into an object, and removes fields from one, by the schema's list types.

The object side of server-side apply. Lists that are sets or maps are merged item by item: items of the configuration
keep its order, all others keep their position. Arguments are never changed; results share parts with them.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Final

from springtide.local.patches.comparison import DEDUCED, child_of, element_of, is_granular
from springtide.local.patches.field_sets import LEAF, SELF, FieldSet, is_member
from springtide.local.schema.node import Node, Shape

_ABSENT: Final = object()


def merge(live: Any, config: Any, node: Node) -> Any:
    """Merge `config` into `live`. Nothing is removed: an empty container or null leaves a non-empty one unchanged."""
    if config is None and live and is_granular(live, node):
        return live
    if type(config) is dict and (live is None or type(live) is dict) and is_granular(config, node):
        return _merge_maps(live, config, node) if live else config
    if type(config) is list and (live is None or type(live) is list) and is_granular(config, node):
        return _merge_lists(live, config, node) if live else config
    return config


def _merge_maps(live: dict[str, Any], config: dict[str, Any], node: Node) -> dict[str, Any]:
    out: dict[str, Any] | None = None
    for name, wanted in config.items():
        has = live.get(name, _ABSENT)
        merged = wanted if has is _ABSENT else merge(has, wanted, child_of(node, name))
        if merged is not has:
            if out is None:
                out = dict(live)
            out[name] = merged
    return live if out is None else out


def _merge_lists(live: list[Any], config: list[Any], node: Node) -> list[Any]:
    """Walk along both lists, aligned at the items they share."""
    live_order = [element_of(item, node) for item in live]
    wanted = {element_of(item, node): item for item in config}
    has: dict[str, Any] = {}
    for element, item in zip(live_order, live, strict=True):
        # Duplicates are not merged: the configuration's item replaces them all.
        has[element] = None if element in has else item
    order = list(wanted)
    shared = deque(element for element in order if element in has)
    below = node.item or DEDUCED
    done: set[str] = set()
    out: list[Any] = []
    left = right = 0
    while left < len(live_order) or right < len(order):
        if left < len(live_order):
            element = live_order[left]
            if element not in wanted:
                out.append(live[left])
                left += 1
                continue
            # A shared item out of order: it is added at its position in the configuration.
            waits = right < len(order) and bool(shared) and shared[0] != element
            if waits or element in done:
                left += 1
            if waits or right == len(order):
                continue
        element = order[right]
        out.append(merge(has[element], wanted[element], below) if element in has else wanted[element])
        done.add(element)
        right += 1
        if shared and shared[0] == element:
            shared.popleft()
            if left < len(live_order) and live_order[left] == element:
                left += 1
    return out


def take_out(value: Any, fields: FieldSet, node: Node) -> Any:
    """The value without the members of `fields`; None when a container becomes empty."""
    if not value or not is_granular(value, node):
        return None if type(value) in (dict, list) else value
    if type(value) is list:
        kept = [item for item in (_item_left(item, fields, node) for item in value) if item is not _ABSENT]
        return kept or None
    out: dict[str, Any] = {}
    for name, part in value.items():
        found = fields.get(f"f:{name}")
        if found is None:
            out[name] = part
        elif not is_member(found):
            out[name] = take_out(part, found, child_of(node, name))
    return out or None


def _item_left(item: Any, fields: FieldSet, node: Node) -> Any:
    found = fields.get(element_of(item, node))
    if found is None:
        return item
    return _ABSENT if is_member(found) else take_out(item, found, node.item or DEDUCED)


def named(fields: FieldSet, node: Node) -> FieldSet:
    """The set plus the struct fields above its members (but not map keys or list items)."""
    out: FieldSet = {}
    for element, below in fields.items():
        if not below:
            out[element] = below
            continue
        deeper = named(below, _below(element, node))
        if SELF not in deeper and element.startswith("f:") and element[2:] in node.fields:
            deeper = {SELF: LEAF, **deeper}
        out[element] = deeper
    return out


def _below(element: str, node: Node) -> Node:
    if element.startswith("f:"):
        return child_of(node, element[2:])
    return node.item if node.shape is Shape.LIST and node.item is not None else DEDUCED
