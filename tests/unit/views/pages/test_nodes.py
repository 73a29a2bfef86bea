# SPDX-License-Identifier: Apache-2.0
"""Nodes, as we show them and as Arena does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from tests.unit.views.builders import a_job, a_pod, stamp

from springtide.api.mirror_pods import MIRROR
from springtide.views.pages.arena_nodes import node_details, node_document, node_list
from springtide.views.pages.nodes import GpuMode, NodeView, mode_by_word, node_views

Raw = dict[str, Any]


def a_node(
    name: str,
    gpus: int = 0,
    healthy: int | None = None,
    *,
    labels: Mapping[str, str] | None = None,
    ready: str | None = "True",
    unschedulable: bool = False,
    resources: Mapping[str, tuple[int, int]] | None = None,
) -> Raw:
    """`resources` are capacity and what is allocatable."""
    own = dict(resources or {})
    own |= {"nvidia.com/gpu": (gpus, gpus if healthy is None else healthy)} if gpus else {}
    common = {"cpu": "8", "memory": "32Gi"}
    return {
        "kind": "Node",
        "metadata": {"name": name, "labels": dict(labels or {})},
        "spec": {"unschedulable": True} if unschedulable else {},
        "status": {
            "addresses": [{"type": "InternalIP", "address": f"ip-of-{name}"}],
            "capacity": common | {name: str(amounts[0]) for name, amounts in own.items()},
            "allocatable": common | {name: str(amounts[1]) for name, amounts in own.items()},
            "conditions": [{"type": "Ready", "status": ready}] if ready is not None else [],
        },
    }


def a_busy_pod(node: str, gpus: int = 0, index: int = 0, **fields: Any) -> Raw:
    pod = a_pod(a_job(), "worker", index, gpus=gpus, node=node, **fields)
    pod["spec"]["containers"][0].setdefault("resources", {})["requests"] = {"cpu": "500m", "memory": "1Gi"}
    return pod


def view(node: Raw, *pods: Raw) -> NodeView:
    return node_views([node], pods)[0]


@pytest.mark.parametrize(
    ("node", "mode"),
    [
        (a_node("a"), GpuMode.NONE),
        (a_node("a", 4), GpuMode.EXCLUSIVE),
        (a_node("a", 101), GpuMode.NONE),
        (a_node("a", 4, 0), GpuMode.NONE),
        (a_node("a", 4, labels={"ack.node.gpu.schedule": "topology"}), GpuMode.TOPOLOGY),
        (a_node("a", resources={"aliyun.com/gpu-mem": (32, 32)}), GpuMode.SHARED),
    ],
)
def test_a_node_gives_its_gpus_to_pods_in_a_mode(node: Raw, mode: GpuMode) -> None:
    assert view(node).mode is mode


@pytest.mark.parametrize(
    ("word", "mode"),
    [
        ("exclusive", GpuMode.EXCLUSIVE),
        ("E", None),
        ("e", GpuMode.EXCLUSIVE),
        ("Share", GpuMode.SHARED),
        ("t", GpuMode.TOPOLOGY),
        ("Normal", GpuMode.NONE),
        ("none", GpuMode.NONE),
        ("x", None),
    ],
)
def test_a_mode_has_a_name_an_alias_and_a_short_form(word: str, mode: GpuMode | None) -> None:
    assert mode_by_word(word) is mode


@pytest.mark.parametrize(
    ("node", "status"),
    [
        (a_node("a"), "Ready"),
        (a_node("a", ready="False"), "NotReady"),
        (a_node("a", ready="Unknown"), "NotReady"),
        (a_node("a", ready=None), "Unknown"),
        (a_node("a", unschedulable=True), "Ready,SchedulingDisabled"),
    ],
)
def test_the_status_of_a_node_is_kubectls(node: Raw, status: str) -> None:
    assert view(node).status == status


def test_roles_are_read_from_labels() -> None:
    labels = {"node-role.kubernetes.io/worker": "", "kubernetes.io/role": "gpu", "node-role.kubernetes.io/": "x"}
    assert view(a_node("a", labels=labels)).role == "gpu,worker"


def test_pods_that_have_not_ended_take_up_a_node() -> None:
    found = view(
        a_node("a", 8, 6),
        a_busy_pod("a", 2),
        a_busy_pod("a", 1, phase="Pending"),
        a_busy_pod("a", 4, phase="Succeeded"),
        a_busy_pod("a", 4, phase="Failed"),
        a_busy_pod("b", 4),
        a_busy_pod("a", 1, metadata={"deletionTimestamp": stamp(5)}),
        a_busy_pod("a", metadata={"annotations": {MIRROR: "x"}}),
    )
    assert (found.allocated_gpus, found.gpus, found.unhealthy_gpus, found.pods) == (3, 8, 2, 3)
    assert [amount.milli for amount in found.cpu] == [1500, 8000]
    assert [amount.value >> 30 for amount in found.memory] == [3, 32]


def test_shared_gpus_are_counted_by_their_memory() -> None:
    node = a_node("a", resources={"aliyun.com/gpu-mem": (32, 16), "aliyun.com/gpu-count": (2, 2)})
    given = {"scheduler.framework.gpushare.allocation": json.dumps({"0": {"0": 8}, "1": {"1": 4}})}
    by_index = a_busy_pod("a", metadata={"annotations": {"ALIYUN_COM_GPU_MEM_IDX": "0"}})
    by_index["spec"]["containers"][0]["resources"]["limits"] = {"aliyun.com/gpu-mem": "4"}
    broken = a_busy_pod("a", metadata={"annotations": {"scheduler.framework.gpushare.allocation": "[1]"}})
    found = view(node, a_busy_pod("a", metadata={"annotations": given}), by_index, broken, a_busy_pod("a"))
    assert (found.gpus, found.allocated_gpus, found.unhealthy_gpus) == (2, 1.0, 1)


RULE = "-" * 99


def test_arena_lists_nodes_of_several_kinds_with_the_totals_of_the_cluster() -> None:
    views = node_views([a_node("gpu-1", 4), a_node("cpu-1")], [a_busy_pod("gpu-1", 3)])
    assert node_list(views) == (
        "NAME   IPADDRESS    ROLE    STATUS  GPU(Total)  GPU(Allocated)\n"
        "cpu-1  ip-of-cpu-1  <none>  Ready   0           0\n"
        "gpu-1  ip-of-gpu-1  <none>  Ready   4           3\n"
        f"{RULE}\n"
        "Allocated/Total GPUs In Cluster:\n"
        "3/4 (75.0%)\n"
    )
    assert node_list(views, named=True).count("\n") == 3


def test_arena_lists_nodes_of_one_kind_under_another_title() -> None:
    assert node_list(node_views([a_node("gpu-1", 4, 3)], [])) == (
        "NAME   IPADDRESS    ROLE    STATUS  GPU(Total)  GPU(Allocated)  UNHEALTHY\n"
        "gpu-1  ip-of-gpu-1  <none>  Ready   4           0               1\n"
        f"{RULE}\n"
        "Allocated/Total GPUs of nodes which own resource nvidia.com/gpu In Cluster:\n"
        "0/4 (0.0%)\n"
        "Unhealthy/Total GPUs of nodes which own resource nvidia.com/gpu In Cluster:\n"
        "1/4 (25.0%)\n"
    )
    assert node_list(node_views([a_node("cpu-1")], [])).splitlines()[1:] == [
        "cpu-1  ip-of-cpu-1  <none>  Ready   0           0"
    ]


def test_arena_shows_modes_where_there_are_several() -> None:
    nodes = [
        a_node("e", 1),
        a_node("s", resources={"aliyun.com/gpu-mem": (16, 16), "aliyun.com/gpu-count": (1, 1)}),
        a_node("n"),
    ]
    lines = node_list(node_views(nodes, [])).splitlines()
    assert [line.split()[-1] for line in lines[:4]] == ["GPU(Mode)", "none", "exclusive", "share"]


def test_arena_shows_details() -> None:
    assert node_details(node_views([a_node("gpu-1", 4), a_node("cpu-1")], [a_busy_pod("gpu-1", 3)])) == (
        "\nName:    cpu-1\nStatus:  Ready\nRole:    <none>\nType:    Normal\nAddress: ip-of-cpu-1\nDescription:\n"
        "  This node has none gpu devices\n\n"
        "\nName:    gpu-1\nStatus:  Ready\nRole:    <none>\nType:    GPUExclusive\nAddress: ip-of-gpu-1\nDescription:\n"
        "  1.This node is enabled gpu exclusive mode.\n"
        "  2.Pods can request resource 'nvidia.com/gpu' to use gpu exclusive feature on this node\n"
        "Instances:\n"
        "  NAMESPACE  NAME           STATUS   GPU(Requested)\n"
        "  ---------  ----           ------   --------------\n"
        "  default    bert-worker-0  Running  3\n"
        "GPU Summary:\n"
        "  Total GPUs:     4\n"
        "  Allocated GPUs: 3\n"
        "  Unhealthy GPUs: 0\n\n"
    )


def test_arenas_document_has_nodes_by_mode() -> None:
    found = node_document(node_views([a_node("gpu-1", 4), a_node("cpu-1")], [a_busy_pod("gpu-1", 3)]))
    assert {mode: [each["name"] for each in nodes] for mode, nodes in found.items()} == {
        "gpuExclusiveNodes": ["gpu-1"],
        "gpuShareNodes": [],
        "gpuTopologyNodes": [],
        "normalNodes": ["cpu-1"],
    }
    assert found["gpuExclusiveNodes"][0]["instances"] == [
        {"name": "bert-worker-0", "namespace": "default", "status": "Running", "requestGPUs": 3}
    ]
    assert list(found["normalNodes"][0]) == ["name", "description", "ip", "status", "role", "type"]
