# SPDX-License-Identifier: Apache-2.0
"""The schema of an object as a graph of positions.

Built-in types (from the generated dump) and custom resources (from their CRD) become the same `Node` graph, so that
pruning, defaulting, strategic-merge and server-side apply are written once. A graph may be cyclic (JSONSchemaProps
refers to itself); nodes are shared and never changed after they are built.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final


class Shape(Enum):
    """Kind of value at a position."""

    OBJECT = "object"  # a struct with known field names
    MAP = "map"  # arbitrary keys, one schema for all values
    LIST = "list"
    SCALAR = "scalar"
    ANY = "any"  # free-form JSON: RawExtension, preserve-unknown-fields without properties


class Missing(Enum):
    MISSING = "missing"


MISSING: Final = Missing.MISSING  # "no default", because None is a valid one


@dataclass(slots=True)
class Node:
    shape: Shape
    scalar: str = ""
    """For SCALAR: string, int32, int64, float64, bool, bytes, time, microtime, duration, quantity, int-or-string."""
    fields: Mapping[str, Field] = field(default_factory=dict)
    item: Node | None = None
    """Element of a LIST, value of a MAP, or of an OBJECT's additionalProperties (CRDs)."""
    list_type: str = "atomic"  # atomic | set | map
    list_keys: tuple[str, ...] = ()
    atomic: bool = False
    """A MAP or OBJECT that is owned and applied as one value (x-kubernetes-map-type: atomic)."""
    patch_strategy: tuple[str, ...] = ()  # strategic merge: merge, replace, retainKeys
    patch_merge_key: str = ""
    preserve_unknown: bool = False
    embedded: bool = False  # x-kubernetes-embedded-resource
    nullable: bool = False
    constraints: Mapping[str, Any] = field(default_factory=dict)
    """CRD value validations as in the schema: minimum, pattern, enum, anyOf, x-kubernetes-validations ..."""
    name: str = ""
    """For messages: OpenAPI model name of a built-in struct, or the Go type of any other named type."""


@dataclass(slots=True)
class Field:
    node: Node
    default: Any = MISSING
    omit_empty: bool = False
    """Whether a round trip drops an empty value unless `pointer`: Go's `omitempty` where it has an effect."""
    pointer: bool = False
    required: bool = False
    number: int = 0  # protobuf field number
    via: tuple[int, ...] = ()  # protobuf numbers of the inlined messages above it
    inline: tuple[str, ...] = ()  # Go names of those messages, for type errors
