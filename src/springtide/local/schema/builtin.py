# SPDX-License-Identifier: Apache-2.0
"""Built-in types as `Node` graphs, read from the generated dump of the real Go types.

Used for decoding, patches and the protobuf reader. A package's file is read when one of its types is first requested,
and each type is built once. No kind is treated specially.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from springtide.local.schema.node import MISSING, Field, Node, Shape

_GENERATED = Path(__file__).with_name("generated")
_SCHEMA_PROPS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"

# Free-form values keep the name of their Go type in `scalar`: each has its own protobuf form.
_FREE = frozenset({"raw", "json", "fields"})
# A JSONSchemaProps or an alternative to it; `item` is the JSONSchemaProps.
_SCHEMA_OR = frozenset({"schema-or-bool", "schema-or-array", "schema-or-strings"})
# Structs in Go, single values in JSON.
_STRUCT_LEAVES = frozenset({"time", "microtime", "duration", "quantity", "int-or-string"}) | _FREE | _SCHEMA_OR

_models: dict[str, Node] = {}


def kind_node(group: str, version: str, kind: str) -> Node:
    """The node of a built-in kind; KeyError when there is no such kind."""
    return model(kinds()[f"{group}/{version}/{kind}"])


@cache
def kinds() -> Mapping[str, str]:
    """`group/version/Kind` (`/v1/Pod`, `apps/v1/Deployment`) to model name."""
    index: dict[str, str] = _read("kinds")
    return index


def model(name: str) -> Node:
    """The node of a Go struct by its OpenAPI model name (`io.k8s.api.core.v1.PodSpec`)."""
    node = _models.get(name)
    if node is None:
        package, _, local = name.rpartition(".")
        dumped = _package(package)[local]
        fields: dict[str, Field] = {}
        node = Node(Shape.OBJECT, name=name, fields=fields, atomic=dumped.get("mapType") == "atomic")
        # Registered before its fields are built, because JSONSchemaProps contains itself.
        _models[name] = node
        for entry in dumped["fields"]:
            fields[entry["name"]] = _field(entry)
    return node


@cache
def _package(name: str) -> dict[str, Any]:
    types: dict[str, Any] = _read(name)
    return types


def _read(name: str) -> Any:
    return msgspec.json.decode(zlib.decompress((_GENERATED / f"{name}.json.z").read_bytes()))


def _field(entry: dict[str, Any]) -> Field:
    default = entry.get("default")
    return Field(
        node=_positioned(_node(entry["type"]), entry),
        # The dump lists zero values ({}, "", 0) as defaults too; Go's decoding supplies those anyway.
        default=default if default else MISSING,
        omit_empty=_disappears(entry),
        pointer=entry.get("pointer", False),
        required=entry.get("required", False),
        number=entry.get("number", 0),
        via=tuple(entry.get("via", ())),
        inline=tuple(entry.get("inline", ())),
    )


def _disappears(entry: dict[str, Any]) -> bool:
    """Whether Go omits an empty value (`omitempty`); not for a struct without a pointer (`status: {}`)."""
    if entry.get("omitZero") or entry.get("pointer"):
        return bool(entry.get("omitEmpty"))
    type_ = entry["type"]
    is_struct = type_ in _STRUCT_LEAVES if isinstance(type_, str) else "ref" in type_
    return bool(entry.get("omitEmpty")) and not is_struct


def _node(type_: Any) -> Node:
    if isinstance(type_, str):
        return _scalar(type_)
    if "ref" in type_:
        return model(type_["ref"])
    if "list" in type_:
        return Node(Shape.LIST, item=_node(type_["list"]))
    return Node(Shape.MAP, item=_node(type_["map"]))


@cache
def _scalar(name: str) -> Node:
    if name in _FREE:
        return Node(Shape.ANY, scalar=name, preserve_unknown=True)
    if name in _SCHEMA_OR:
        return Node(Shape.ANY, scalar=name, item=model(_SCHEMA_PROPS))
    return Node(Shape.SCALAR, scalar=name)


def _positioned(node: Node, entry: dict[str, Any]) -> Node:
    """The node with the properties of this field; a struct's `fields` are shared by all its uses."""
    said: dict[str, Any] = {}
    if "listType" in entry:
        said["list_type"] = entry["listType"]
        said["list_keys"] = tuple(entry.get("listKeys", ()))
    if "mapType" in entry:
        said["atomic"] = entry["mapType"] == "atomic"
    if "patchStrategy" in entry:
        said["patch_strategy"] = tuple(entry["patchStrategy"].split(","))
    if "patchMergeKey" in entry:
        said["patch_merge_key"] = entry["patchMergeKey"]
    if "go" in entry:
        said["name"] = entry["go"]
    if "enum" in entry:
        said["constraints"] = {"enum": tuple(entry["enum"])}
    return replace(node, **said) if said else node
