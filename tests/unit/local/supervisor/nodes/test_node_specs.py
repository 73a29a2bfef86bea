# SPDX-License-Identifier: Apache-2.0
"""Nodes as they are written on a command line."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from springtide.kube.resources import Obj
from springtide.local.kinds import names
from springtide.local.kinds.basic.nodes import NODE
from springtide.local.supervisor.nodes.node_specs import CAPACITY, DEFAULT, EXAMPLE, SpecError, default, parse


def a_node(name: str, capacity: Obj | None = None, taints: list[Obj] | None = None, labels: Obj | None = None) -> Obj:
    always = {"kubernetes.io/hostname": name, "springtide.dev/local-node": ""}
    metadata: Obj = {"name": name, "labels": always | (labels or {})}
    if capacity:
        metadata["annotations"] = {CAPACITY: json.dumps(capacity)}
    spec = {"taints": taints} if taints else {}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec}


SPOT = {"springtide.dev/spot": "true"}


@pytest.mark.parametrize(
    ("text", "node"),
    [
        pytest.param("worker-1", a_node("worker-1"), id="as large as the machine"),
        pytest.param("a=cpu:8", a_node("a", {"cpu": "8"}), id="one amount"),
        pytest.param(
            "gpu-a=cpu:8,memory:32Gi,nvidia.com/gpu:4",
            a_node("gpu-a", {"cpu": "8", "memory": "32Gi", "nvidia.com/gpu": "4"}),
            id="with devices",
        ),
        pytest.param("b=spot", a_node("b", labels=SPOT), id="spot alone"),
        pytest.param("b=cpu:500m,spot", a_node("b", {"cpu": "500m"}, labels=SPOT), id="a small spot node"),
        pytest.param(
            "b=label:disk=fast,label:x.io/y=",
            a_node("b", labels={"disk": "fast", "x.io/y": ""}),
            id="labels, one empty",
        ),
        pytest.param(
            "b=taint:team=vision:NoSchedule,taint:x:NoExecute",
            a_node(
                "b",
                taints=[
                    {"key": "team", "value": "vision", "effect": "NoSchedule"},
                    {"key": "x", "effect": "NoExecute"},
                ],
            ),
            id="taints, one without a value",
        ),
    ],
)
def test_what_a_text_describes(text: str, node: Obj) -> None:
    assert parse(text) == node


@pytest.mark.parametrize(
    ("text", "position", "why"),
    [
        ("", 0, "is no name of a node"),
        ("Big=cpu:8", 0, "'Big' is no name of a node"),
        ("a" * 64, 0, "at most 63 characters"),
        ("a=", 2, "something is missing here"),
        ("a=cpu:8,,spot", 8, "something is missing here"),
        ("a=cpu", 2, "'cpu' is neither spot nor an amount such as cpu:8"),
        ("a=cpu:8,gpu:4", 8, "others have a domain, such as nvidia.com/gpu"),
        ("a=cpu:8,cpu:9", 8, "cpu is there twice"),
        ("a=memory:32Gb", 9, "'32Gb' is no amount"),
        ("a=cpu:-1", 6, "an amount is not negative"),
        ("a=nvidia.com/gpu:500m", 17, "nvidia.com/gpu is counted in whole numbers"),
        ("a=nvi dia.com/gpu:1", 2, "is no resource"),
        ("a=label:=x", 8, "is no label"),
        ("a=label:k=-", 10, "is no label value"),
        ("a=taint:k=v", 12, "the effect of a taint is one of NoSchedule, PreferNoSchedule, NoExecute"),
        ("a=taint:k=v:Never", 12, "the effect of a taint is one of"),
        ("a=taint:k:NoSchedule,taint:k=v:NoSchedule", 27, "taint 'k' is there twice"),
    ],
)
def test_what_is_wrong_is_said_with_its_place_and_an_example(text: str, position: int, why: str) -> None:
    with pytest.raises(SpecError) as caught:
        parse(text)
    first, shown, pointer, example = str(caught.value).split("\n")
    assert why in first
    assert shown == f"  {text}"
    assert pointer == "  " + " " * min(position, len(text)) + "^"
    assert example.endswith(EXAMPLE)


def test_the_example_is_right() -> None:
    parse(EXAMPLE)


@given(st.text(alphabet="ab=:,./-1Gispotlabeltaint \n", max_size=40))
def test_any_text_is_a_node_that_the_server_takes_or_a_clear_error(text: str) -> None:
    try:
        node = parse(text)
    except SpecError as error:
        position = error.position
    else:
        position = 0
        assert NODE.validate is not None
        assert not NODE.validate(node)
        assert not names.dns_subdomain(node["metadata"]["name"])
    assert 0 <= position <= len(text)


@given(st.text(max_size=80))
def test_the_default_node_has_a_valid_name_whatever_the_machine_is_called(hostname: str) -> None:
    node = default(hostname)
    assert not names.dns_label(node["metadata"]["name"])
    assert DEFAULT in node["metadata"]["annotations"]


def test_the_default_node_is_named_after_the_machine() -> None:
    assert default("Ada_s-Laptop.local")["metadata"]["name"] == "ada-s-laptop"
