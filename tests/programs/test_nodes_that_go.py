# SPDX-License-Identifier: Apache-2.0
"""Nodes are drained and reclaimed under a Deployment; its pods come back elsewhere."""

from __future__ import annotations

import threading

import pytest
from tests.programs.conftest import Start
from tests.programs.world import Cluster, node_of, ready

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def cluster(started: Start) -> Cluster:
    cluster = started("--node", "a=cpu:4", "--node", "b=cpu:4,spot", "--node", "c=cpu:4")
    cluster.apply("service.yaml")
    cluster.until_ready("app=service", 4)
    return cluster


def nodes(cluster: Cluster) -> set[str]:
    return {node_of(pod) for pod in cluster.pods("app=service").values()}


def fewest_ready(cluster: Cluster, until: threading.Event) -> int:
    """Of all moments until then."""
    fewest = len(ready(cluster.pods("app=service").values()))
    while not until.is_set():
        fewest = min(fewest, len(ready(cluster.pods("app=service").values())))
    return fewest


def test_a_drained_node_s_pods_go_elsewhere_and_its_budget_is_kept(cluster: Cluster) -> None:
    assert "a" in nodes(cluster)
    drained, failures = threading.Event(), []

    def drain() -> None:
        try:
            cluster.tide.ok("node", "drain", "a", "--timeout", "60s")
        except AssertionError as error:
            failures.append(error)
        finally:
            drained.set()

    thread = threading.Thread(target=drain)
    thread.start()
    assert fewest_ready(cluster, drained) >= 3
    thread.join()
    assert not failures
    assert "a" not in nodes(cluster)
    cluster.until_ready("app=service", 4)
    assert nodes(cluster) == {"b", "c"}

    cluster.tide.ok("node", "uncordon", "a")
    cluster.kubectl("scale", "deployment/service", "--replicas=8")
    cluster.until_ready("app=service", 8)
    assert "a" in nodes(cluster)


def test_kubectl_drain_does_the_same(cluster: Cluster) -> None:
    cluster.kubectl("drain", "c", "--timeout=25s")
    cluster.until_ready("app=service", 4)
    assert "c" not in nodes(cluster)


def test_a_reclaimed_node_is_gone_and_its_pods_come_back_elsewhere(cluster: Cluster) -> None:
    assert "b" in nodes(cluster)
    with cluster.tide.start("node", "reclaim", "b", "--notice", "3s") as reclaim:
        cluster.until(lambda: "springtide.dev/reclaim" in taints(cluster, "b"), "notice to be given")
        assert "b" in nodes(cluster), "pods have the time of the notice"
        out, err = reclaim.communicate(timeout=60)
    assert (reclaim.returncode, err) == (0, ""), out
    assert "NotFound" in cluster.kubectl.refused("get", "node", "b")
    cluster.until(lambda: nodes(cluster) == {"a", "c"}, "its pods to go")
    cluster.until_ready("app=service", 4)


def taints(cluster: Cluster, node: str) -> list[str]:
    return [taint["key"] for taint in cluster.get("node", node)["spec"].get("taints", ())]
