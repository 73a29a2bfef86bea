# SPDX-License-Identifier: Apache-2.0
"""Maximum sizes of the values at a schema's positions, for the cost estimates of rules.

Where the schema has no maxLength, maxItems or maxProperties, the size of the largest request is the limit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from springtide.local.schema.cel.cost import LARGEST_REQUEST, Size
from springtide.local.schema.cel.types import META, escaped

Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bounds of one position of a schema that is visible to rules."""

    most: int = 0
    """Maximum number of elements or characters; 0 for numbers and objects."""
    smallest: int = 2
    """Size of the shortest valid JSON in bytes."""
    fields: Mapping[str, Bounds] = field(default_factory=dict)
    item: Bounds | None = None
    key: Bounds | None = None

    def size(self, path: tuple[str, ...]) -> Size | None:
        """The size at the end of a path. Its first step is the variable: all variables start here."""
        if not path:
            return None
        found: Bounds | None = self
        for step in path[1:]:
            if found is None:
                return None
            if step in ("@items", "@values"):
                found = found.item
            elif step == "@keys":
                found = found.key
            else:
                found = found.fields.get(step)
        return None if found is None else Size(0, found.most)

    def repetitions(self) -> int:
        """Maximum number of occurrences of the position in the largest request."""
        return LARGEST_REQUEST // (self.smallest + 1)


_KEY: Final = Bounds()
_SCALARS: Final = {"boolean": Bounds(smallest=4), "number": Bounds(smallest=1), "integer": Bounds(smallest=1)}
_FORMATS: Final = {
    "duration": Bounds(32, smallest=3),
    "date": Bounds(12, smallest=12),
    "date-time": Bounds(32, smallest=21),
}


def bounds(schema: Schema, is_resource: bool = False) -> Bounds | None:
    """The bounds of a position and all below it; None where it is invisible to rules."""
    if schema.get("x-kubernetes-int-or-string"):
        longest = schema.get("maxLength")
        return Bounds(LARGEST_REQUEST - 2 if longest is None else 4 * max(longest, 0), smallest=1)
    match schema.get("type"):
        case "array":
            return _list_bounds(schema)
        case "object":
            return _object_bounds(schema, is_resource)
        case "string":
            return _string_bounds(schema)
        case other:
            return _SCALARS.get(other or "")


def _inner(schema: Schema) -> Bounds | None:
    return bounds(schema, schema.get("x-kubernetes-embedded-resource", False))


def _list_bounds(schema: Schema) -> Bounds | None:
    items = schema.get("items")
    item = _inner(items) if isinstance(items, Mapping) else None
    if item is None:
        return None
    most = schema.get("maxItems")
    return Bounds((LARGEST_REQUEST - 2) // (item.smallest + 1) if most is None else max(most, 0), item=item)


def _object_bounds(schema: Schema, is_resource: bool) -> Bounds | None:
    additional = schema.get("additionalProperties")
    if isinstance(additional, Mapping):
        value = _inner(additional)
        if value is None:
            return None
        most = schema.get("maxProperties")
        limit = (LARGEST_REQUEST - 2) // (value.smallest + 6) if most is None else max(most, 0)
        return Bounds(limit, item=value, key=_KEY)
    properties = {**schema.get("properties", {}), **(META if is_resource else {})}
    required, smallest = set(schema.get("required", ())), 2
    fields: dict[str, Bounds] = {}
    for name, inner in properties.items():
        found = _inner(inner)
        if found is None:
            continue
        key = escaped(name)
        if key is not None:
            fields[key] = found
        if name in required and inner.get("default") is None:
            smallest += len(name.encode()) + found.smallest + 4
    return Bounds(smallest=smallest, fields=fields)


def _string_bounds(schema: Schema) -> Bounds:
    format_, longest = schema.get("format", ""), schema.get("maxLength")
    if format_ in _FORMATS:
        return _FORMATS[format_]
    if longest is not None:
        return Bounds(max(longest, 0) * (1 if format_ == "byte" else 4))
    enum = [len(value.encode()) for value in schema.get("enum") or () if isinstance(value, str)]
    if schema.get("enum") and format_ != "byte":
        return Bounds(max(enum, default=0))
    return Bounds(LARGEST_REQUEST - 2)
