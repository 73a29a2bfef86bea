# SPDX-License-Identifier: Apache-2.0
"""Ports that no pod and no service of a cluster uses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.manifests import flags

from springtide.manifests.parts import role_ports
from springtide.manifests.submissions.submission import TfJob, TfRole

BASE: TfJob = flags.submissions(TfJob)["defaults"]


def chosen(job: TfJob, *used: int) -> tuple[int, int, int]:
    found = role_ports.chosen(job, used)
    return found.worker_role.port, found.chief_role.port, found.ps_role.port


@pytest.mark.parametrize(
    ("job", "found"),
    [
        (BASE, (20000, 0, 20001)),
        (replace(BASE, chief=True), (20000, 20001, 20002)),
        (replace(BASE, ps=0, workers=1), (0, 20000, 0)),
        (replace(BASE, workers=0, ps=0, chief=True), (0, 20000, 0)),
        (replace(BASE, worker_role=TfRole(port=2222)), (2222, 0, 20000)),
    ],
)
def test_each_role_with_replicas_gets_a_port_of_its_own(job: TfJob, found: tuple[int, int, int]) -> None:
    assert chosen(job) == found


def test_ports_in_use_are_left_out() -> None:
    assert chosen(BASE, 20000, 20002) == (20001, 0, 20003)


def test_without_a_free_port_the_operator_chooses() -> None:
    assert chosen(BASE, *range(20000, 30000)) == (0, 0, 0)


def pod(phase: str = "Running", node: str = "a", *, host: bool = False, **port: int) -> dict[str, Any]:
    containers = [{"name": "a", "ports": [port]}, {"name": "b"}]
    return {"spec": {"nodeName": node, "hostNetwork": host, "containers": containers}, "status": {"phase": phase}}


def test_pods_on_nodes_use_their_ports_of_the_host() -> None:
    pods = [
        pod(containerPort=1),
        pod(containerPort=2, hostPort=3),
        pod(host=True, containerPort=4),
        pod("Succeeded", hostPort=5, containerPort=1),
        pod("Pending", "", hostPort=6, containerPort=1),
    ]
    assert role_ports.used(pods, []) == {3, 4}


def test_services_use_their_node_ports() -> None:
    services: list[dict[str, Any]] = [
        {"spec": {"ports": [{"port": 80, "nodePort": 30080}, {"port": 81}]}},
        {"spec": {}},
    ]
    assert role_ports.used([], services) == {30080}
