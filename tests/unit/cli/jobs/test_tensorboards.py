# SPDX-License-Identifier: Apache-2.0
"""The address of a job's TensorBoard."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.cli.jobs.cluster import FakeCluster

from springtide.cli.jobs import tensorboards
from springtide.kube.client import Client
from springtide.kube.resources import NODES, SERVICES, Key

BERT = Key("team", "bert")


def node(api: FakeCluster, name: str, ready: str, address: str) -> None:
    addresses = [{"type": "Hostname", "address": name}, {"type": "InternalIP", "address": address}]
    api.put(NODES, Key("", name), status={"conditions": [{"type": "Ready", "status": ready}], "addresses": addresses})


@pytest.mark.parametrize(
    ("service", "address"),
    [
        (None, ""),
        ({"spec": {"ports": [{"port": 6006, "nodePort": 31000}]}}, "http://10.0.0.2:31000"),
        ({"spec": {"ports": [{"port": 6006}]}}, ""),
        ({"spec": {}}, ""),
        (
            {"spec": {"ports": [{"port": 6006}]}, "status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}},
            "http://1.2.3.4:6006",
        ),
    ],
)
async def test_it_is_that_of_a_ready_node_or_of_a_load_balancer(service: Any, address: str) -> None:
    api = FakeCluster()
    node(api, "a", "False", "10.0.0.1")
    node(api, "b", "True", "10.0.0.2")
    if service is not None:
        api.put(SERVICES, Key("team", "bert-tensorboard"), **service)
    assert await tensorboards.address(Client(api), BERT) == address


async def test_without_a_ready_node_there_is_none() -> None:
    api = FakeCluster()
    api.put(SERVICES, Key("team", "bert-tensorboard"), spec={"ports": [{"nodePort": 31000}]})
    assert await tensorboards.address(Client(api), BERT) == ""
