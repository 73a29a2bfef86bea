# SPDX-License-Identifier: Apache-2.0
"""The one word and the one sentence."""

from __future__ import annotations

from tests.unit.jobs.builders import elastic, running
from tests.unit.jobs.simulated import Cluster


def told(cluster: Cluster) -> tuple[str, str]:
    return cluster.status.state, cluster.status.explanation


def test_words_of_a_life() -> None:
    cluster = elastic(2)
    cluster.reconcile()
    cluster.reconcile()
    assert told(cluster) == ("Queued", "2 of 2 workers wait for a place on a node.")
    cluster.tick()
    cluster.reconcile()
    assert told(cluster) == ("Starting", "2 workers ready; the launcher is starting.")
    cluster.settle()
    assert told(cluster) == ("Running", "The job runs with 2 workers.")
    cluster.resize(3)
    cluster.reconcile()
    assert told(cluster) == ("Scaling out", "2 of 3 workers are in the host list.")
    cluster.settle()
    cluster.resize(2)
    cluster.reconcile()
    assert told(cluster) == ("Scaling in", "The launcher has been told to leave pi-worker-2.")
    cluster.settle()
    cluster.succeed()
    cluster.reconcile()
    assert told(cluster) == ("Succeeded", "MPIJob ns/pi successfully completed.")


def test_a_launcher_that_finds_no_node_is_what_the_job_waits_for() -> None:
    cluster = elastic(2)
    cluster.reconcile()
    for name in ("pi-worker-0", "pi-worker-1"):
        cluster.ready(name)
    cluster.change("pi-launcher", node="")
    cluster.reconcile()
    assert told(cluster) == ("Queued", "2 workers ready; the launcher waits for a place on a node.")


def test_below_its_minimum_a_job_waits_and_says_so() -> None:
    cluster = running(elastic(2, elasticPolicy={"minReplicas": 2}))
    cluster.fail("pi-worker-1")
    cluster.reconcile()
    assert told(cluster) == ("Running", "The job waits: 1 worker ready, and it needs at least 2.")


def test_columns_and_the_scale_subresource_have_what_they_need() -> None:
    cluster = running(elastic(2))
    status = cluster.status
    assert (status.workers, status.min_replicas, status.max_replicas, status.replicas) == ("2/2", 1, 4, 2)
    labels = cluster.manifests["pi-worker-0"]["metadata"]["labels"]
    assert dict(pair.split("=") for pair in status.selector.split(",")).items() <= labels.items()
    assert not status.replica_statuses["Worker"].selector
