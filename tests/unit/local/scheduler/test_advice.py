# SPDX-License-Identifier: Apache-2.0
"""What helps a pod that asks for something no node has."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.local.scheduler.things import GPU, a_node, a_pod, a_snapshot

from springtide.local.scheduler import advice
from springtide.local.supervisor.nodes import node_specs


@pytest.mark.parametrize(
    ("wants", "command"),
    [
        pytest.param({GPU: "1"}, "tide node add gpu-1=nvidia.com/gpu:8", id="GPUs"),
        pytest.param({GPU: "16"}, "tide node add gpu-1=nvidia.com/gpu:16", id="more of them"),
        pytest.param(
            {"nvidia.com/vgpu": "1", "nvidia.com/gpumem": "1k"},
            "tide node add gpu-1=nvidia.com/gpu:8",
            id="document 003",
        ),
        pytest.param({"nvidia.com/gpumem": "320000"}, "tide node add gpu-1=nvidia.com/gpu:20", id="much memory"),
        pytest.param({"rdma/hca": "1"}, "tide node add node-1=rdma/hca:8", id="anything else"),
        pytest.param({GPU: "1", "rdma/hca": "9"}, "tide node add gpu-1=nvidia.com/gpu:8,rdma/hca:9", id="both"),
    ],
)
def test_one_command_adds_what_no_node_offers(wants: dict[str, str], command: str) -> None:
    said = advice.explained(a_pod(wants=wants), a_snapshot(a_node("a")))
    assert said.startswith(f"No node of this cluster offers {' and '.join(sorted(wants))}. ")
    assert said.endswith(f": {command}")
    node_specs.parse(command.removeprefix("tide node add "))
    assert advice.explained(a_pod(wants=wants), a_snapshot(a_node("a")), " --name lab").endswith(" --name lab")


def test_a_name_that_is_taken_is_not_suggested() -> None:
    said = advice.explained(a_pod(wants={GPU: "1"}), a_snapshot(a_node("gpu-1"), a_node("gpu-2")))
    assert "tide node add gpu-3=" in said


@pytest.mark.parametrize(
    "wants", [{GPU: "4"}, {"cpu": "100"}, {}], ids=["offered, but too few", "no extended resource", "nothing"]
)
def test_other_shortages_need_no_advice(wants: dict[str, str]) -> None:
    assert advice.explained(a_pod(wants=wants), a_snapshot(a_node("a", {GPU: "1"}))) == ""


def test_nodes_that_have_not_said_what_they_offer_are_waited_for() -> None:
    silent = replace(a_node("a"), allocatable={})
    assert advice.explained(a_pod(wants={GPU: "1"}), a_snapshot(silent)) == ""


@pytest.mark.parametrize("wants", [{}, {GPU: "1"}], ids=["nothing", "GPUs, which the machine may have"])
def test_a_cluster_without_nodes_needs_one(wants: dict[str, str]) -> None:
    said = advice.explained(a_pod(wants=wants), a_snapshot(), " --name lab")
    assert said == "Add a node to this cluster: tide node add worker-1 --name lab"
