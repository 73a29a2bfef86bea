# SPDX-License-Identifier: Apache-2.0
"""The generated dump reads back as the shapes the real API server works with."""

from __future__ import annotations

import pytest

from springtide.local.schema import builtin
from springtide.local.schema.node import MISSING, Field, Node, Shape


def at(group: str, version: str, kind: str, path: str) -> Field:
    """The field at a dotted path, lists and maps stepped into."""
    node: Node = builtin.kind_node(group, version, kind)
    found: Field | None = None
    for name in path.split("."):
        while node.shape in (Shape.LIST, Shape.MAP):
            assert node.item is not None
            node = node.item
        found = node.fields[name]
        node = found.node
    assert found is not None
    return found


def test_every_kind_of_the_index_can_be_built() -> None:
    for key in builtin.kinds():
        assert builtin.kind_node(*key.split("/")).shape is Shape.OBJECT


def test_an_unknown_kind_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        builtin.kind_node("", "v1", "Nonsense")


def test_a_type_is_built_once() -> None:
    template = at("apps", "v1", "Deployment", "spec.template.spec").node
    assert template.fields is builtin.model("io.k8s.api.core.v1.PodSpec").fields


def test_a_type_may_contain_itself() -> None:
    props = builtin.model("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps")
    nested = props.fields["properties"].node.item
    assert nested is not None
    assert nested.fields is props.fields


def test_containers_merge_by_name_and_ports_by_port_and_protocol() -> None:
    containers = at("", "v1", "Pod", "spec.containers").node
    assert (containers.patch_strategy, containers.patch_merge_key) == (("merge",), "name")
    assert (containers.list_type, containers.list_keys) == ("map", ("name",))
    assert at("", "v1", "Pod", "spec.containers.ports").node.list_keys == ("containerPort", "protocol")


def test_only_real_defaults_are_kept() -> None:
    assert at("", "v1", "Pod", "spec.containers.ports.protocol").default == "TCP"
    assert at("", "v1", "Pod", "spec.containers.ports.containerPort").default is MISSING
    assert at("", "v1", "Pod", "metadata").default is MISSING


@pytest.mark.parametrize(
    ("path", "disappears"),
    [
        ("metadata.labels", True),
        ("metadata.creationTimestamp", True),
        ("status", False),
        ("status.conditions.lastProbeTime", False),
        ("spec.terminationGracePeriodSeconds", True),
        ("spec.containers", False),
    ],
)
def test_omit_empty_tells_what_really_disappears(path: str, disappears: bool) -> None:
    assert at("", "v1", "Pod", path).omit_empty is disappears


def test_inlined_structs_leave_their_protobuf_numbers() -> None:
    volume = at("", "v1", "Pod", "spec.volumes.emptyDir")
    assert (volume.via, volume.number, volume.pointer) == ((2,), 2, True)


def test_selectors_are_atomic() -> None:
    assert at("apps", "v1", "Deployment", "spec.selector").node.atomic
