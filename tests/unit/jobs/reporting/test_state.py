# SPDX-License-Identifier: Apache-2.0
"""The one word and the one sentence."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace
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
    assert told(cluster) == (
        "Scaling in",
        "pi-worker-2 left the host list; it is deleted as soon as the launcher no longer uses it, "
        "at 06:05:10 UTC at the latest.",
    )
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


# What is waited for on purpose says until when


def test_newcomers_wait_until_the_launcher_has_settled() -> None:
    cluster = elastic(2)
    for _ in range(3):
        cluster.reconcile()
        cluster.tick()
    cluster.reconcile()
    assert told(cluster) == ("Running", "The job runs with 2 workers.")
    cluster.resize(3)
    cluster.reconcile()
    cluster.tick(5)
    cluster.reconcile()
    until = "06:00:30 UTC"
    assert told(cluster) == (
        "Scaling out",
        f"2 of 3 workers are in the host list; pi-worker-2 joins at {until}, because the launcher overlooks hosts that "
        "are added soon after its start (annotation springtide.dev/settle-seconds).",
    )
    before = cluster.status
    cluster.tick(5)
    cluster.reconcile()
    assert cluster.status == before


def test_a_launcher_waits_a_while_for_all_its_workers() -> None:
    cluster = elastic(3)
    cluster.reconcile()
    cluster.ready("pi-worker-0", "pi-worker-1")
    cluster.change("pi-worker-2", node="node-a")
    cluster.reconcile()
    assert told(cluster) == (
        "Starting",
        "2 of 3 workers are ready; the launcher starts with all workers, or at 06:01:00 UTC with 2 of 3 workers.",
    )


def test_a_failed_launcher_is_tried_again_at_a_time() -> None:
    cluster = running(elastic(2, runPolicy={"backoffLimit": 3}))
    cluster.fail("pi-launcher")
    cluster.reconcile()
    cluster.reconcile()
    at = (cluster.now + timedelta(seconds=10)).strftime("%H:%M:%S")
    assert told(cluster) == ("Restarting", f"The launcher failed and is created again at {at} UTC, retry 1 of 3.")


def test_a_replacement_that_is_held_back_says_until_when() -> None:
    cluster = running(elastic(2))
    for _ in range(2):
        cluster.fail(cluster.workers()[-1])
        cluster.reconcile()
        cluster.tick()
        cluster.reconcile()
    at = (cluster.now + timedelta(seconds=10)).strftime("%H:%M:%S")
    assert told(cluster) == (
        "Scaling out",
        f"1 of 2 workers is in the host list; a failed worker is replaced at {at} UTC.",
    )


def test_another_day_is_named() -> None:
    cluster = elastic(3, annotations={"springtide.dev/start-seconds": "100000"})
    cluster.reconcile()
    cluster.ready("pi-worker-0", "pi-worker-1")
    cluster.change("pi-worker-2", node="node-a")
    cluster.reconcile()
    assert "or at 2026-11-17 09:46:40 UTC with 2 of 3 workers" in cluster.status.explanation


# Workers that are not there are not shown


@pytest.mark.parametrize("clean", ["None", "Running", "All"])
def test_a_finished_job_shows_no_workers(clean: str) -> None:
    cluster = running(elastic(2, runPolicy={"cleanPodPolicy": clean}))
    cluster.succeed()
    cluster.reconcile()
    assert cluster.status.workers == "0/2"
    cluster.settle()
    assert cluster.status.workers == "0/2"


def test_one_that_finished_under_an_earlier_release_does_not_either() -> None:
    cluster = running(elastic(2))
    cluster.succeed()
    cluster.settle()
    cluster.status = replace(cluster.status, workers="2/2")
    cluster.resize(3)
    cluster.settle()
    assert cluster.status.workers == "0/2"


def test_a_suspended_job_shows_no_workers() -> None:
    cluster = running(elastic(2))
    cluster.policy(suspend=True)
    cluster.reconcile()
    assert (cluster.status.state, cluster.status.workers) == ("Suspended", "0/2")
