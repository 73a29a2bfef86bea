# SPDX-License-Identifier: Apache-2.0
"""A shutdown of the nodes is no failure of the jobs on them: they run again, however often it happens."""

from __future__ import annotations

import pytest
from tests.unit.api.builders import an_mpijob
from tests.unit.jobs.builders import a_toy, elastic, reasons, running
from tests.unit.jobs.simulated import Cluster

from springtide.jobs.endings import causes
from springtide.jobs.observed import Exit
from springtide.jobs.policies.backoff_limit import CAP

versions = pytest.mark.parametrize("version", ["v1", "v2beta1"])
BY_SHUTDOWN = {"phase": "Failed", "ready": False, "reason": "Terminated", "disrupted": True}
NO_TRIES = {"backoffLimit": 0}


def shut_down(cluster: Cluster) -> None:
    """All pods that live are terminated by their kubelets, which find that out when they are back."""
    for pod in list(cluster.pods.values()):
        if pod.alive:
            cluster.change(pod.name, **BY_SHUTDOWN, exit=Exit(143, "Error"))
    cluster.ranks.clear()


@versions
@pytest.mark.parametrize("is_elastic", [True, False], ids=["elastic", "plain"])
def test_a_job_without_tries_survives_any_number_of_shutdowns(version: str, is_elastic: bool) -> None:
    raw = an_mpijob(version, runPolicy=NO_TRIES)
    cluster = running(elastic(2, version, runPolicy=NO_TRIES) if is_elastic else Cluster(raw))
    for _ in range(CAP + 2):
        before = {pod.uid for pod in cluster.pods.values()}
        shut_down(cluster)
        cluster.settle(60)
        assert (cluster.status.state, cluster.status.workers) == ("Running", "2/2")
        assert not before & {pod.uid for pod in cluster.pods.values() if pod.alive}
    assert not cluster.status.restarts
    cluster.succeed()
    cluster.settle()
    assert cluster.conditions["Succeeded"] == "True"


@versions
def test_events_tell_what_happened(version: str) -> None:
    cluster = running(elastic(2, version))
    node = cluster.launcher().node
    shut_down(cluster)
    cluster.settle(60)
    told = [event.message for event in cluster.events]
    assert any(f"The launcher was stopped with node {node}" in message for message in told), told
    assert not any("143" in message for message in told), told


@versions
def test_a_launcher_alone_is_replaced_when_its_node_was_shut_down(version: str) -> None:
    cluster = running(elastic(2, version, runPolicy=NO_TRIES))
    before = cluster.launcher().uid
    cluster.change(cluster.launcher().name, **BY_SHUTDOWN)
    cluster.settle(60)
    assert cluster.status.state == "Running"
    assert cluster.launcher().uid != before


@versions
def test_a_worker_alone_is_replaced_at_once(version: str) -> None:
    cluster = running(elastic(2, version))
    for _ in range(CAP + 2):
        cluster.change(cluster.workers()[-1], **BY_SHUTDOWN)
        cluster.settle(0)
        assert (cluster.status.state, cluster.status.workers) == ("Running", "2/2")


@versions
def test_finished_and_suspended_jobs_are_left_as_they_are(version: str) -> None:
    done = running(elastic(2, version, cleanPodPolicy="None"))
    done.succeed()
    done.settle()
    before = done.status.conditions
    shut_down(done)
    done.settle(60)
    assert done.status.conditions == before
    paused = running(elastic(2, version, runPolicy={"suspend": True}))
    shut_down(paused)
    paused.settle(60)
    assert (paused.status.state, reasons(paused)) == ("Suspended", [])


def test_replicas_that_keep_their_names_run_again() -> None:
    cluster = running(a_toy())
    for _ in range(CAP + 2):
        shut_down(cluster)
        cluster.settle(60)
        assert (cluster.status.state, cluster.status.workers) == ("Running", "2/2")


def test_a_batch_launcher_that_is_evicted_again_and_again_ends_its_job() -> None:
    """Its Job replaces it without counting."""
    cluster = running(elastic(2, "v2beta1"))
    for _ in range(CAP + 1):
        assert "Failed" not in cluster.conditions
        cluster.change(cluster.launcher().name, **{**BY_SHUTDOWN, "reason": causes.EVICTED})
        cluster.settle(60)
    assert cluster.status.state == "Failed"
    assert next(each.reason for each in cluster.status.conditions if each.type == "Failed") == "MPIJobEvicted"
