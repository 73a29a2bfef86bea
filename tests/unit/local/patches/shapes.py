# SPDX-License-Identifier: Apache-2.0
"""Shapes the tests of this room share: a custom resource with a list of every type, and the built-in kinds."""

from __future__ import annotations

from typing import Any

from springtide.local.schema.builtin import kind_node, model
from springtide.local.schema.node import MISSING, Field, Node, Shape

OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


def scalar(name: str = "string") -> Node:
    return Node(Shape.SCALAR, scalar=name)


def struct(atomic: bool = False, defaults: dict[str, Any] | None = None, **fields: Node) -> Node:
    known = {name: Field(node, default=(defaults or {}).get(name, MISSING)) for name, node in fields.items()}
    return Node(Shape.OBJECT, fields=known, atomic=atomic)


def a_list(item: Node, list_type: str = "atomic", *keys: str) -> Node:
    return Node(Shape.LIST, item=item, list_type=list_type, list_keys=keys)


def a_wid() -> Node:
    """The custom resource that the recorded answers are about."""
    keyed = struct(k=scalar(), j=scalar("int64"), v=scalar(), d=struct(e=scalar()), defaults={"j": 7})
    spec = struct(
        n=scalar("int64"),
        m=Node(Shape.MAP, item=scalar()),
        any=Node(Shape.ANY, preserve_unknown=True),
        free=Node(Shape.ANY, preserve_unknown=True),
        at=struct(a=scalar(), b=scalar(), atomic=True),
        set=a_list(scalar(), "set"),
        lst=a_list(scalar()),
        lm=a_list(keyed, "map", "k", "j"),
    )
    return struct(apiVersion=scalar(), kind=scalar(), metadata=model(OBJECT_META), spec=spec, status=struct(s=scalar()))


def node_of(obj: dict[str, Any]) -> Node:
    group, _, version = obj["apiVersion"].rpartition("/")
    return a_wid() if group == "pt.io" else kind_node(group, version, obj["kind"])
