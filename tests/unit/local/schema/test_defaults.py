# SPDX-License-Identifier: Apache-2.0
"""Schema defaults of built-in kinds."""

from __future__ import annotations

from typing import Any

import pytest

from springtide.local.schema import builtin
from springtide.local.schema.compiled import CompiledSchema
from springtide.local.schema.defaults import Room, TooManyDefaults, apply_defaults, compile_defaults
from springtide.local.schema.node import Field, Node, Shape


def test_ports_get_their_protocol_wherever_a_pod_is_described() -> None:
    deployment: dict[str, Any] = {
        "spec": {"template": {"spec": {"containers": [{"ports": [{"containerPort": 80}, {"protocol": "UDP"}]}]}}}
    }
    apply_defaults(deployment, builtin.kind_node("apps", "v1", "Deployment"))
    ports = deployment["spec"]["template"]["spec"]["containers"][0]["ports"]
    assert ports == [{"containerPort": 80, "protocol": "TCP"}, {"protocol": "UDP"}]


def test_zero_values_are_not_filled_in() -> None:
    pod: dict[str, Any] = {"spec": {"containers": [{}]}}
    apply_defaults(pod, builtin.kind_node("", "v1", "Pod"))
    assert pod == {"spec": {"containers": [{}]}}


def test_a_kind_without_defaults_compiles_to_nothing() -> None:
    assert compile_defaults(builtin.kind_node("", "v1", "ConfigMap")) is None


def test_a_shape_that_contains_itself_is_filled_in_to_the_end() -> None:
    fields: dict[str, Field] = {"colour": Field(Node(Shape.SCALAR, scalar="string"), default="red")}
    node = Node(Shape.OBJECT, fields=fields)
    fields["inner"] = Field(node)
    obj: dict[str, Any] = {"inner": {"inner": {}}}
    apply_defaults(obj, node)
    assert obj == {"colour": "red", "inner": {"colour": "red", "inner": {"colour": "red"}}}


def test_a_default_object_is_new_each_time_and_has_its_own_defaults_filled_in() -> None:
    inner = Node(Shape.OBJECT, fields={"size": Field(Node(Shape.SCALAR, scalar="int64"), default=1)})
    node = Node(Shape.OBJECT, fields={"box": Field(inner, default={"tags": []})})
    first: dict[str, Any] = {}
    second: dict[str, Any] = {"box": None}
    apply_defaults(first, node)
    apply_defaults(second, node)
    first["box"]["tags"].append("x")
    assert second == {"box": {"tags": [], "size": 1}}


def test_defaults_add_no_more_than_an_object_may_have() -> None:
    text = {"type": "string", "default": "y" * 1000}
    items = {"type": "object", "properties": {"d": text}}
    schema = CompiledSchema({"type": "object", "properties": {"l": {"type": "array", "items": items}}})
    schema.default({"l": [{} for _ in range(1000)]})
    with pytest.raises(TooManyDefaults):
        schema.default({"l": [{} for _ in range(10_000)]})
    with pytest.raises(TooManyDefaults):
        schema.default({"l": [{} for _ in range(100)]}, Room(50_000))


def test_short_defaults_count_as_what_they_take_in_memory() -> None:
    properties = {f"p{number}": {"type": "integer", "default": 1} for number in range(100)}
    items = {"type": "object", "properties": properties}
    schema = CompiledSchema({"type": "object", "properties": {"l": {"type": "array", "items": items}}})
    with pytest.raises(TooManyDefaults):
        schema.default({"l": [{} for _ in range(2000)]})
