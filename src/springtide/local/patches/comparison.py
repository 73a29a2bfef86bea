# SPDX-License-Identifier: Apache-2.0
"""Field sets of objects and differences between two objects, by the schema's list and map types.

The basis of managedFields and server-side apply. Equal subtrees are skipped at native speed, so the cost of a
comparison depends on the changes. An untyped object (`Shape.ANY`, unknown fields) is compared map by map, with its
lists as single values. Managers and conflicts are handled elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from springtide.local.patches.field_sets import (
    LEAF,
    SELF,
    FieldSet,
    as_member,
    key_element,
    value_element,
    without_self,
)
from springtide.local.schema.node import MISSING, Node, Shape

DEDUCED: Final = Node(Shape.ANY, preserve_unknown=True)
"""The node of a value without a schema."""

_ABSENT: Final = object()
_ZERO_SCALARS: Final[Mapping[str, Any]] = {
    "string": "",
    "int32": 0,
    "int64": 0,
    "float64": 0,
    "bool": False,
    "quantity": "0",
    "int-or-string": 0,
    "duration": "0s",
}


class ElementError(ValueError):
    """A list item without a unique identity."""


class Difference(NamedTuple):
    changed: FieldSet
    """Fields that were added or have a new value."""
    removed: FieldSet


def child_of(node: Node, name: str) -> Node:
    """The node of a field or key of an object."""
    found = node.fields.get(name)
    if found is not None:
        return found.node
    return node.item if node.item is not None and node.shape is not Shape.ANY else DEDUCED


def is_granular(value: Any, node: Node) -> bool:
    """Whether the parts of this value have their own owners; otherwise it is one leaf."""
    if type(value) is dict:
        return not node.atomic and node.scalar != "raw"
    return type(value) is list and node.shape is Shape.LIST and node.list_type != "atomic"


def element_of(item: Any, node: Node) -> str:
    """The path element of one item of a granular list."""
    if not node.list_keys:
        if item is None:
            raise ElementError("associative list without keys has an element that's an explicit null")
        if type(item) is dict:
            raise ElementError("associative list without keys has an element that's a map type")
        if type(item) is list:
            raise ElementError("not supported: associative list with lists as elements")
        return value_element(item)
    if type(item) is not dict:
        what = "a null element" if item is None else "non-map elements"
        raise ElementError(f"associative list with keys may not have {what}")
    keys: dict[str, Any] = {}
    for name in node.list_keys:
        value = item.get(name, _ABSENT)
        if value is _ABSENT:
            value = _default_key(node, name)
        if value is not _ABSENT:
            keys[name] = value
    if not keys:
        names = " ".join(f'"{name}"' for name in node.list_keys)
        raise ElementError(
            f"associative list with keys has an element that omits all key fields [{names}] "
            "(and doesn't have default values for any key fields)"
        )
    return key_element(keys)


_REFERENCE = ".LocalObjectReference"  # its name may be omitted and then has the empty string as default


def _default_key(node: Node, name: str) -> Any:
    found = node.item.fields.get(name) if node.item is not None else None
    if found is None or node.item is None:
        return _ABSENT
    if found.default is not MISSING:
        return found.default
    # A plain field of a Go struct is never absent: its OpenAPI default is the zero value.
    if node.item.name and not found.pointer and (not found.omit_empty or node.item.name.endswith(_REFERENCE)):
        return _ZERO_SCALARS.get(found.node.scalar, _ABSENT)
    return _ABSENT


def zero(node: Node) -> dict[str, Any]:
    """A new, empty Go struct of this type in JSON: a create is compared with it, not with an empty object.

    Custom resources have no Go struct; theirs is empty.
    """
    known = _zeros.get(node.name)
    if known is None:
        known = _zeros[node.name] = _zero_struct(node) if node.name else {}
    return known


_zeros: dict[str, dict[str, Any]] = {}


def _zero_struct(node: Node) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, found in node.fields.items():
        if found.omit_empty:
            continue
        is_struct = found.node.shape is Shape.OBJECT and not found.pointer
        out[name] = _zero_struct(found.node) if is_struct else _zero_value(found.node, found.pointer)
    return out


def _zero_value(node: Node, pointer: bool) -> Any:
    return None if pointer or node.shape is not Shape.SCALAR else _ZERO_SCALARS.get(node.scalar)


def present(value: Any, node: Node) -> FieldSet:
    """All fields of a subtree that was added or removed as a whole, including containers."""
    if type(value) is dict:
        if not value or node.atomic or node.scalar == "raw":
            return LEAF
        return _present_map(value, node)
    if type(value) is list and value and node.list_type != "atomic" and node.shape is Shape.LIST:
        out: FieldSet = {SELF: LEAF}
        below = node.item or DEDUCED
        for item in value:
            element = element_of(item, node)
            out[element] = LEAF if element in out else present(item, below)
        return out
    return LEAF


def _present_map(value: dict[str, Any], node: Node) -> FieldSet:
    out: FieldSet = {SELF: LEAF}
    fields = node.fields
    for name, part in value.items():
        if type(part) is dict or type(part) is list:
            found = fields.get(name)
            out["f:" + name] = present(part, found.node if found is not None else child_of(node, name))
        else:
            out["f:" + name] = LEAF
    return out


def owned(value: Any, node: Node) -> FieldSet | None:
    """The fields that a manager owns by applying this value: leaves, map entries and list items, not containers."""
    if type(value) is list:
        return _owned_list(value, node) if is_granular(value, node) else LEAF
    if type(value) is not dict or not value or not is_granular(value, node):
        return LEAF
    out: FieldSet = {}
    for name, part in value.items():
        found = node.fields.get(name)
        below = owned(part, found.node if found is not None else child_of(node, name))
        if found is None:
            out["f:" + name] = as_member(below)
        elif below is not None:
            out["f:" + name] = below
    return out or None


def _owned_list(items: list[Any], node: Node) -> FieldSet | None:
    out: FieldSet = {}
    below = node.item or DEDUCED
    for item in items:
        element = element_of(item, node)
        out[element] = LEAF if element in out else as_member(owned(item, below))
    return out or None


def compare(before: dict[str, Any], after: dict[str, Any], node: Node) -> Difference:
    """The difference between two states of one object."""
    changed, removed = _compare_maps(before, after, node)
    return Difference(changed or {}, removed or {})


_Parts: TypeAlias = "tuple[FieldSet | None, FieldSet | None]"


def _compare_maps(before: dict[str, Any], after: dict[str, Any], node: Node) -> _Parts:
    changed: FieldSet = {}
    removed: FieldSet = {}
    for name, now in after.items():
        was = before.get(name, _ABSENT)
        if was is now or was == now:
            continue
        below = child_of(node, name)
        if was is _ABSENT:
            changed["f:" + name] = present(now, below)
        else:
            _note("f:" + name, _compare_values(was, now, below), changed, removed)
    for name, was in before.items():
        if name not in after:
            removed["f:" + name] = present(was, child_of(node, name))
    return changed or None, removed or None


def _note(element: str, parts: _Parts, changed: FieldSet, removed: FieldSet) -> None:
    if parts[0] is not None:
        changed[element] = parts[0]
    if parts[1] is not None:
        removed[element] = parts[1]


def _compare_values(was: Any, now: Any, node: Node) -> _Parts:
    """Compare two different values. Null counts as an empty container beside one, and as a value beside a value."""
    if was or now:
        if _both(was, now, dict) and is_granular(was or now, node):
            return _compare_maps(was or {}, now or {}, node)
        if _both(was, now, list) and is_granular(was or now, node):
            return _compare_lists(was or [], now or [], node)
    if is_granular(was, node) or is_granular(now, node):
        return present(now, node), without_self(present(was, node))
    return LEAF, None


def _both(was: Any, now: Any, kind: type) -> bool:
    return (was is None or type(was) is kind) and (now is None or type(now) is kind)


def _compare_lists(before: list[Any], after: list[Any], node: Node) -> _Parts:
    old, new = _indexed(before, node), _indexed(after, node)
    below = node.item or DEDUCED
    changed: FieldSet = {}
    removed: FieldSet = {}
    for element, items in new.items():
        were = old.get(element, ())
        if len(were) == 1 and len(items) == 1:
            if were[0] != items[0]:
                _note(element, _compare_values(were[0], items[0], below), changed, removed)
        elif items != were:
            changed[element] = LEAF if len(items) > 1 else present(items[0], below)
            # Duplicates are owned as one marker, so the former field is removed when they appear or disappear.
            if were and len(were) != len(items) and (len(were) == 1 or len(items) == 1):
                removed[element] = LEAF if len(were) > 1 else present(were[0], below)
    for element, items in old.items():
        if element not in new:
            removed[element] = LEAF if len(items) > 1 else present(items[0], below)
    return changed or None, removed or None


def _indexed(items: list[Any], node: Node) -> dict[str, list[Any]]:
    out: dict[str, list[Any]] = {}
    for item in items:
        out.setdefault(element_of(item, node), []).append(item)
    return out
