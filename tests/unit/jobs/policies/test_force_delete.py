# SPDX-License-Identifier: Apache-2.0
"""Pods on nodes that do not respond."""

from __future__ import annotations

from tests.unit.jobs.builders import pytorch, running
from tests.unit.jobs.simulated import Cluster

from springtide.jobs.actions import Delete

NEVER = {"springtide.dev/force-delete": "never"}


def lost(annotations: dict[str, str] | None = None, *, evicted: bool) -> Cluster:
    cluster = running(pytorch({"Master": 1, "Worker": 1}, annotations))
    cluster.change("mnist-master-0", ready=False, reason="NodeLost", node="silent", terminating=evicted)
    return cluster


def forced(cluster: Cluster) -> list[str]:
    return [each.key.name for each in cluster.plan().actions if isinstance(each, Delete) and each.grace == 0]


def test_a_pod_is_left_alone_until_it_is_evicted() -> None:
    cluster = lost(evicted=False)
    cluster.reconcile()
    assert not forced(cluster)
    where = "mnist-master-0 is on node silent, which does not respond"
    assert cluster.status.explanation == (
        f"{where}; it is created again elsewhere once Kubernetes has evicted it, after five minutes by default."
    )


def test_an_evicted_pod_is_deleted_by_force_and_created_again() -> None:
    cluster = lost(evicted=True)
    before = cluster.pods["mnist-master-0"].uid
    cluster.settle(60)
    assert cluster.pods["mnist-master-0"].uid != before
    assert cluster.conditions["Running"] == "True"


def test_the_annotation_forbids_it_and_names_the_command() -> None:
    cluster = lost(NEVER, evicted=True)
    before = cluster.pods["mnist-master-0"].uid
    for _ in range(5):
        cluster.reconcile()
        cluster.tick(400)
    assert cluster.pods["mnist-master-0"].uid == before
    assert cluster.status.explanation.endswith(
        "so once the node is surely down: kubectl delete pod mnist-master-0 -n ns --force"
    )
    cluster.vanish("mnist-master-0")
    cluster.settle()
    assert cluster.conditions["Running"] == "True"


def test_it_is_left_alone_until_then_whatever_it_would_be_deleted_for() -> None:
    whole = pytorch({"Master": 1, "Worker": 1}, {"springtide.dev/restart": "whole-job"})
    smaller = pytorch({"Worker": 2}, elasticPolicy={"minReplicas": 1, "maxReplicas": 2})
    for cluster, silent in ((running(whole), "mnist-master-0"), (running(smaller), "mnist-worker-1")):
        cluster.change(silent, ready=False, reason="NodeLost")
        if silent == "mnist-master-0":
            cluster.fail("mnist-worker-0", code=137)
        else:
            cluster.resize(1)
        cluster.reconcile()
        cluster.tick(60)
        cluster.reconcile()
        assert silent in cluster.pods
        assert not cluster.pods[silent].terminating
        cluster.terminate(silent)
        cluster.settle(60)
        assert (silent in cluster.pods) == (silent == "mnist-master-0")
        assert cluster.conditions["Running"] == "True"


def test_a_suspended_job_keeps_it_where_the_annotation_forbids() -> None:
    for annotated, stays in ((None, False), (NEVER, True)):
        cluster = lost(annotated, evicted=False)
        cluster.policy(suspend=True)
        cluster.reconcile()
        assert ("mnist-master-0" in cluster.pods) is stays
