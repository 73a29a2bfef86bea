# SPDX-License-Identifier: Apache-2.0
"""The address of a job's TensorBoard."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.unit.cli.jobs.cluster import FakeCluster

from springtide.cli.errors import Failure
from springtide.cli.jobs.finding import JobNotFound
from springtide.cli.jobs.tensorboard import forwarded_ports, tensorboards
from springtide.kube.client import Client
from springtide.kube.resources import DEPLOYMENTS, NODES, SERVICES, Key, Resource
from springtide.views.trainers import RESOURCES

BERT = Key("team", "bert")


ETJOBS = Resource(RESOURCES[0].group, RESOURCES[0].versions[0], RESOURCES[0].plural, RESOURCES[0].kind)
LABELS = {"release": "bert", "role": "tensorboard"}


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def a_cluster(version: str = "v1.36.3") -> FakeCluster:
    api = FakeCluster()
    api.objects["/version"] = {"gitVersion": version}
    return api


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
    api = a_cluster()
    node(api, "a", "False", "10.0.0.1")
    node(api, "b", "True", "10.0.0.2")
    if service is not None:
        api.put(SERVICES, Key("team", "bert-tensorboard"), **service)
    assert await tensorboards.reached(Client(api), BERT) == (service is not None, address)


async def test_without_a_ready_node_there_is_none() -> None:
    api = a_cluster()
    api.put(SERVICES, Key("team", "bert-tensorboard"), spec={"ports": [{"nodePort": 31000}]})
    assert await tensorboards.reached(Client(api), BERT) == (True, "")


async def test_no_port_of_the_embedded_clusters_nodes_leads_to_it() -> None:
    api = a_cluster(version="v1.36.3+springtide.0.1")
    node(api, "a", "True", "10.0.0.1")
    api.put(SERVICES, Key("team", "bert-tensorboard"), spec={"ports": [{"nodePort": 31000}]})
    assert await tensorboards.reached(Client(api), BERT) == (True, "")


async def test_a_port_of_this_machine_that_is_forwarded_comes_first() -> None:
    api = a_cluster()
    api.put(DEPLOYMENTS, Key("team", "bert-tensorboard"), metadata={"uid": "1", "labels": LABELS})
    with forwarded_ports.held("1") as holder:
        assert holder is not None
        assert not (await tensorboards.reached(Client(api), BERT)).exists
        holder.write(4321)
        assert await tensorboards.reached(Client(api), BERT) == (True, "http://127.0.0.1:4321")
    assert not (await tensorboards.reached(Client(api), BERT)).exists


async def test_a_job_without_one_is_told_from_no_job() -> None:
    api = a_cluster()
    with pytest.raises(JobNotFound):
        await tensorboards.deployed(Client(api), "team", "bert")
    api.put(ETJOBS, BERT, metadata={"uid": "1"})
    with pytest.raises(Failure, match="bert has no TensorBoard"):
        await tensorboards.deployed(Client(api), "team", "bert")
