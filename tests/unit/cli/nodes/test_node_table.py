# SPDX-License-Identifier: Apache-2.0
"""What `tide node list` shows."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from springtide.cli.nodes.draining import listed, unmanaged
from springtide.cli.nodes.node_table import HEADER, rows, state_of, table

NOW = datetime(2026, 11, 16, 12, 0, 0, tzinfo=UTC)
Obj = dict[str, Any]


def a_node(name: str = "n", ready: str = "True", allocatable: Obj | None = None, **parts: Any) -> Obj:
    conditions = [{"type": "Ready", "status": ready}] if ready else []
    metadata = {"name": name, "labels": parts.pop("labels", {}), "annotations": parts.pop("annotations", {})}
    return {"metadata": metadata, "spec": parts, "status": {"conditions": conditions, "allocatable": allocatable or {}}}


def a_pod(node: str, phase: str = "Running", owned: bool = False, **requests: str) -> Obj:
    owners = [{"kind": "Job", "name": "j", "controller": True}] if owned else []
    named = {name.replace("gpu", "nvidia.com/gpu"): amount for name, amount in requests.items()}
    return {
        "metadata": {"namespace": "ns", "name": f"pod-on-{node}", "ownerReferences": owners},
        "spec": {"nodeName": node, "containers": [{"name": "c", "resources": {"requests": named}}]},
        "status": {"phase": phase},
    }


def test_the_table() -> None:
    nodes = [
        a_node(
            "b", "", annotations={"springtide.dev/capacity": '{"cpu": "4"}'}, labels={"springtide.dev/spot": "true"}
        ),
        a_node("a", allocatable={"cpu": "8", "memory": "32778292Ki", "pods": "250", "nvidia.com/gpu": "4"}),
    ]
    pods = [a_pod("a", cpu="1500m", memory="512Mi", gpu="1"), a_pod("a", cpu="1"), a_pod("a", "Succeeded", cpu="4")]
    assert table([HEADER, *rows(nodes, pods, NOW)]).splitlines() == [
        "NAME  STATE     SPOT  CAPACITY                                USED                                     PODS",
        "a     Ready     -     cpu 8, memory 31.3Gi, nvidia.com/gpu 4  cpu 2.5, memory 512Mi, nvidia.com/gpu 1  2/250",
        "b     Starting  spot  cpu 4                                   -                                        0",
    ]


def test_mirror_pods_are_not_counted() -> None:
    mirror = a_pod("a", owned=True)
    mirror["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    assert rows([a_node("a")], [mirror], NOW)[0][-1] == "0"


@pytest.mark.parametrize(
    ("node", "state"),
    [
        (a_node(ready=""), "Starting"),
        (a_node(), "Ready"),
        (a_node(ready="False"), "NotReady"),
        (a_node(ready="Unknown"), "NotReady"),
        (a_node(unschedulable=True), "Ready, cordoned"),
        (a_node(annotations={"springtide.dev/reclaim-at": "2026-11-16T12:00:20Z"}), "Ready, reclaimed in 20 s"),
        (a_node(annotations={"springtide.dev/reclaim-at": "soon"}), "Ready"),
    ],
)
def test_state(node: Obj, state: str) -> None:
    assert state_of(node, NOW) == state


def test_pods_that_nobody_would_make_again() -> None:
    alone, managed, ended = a_pod("a"), a_pod("b", owned=True), a_pod("c", "Succeeded")
    assert unmanaged([alone, managed, ended]) == [alone]
    assert listed([managed, alone]) == "ns/pod-on-a, ns/pod-on-b"
