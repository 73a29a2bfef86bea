# SPDX-License-Identifier: Apache-2.0
"""Workers on nodes that are going away."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.unit.api.builders import an_mpijob
from tests.unit.jobs.builders import elastic, reasons, running
from tests.unit.jobs.simulated import Cluster


def leaving(*names: str, workers: int = 3, cluster: Cluster | None = None) -> Cluster:
    """Runs, with these workers on a node that is going away."""
    cluster = cluster or running(elastic(workers))
    for name in names:
        cluster.change(name, node="spot")
    cluster.leaving = frozenset({"spot"})
    return cluster


def test_newcomers_come_first_and_the_list_changes_once() -> None:
    cluster = leaving("pi-worker-1")
    cluster.reconcile()
    assert cluster.listed() == ["pi-worker-0", "pi-worker-1", "pi-worker-2"]
    assert "pi-worker-3" in cluster.pods
    cluster.ready("pi-worker-3")
    cluster.reconcile()
    assert cluster.listed() == ["pi-worker-0", "pi-worker-2", "pi-worker-3"]
    assert cluster.pods["pi-worker-1"].alive, "it is drained before it is deleted"
    cluster.settle()
    assert cluster.workers() == cluster.listed() == ["pi-worker-0", "pi-worker-2", "pi-worker-3"]
    assert reasons(cluster) == ["NodeLeaving", "WorkersMoved"]


def test_a_job_at_its_upper_bound_is_moved_without_a_host_too_many() -> None:
    cluster = leaving("pi-worker-0", "pi-worker-3", workers=4)
    for _ in range(20):
        cluster.reconcile()
        assert len(cluster.listed()) == 4
        cluster.tick(5)
    assert cluster.workers() == ["pi-worker-1", "pi-worker-2", "pi-worker-4", "pi-worker-5"]


def test_without_a_successor_a_worker_stays_as_long_as_nobody_evicts_it() -> None:
    cluster = leaving("pi-worker-1")
    cluster.reconcile()
    cluster.now += timedelta(hours=1)
    cluster.reconcile()
    assert len(cluster.listed()) == 3
    cluster.terminate("pi-worker-1")
    cluster.reconcile()
    assert cluster.listed() == ["pi-worker-0", "pi-worker-2"]
    cluster.settle()
    assert len(cluster.listed()) == 3


def test_a_node_that_says_when_it_goes_is_left_in_time_for_a_drain() -> None:
    cluster = leaving("pi-worker-1")
    cluster.reclaims = {"spot": cluster.now + timedelta(seconds=120)}
    cluster.reconcile()
    cluster.now += timedelta(seconds=84)
    cluster.reconcile()
    assert len(cluster.listed()) == 3
    cluster.now += timedelta(seconds=1)
    cluster.reconcile()
    assert cluster.listed() == ["pi-worker-0", "pi-worker-2"]


def test_the_last_host_is_never_left() -> None:
    cluster = leaving("pi-worker-0", "pi-worker-1", workers=2)
    cluster.reclaims = {"spot": cluster.now}
    cluster.reconcile()
    assert len(cluster.listed()) == 2
    cluster.ready("pi-worker-2")
    cluster.reconcile()
    assert cluster.listed() == ["pi-worker-2"]


def test_whoever_is_placed_there_all_the_same_stays() -> None:
    cluster = leaving("pi-worker-1")
    cluster.reconcile()
    cluster.change("pi-worker-3", node="spot")
    cluster.settle()
    assert cluster.workers() == ["pi-worker-0", "pi-worker-2", "pi-worker-3"]


def test_a_notice_that_is_taken_back_leaves_the_size_as_it_was() -> None:
    cluster = leaving("pi-worker-1")
    cluster.reconcile()
    cluster.leaving = frozenset()
    cluster.settle()
    assert cluster.workers() == ["pi-worker-0", "pi-worker-1", "pi-worker-2"]


def test_workers_of_a_launcher_that_is_not_elastic_are_left_alone_while_it_runs() -> None:
    cluster = leaving("pi-worker-1", cluster=running(Cluster(an_mpijob(workers=3))))
    before = cluster.workers()
    cluster.settle()
    assert cluster.workers() == before


@pytest.mark.parametrize("command", [("mpirun", "pi"), ("horovodrun", "--host-discovery-script", "/x")])
def test_workers_are_moved_before_the_launcher_starts(command: tuple[str, ...]) -> None:
    cluster = Cluster(an_mpijob(workers=3, command=command))
    cluster.reconcile()
    cluster.change("pi-worker-1", node="spot")
    cluster.leaving = frozenset({"spot"})
    cluster.settle()
    assert cluster.listed() == ["pi-worker-0", "pi-worker-2", "pi-worker-3"]


def test_newcomers_that_are_held_back_relieve_nobody() -> None:
    cluster = elastic(2)
    for _ in range(3):
        cluster.reconcile()
        cluster.tick()
    leaving("pi-worker-1", cluster=cluster)
    cluster.reconcile()
    cluster.ready("pi-worker-2")
    cluster.reconcile()
    assert cluster.listed() == ["pi-worker-0", "pi-worker-1"]
    cluster.now += timedelta(seconds=30)
    cluster.reconcile()
    assert cluster.listed() == ["pi-worker-0", "pi-worker-2"]


def test_a_shrink_takes_those_that_would_have_to_be_moved() -> None:
    cluster = leaving("pi-worker-0", "pi-worker-1", workers=4)
    cluster.resize(2)
    cluster.settle()
    assert cluster.workers() == ["pi-worker-2", "pi-worker-3"]


# Cordons


def cordoned(*names: str, workers: int = 3) -> Cluster:
    cluster = running(elastic(workers))
    for name in names:
        cluster.change(name, node="closed")
    cluster.cordoned = frozenset({"closed"})
    return cluster


def test_a_cordon_moves_nobody() -> None:
    cluster = cordoned("pi-worker-1")
    cluster.settle()
    assert cluster.workers() == ["pi-worker-0", "pi-worker-1", "pi-worker-2"]
    assert reasons(cluster) == []


def test_but_when_the_job_shrinks_workers_there_go_first() -> None:
    cluster = cordoned("pi-worker-0", "pi-worker-1", workers=4)
    cluster.resize(2)
    cluster.settle()
    assert cluster.workers() == ["pi-worker-2", "pi-worker-3"]


def test_after_those_on_a_node_that_goes() -> None:
    cluster = cordoned("pi-worker-0", workers=4)
    cluster.change("pi-worker-1", node="spot")
    cluster.leaving = frozenset({"spot"})
    cluster.resize(3)
    cluster.reconcile()
    assert cluster.listed() == ["pi-worker-0", "pi-worker-2", "pi-worker-3"]


# Evictions


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("EvictionByEvictionAPI", "was evicted from node spot"),
        ("DeletionByTaintManager", "was evicted from node spot by a taint"),
        ("PreemptionByScheduler", "was preempted on node spot"),
    ],
)
@pytest.mark.parametrize("phase", ["Running", "Failed"])
def test_who_is_evicted_has_moved_and_not_failed(reason: str, said: str, phase: str) -> None:
    cluster = running(elastic(3))
    for _ in range(20):
        name = cluster.workers()[-1]
        cluster.change(name, node="spot", phase=phase, ready=False, terminating=True, disruption=reason)
        cluster.reconcile()
        cluster.settle()
    assert len(cluster.listed()) == 3
    assert not cluster.status.restarts
    assert set(reasons(cluster)) == {"WorkersMoved"}
    assert cluster.events[0].message == f"pi-worker-2 {said}; a replacement is created"
    assert cluster.events[0].type == "Normal"
