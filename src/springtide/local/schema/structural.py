# SPDX-License-Identifier: Apache-2.0
"""A CRD's OpenAPI schema as a `Node` graph.

Takes a schema that `crd_rules` has accepted. Pruning, defaulting, patches and server-side apply use the graph; value
validation reads the schema itself, because `anyOf` and similar keywords do not fit a graph of positions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from springtide.local.schema import builtin
from springtide.local.schema.node import MISSING, Field, Node, Shape

Schema = Mapping[str, Any]

META_FIELDS: Final = ("apiVersion", "kind", "metadata")
OBJECT_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"

_SCALARS: Final = {"string": "string", "integer": "int64", "number": "float64", "boolean": "bool"}
_STRUCTURE: Final = frozenset(
    {"properties", "items", "additionalProperties", "default", "nullable", "description", "title", "example"}
)


def build(schema: Schema) -> Node:
    """The graph of a whole custom resource; its metadata is the built-in ObjectMeta."""
    node = _node(schema)
    fields = dict(node.fields)
    fields.update(_meta_fields())
    node.fields = fields
    node.shape = Shape.OBJECT
    return node


def position(schema: Schema) -> Node:
    """The graph of one position inside a custom resource."""
    return _node(schema)


def _meta_fields() -> dict[str, Field]:
    text = Node(Shape.SCALAR, scalar="string")
    return {"apiVersion": Field(text), "kind": Field(text), "metadata": Field(builtin.model(OBJECT_META))}


def _node(schema: Schema) -> Node:
    shape = _shape(schema)
    node = Node(
        shape,
        scalar=_scalar(schema) if shape is Shape.SCALAR else "",
        list_type=schema.get("x-kubernetes-list-type", "atomic"),
        list_keys=tuple(schema.get("x-kubernetes-list-map-keys", ())),
        atomic=schema.get("x-kubernetes-map-type") == "atomic",
        preserve_unknown=schema.get("x-kubernetes-preserve-unknown-fields", False) or _open(schema),
        embedded=schema.get("x-kubernetes-embedded-resource", False),
        nullable=schema.get("nullable", False),
        constraints={key: value for key, value in schema.items() if key not in _STRUCTURE},
    )
    if shape is Shape.LIST and isinstance(schema.get("items"), Mapping):
        node.item = _node(schema["items"])
    elif shape is Shape.MAP and isinstance(schema["additionalProperties"], Mapping):
        node.item = _node(schema["additionalProperties"])
    elif shape is Shape.OBJECT:
        node.fields = _fields(schema)
    return node


def _fields(schema: Schema) -> dict[str, Field]:
    required = set(schema.get("required", ()))
    fields = {
        name: Field(_node(inner), default=_default(inner), required=name in required)
        for name, inner in schema.get("properties", {}).items()
    }
    if schema.get("x-kubernetes-embedded-resource"):
        fields.update(_meta_fields())
    return fields


def _default(schema: Schema) -> Any:
    default = schema.get("default")
    return MISSING if default is None else default


def _open(schema: Schema) -> bool:
    """Whether `additionalProperties: true` beside properties allows any other key."""
    return schema.get("additionalProperties") is True and bool(schema.get("properties"))


def _shape(schema: Schema) -> Shape:
    match schema.get("type"):
        case "object" if schema.get("additionalProperties") and not schema.get("properties"):
            return Shape.MAP
        case "object":
            return Shape.OBJECT
        case "array":
            return Shape.LIST
        case None:
            if schema.get("x-kubernetes-int-or-string"):
                return Shape.SCALAR
            return Shape.OBJECT if schema.get("properties") else Shape.ANY
    return Shape.SCALAR


def _scalar(schema: Schema) -> str:
    if schema.get("x-kubernetes-int-or-string"):
        return "int-or-string"
    return _SCALARS.get(schema.get("type", ""), "string")
