# SPDX-License-Identifier: Apache-2.0
"""Workers that keep their names leave: with their nodes, or because the job shrinks."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.unit.jobs.builders import a_toy, reasons, running
from tests.unit.jobs.simulated import Cluster

from springtide.jobs.kind import Of
from springtide.jobs.ledger import ANNOTATION
from springtide.jobs.observed import Exit, Key
from springtide.jobs.replicas import resizing
from springtide.jobs.reporting import decision_log


def placed(workers: int = 3, elastic: tuple[int, int] | None = (1, 4)) -> Cluster:
    """Worker i runs on the node of its letter, the master on the last."""
    cluster = running(a_toy(workers, elastic=elastic))
    for pod in cluster.of("Worker"):
        assert pod.index is not None
        cluster.change(pod.name, node=f"node-{'abc'[pod.index % 3]}")
    cluster.change("toy-master-0", node="node-c")
    return cluster


def told_to_end(cluster: Cluster) -> list[str]:
    return sorted(pod.name for pod in cluster.pods.values() if pod.terminating)


def services(cluster: Cluster) -> list[str]:
    return sorted(key.name for key in cluster.objects if key.kind == "Service")


def test_a_worker_leaves_its_node_and_is_created_again_under_its_name() -> None:
    cluster = placed()
    before = cluster.pods["toy-worker-1"].uid
    cluster.leaving = frozenset({"node-b"})
    cluster.reconcile()
    assert told_to_end(cluster) == ["toy-worker-1"]
    assert reasons(cluster) == ["WorkersMoved"]
    cluster.settle()
    moved = cluster.pods["toy-worker-1"]
    assert (moved.uid != before, moved.node != "node-b") == (True, True)
    assert cluster.status.restarts == {}
    assert (cluster.status.state, cluster.status.workers) == ("Running", "3/3")


def test_as_many_leave_at_once_as_the_job_can_do_without() -> None:
    cluster = placed(elastic=(2, 4))
    cluster.leaving = frozenset({"node-a", "node-b"})
    cluster.reconcile()
    assert told_to_end(cluster) == ["toy-worker-1"]
    cluster.reconcile()
    assert told_to_end(cluster) == ["toy-worker-1"]
    cluster.tick()
    cluster.reconcile()
    cluster.ready("toy-worker-1")
    cluster.reconcile()
    assert told_to_end(cluster) == ["toy-worker-0"]


def test_a_node_that_says_when_it_goes_is_left_in_time() -> None:
    cluster = placed(elastic=(3, 4))
    cluster.leaving = frozenset({"node-b"})
    cluster.reclaims = {"node-b": cluster.now + timedelta(seconds=100)}
    cluster.reconcile()
    assert told_to_end(cluster) == []
    cluster.now += timedelta(seconds=65)
    cluster.reconcile()
    assert told_to_end(cluster) == ["toy-worker-1"]


def test_somebody_stays_to_go_on_from() -> None:
    cluster = placed(1)
    cluster.leaving = frozenset({"node-a"})
    cluster.reclaims = {"node-a": cluster.now}
    cluster.reconcile()
    assert told_to_end(cluster) == []


def test_workers_of_a_job_that_does_not_follow_its_size_stay() -> None:
    cluster = placed(elastic=None)
    cluster.leaving = frozenset({"node-b"})
    cluster.reconcile()
    assert told_to_end(cluster) == []


def test_a_worker_that_is_placed_there_again_is_not_moved_for_ever() -> None:
    cluster = placed()
    cluster.leaving = frozenset({"node-b"})
    cluster.reconcile()
    cluster.tick()
    cluster.reconcile()
    cluster.change("toy-worker-1", node="node-b", phase="Running", ready=True)
    cluster.reconcile()
    assert told_to_end(cluster) == []
    cluster.leaving = frozenset()
    cluster.reconcile()
    cluster.leaving = frozenset({"node-b"})
    cluster.reconcile()
    assert told_to_end(cluster) == ["toy-worker-1"]


def place_again(cluster: Cluster, name: str, node: str) -> None:
    """It ends and is created again, and the scheduler finds no better node."""
    cluster.tick()
    cluster.reconcile()
    cluster.change(name, node=node, phase="Running", ready=True)
    cluster.reconcile()


def test_nor_to_and_fro_between_two_nodes_that_leave() -> None:
    cluster = placed()
    cluster.leaving = frozenset({"node-a", "node-b"})
    cluster.change("toy-worker-0", node="node-c")
    cluster.reconcile()
    assert told_to_end(cluster) == ["toy-worker-1"]
    place_again(cluster, "toy-worker-1", "node-a")
    assert told_to_end(cluster) == ["toy-worker-1"]
    place_again(cluster, "toy-worker-1", "node-b")
    assert told_to_end(cluster) == []
    cluster.change("toy-worker-1", node="node-a")
    cluster.reconcile()
    assert told_to_end(cluster) == []
    assert reasons(cluster) == ["WorkersMoved", "WorkersMoved"]


def test_of_two_nodes_only_the_one_that_stays_is_forgotten() -> None:
    cluster = placed()
    cluster.leaving = frozenset({"node-a", "node-b"})
    cluster.change("toy-worker-0", node="node-c")
    cluster.reconcile()
    place_again(cluster, "toy-worker-1", "node-a")
    place_again(cluster, "toy-worker-1", "node-b")
    cluster.leaving = frozenset({"node-b"})
    cluster.reconcile()
    assert told_to_end(cluster) == []
    cluster.leaving = frozenset({"node-a", "node-b"})
    cluster.change("toy-worker-1", node="node-a")
    cluster.reconcile()
    assert told_to_end(cluster) == ["toy-worker-1"]


def test_whose_node_stays_after_all_is_not_told_to_end() -> None:
    cluster = placed()
    cluster.leaving = frozenset({"node-a", "node-b"})
    cluster.change("toy-worker-0", node="node-c")
    cluster.reconcile()
    cluster.tick()
    cluster.reconcile()
    cluster.change("toy-worker-1", node="node-a", phase="Running", ready=True)
    cluster.reconcile(1)
    assert told_to_end(cluster) == []
    cluster.leaving = frozenset({"node-b"})
    cluster.reconcile()
    assert told_to_end(cluster) == []


def test_a_move_goes_on_wherever_the_operator_is_killed() -> None:
    cluster = placed()
    cluster.leaving = frozenset({"node-b"})
    cluster.reconcile(1)
    assert told_to_end(cluster) == []
    cluster.reconcile()
    assert told_to_end(cluster) == ["toy-worker-1"]


def test_a_job_shrinks_from_the_highest_index_and_keeps_the_names_of_those_that_leave() -> None:
    cluster = placed(4)
    cluster.change("toy-worker-0", annotations={resizing.VICTIM: "true"})
    cluster.resize(2)
    cluster.reconcile()
    cluster.reconcile()
    assert told_to_end(cluster) == ["toy-worker-2", "toy-worker-3"]
    assert len(services(cluster)) == 5
    assert (cluster.status.state, cluster.status.explanation) == (
        "Scaling in",
        "toy-worker-2, toy-worker-3 are terminating within their grace periods.",
    )
    cluster.settle()
    assert services(cluster) == ["toy-master-0", "toy-worker-0", "toy-worker-1"]
    assert (cluster.status.state, cluster.status.workers) == ("Running", "2/2")


def test_a_resize_is_told_once_wherever_the_operator_is_killed() -> None:
    cluster = placed(2)
    cluster.resize(4)
    cluster.settle()
    cluster.resize(2)
    cluster.settle()
    assert [(event.reason, event.message) for event in cluster.events] == [
        ("ScalingOut", "2 → 4 workers"),
        ("ScalingIn", "4 → 2 workers: toy-worker-3, toy-worker-2 will be removed"),
    ]
    cluster.resize(3)
    for until in range(6):
        cluster.reconcile(until)
    cluster.settle()
    (config,) = (held for key, held in cluster.observe().objects.items() if key.kind == "ConfigMap")
    told = [line.message for line in decision_log.log(config.annotations)]
    assert told.count("2 → 3 workers") == 1


def test_a_job_that_is_not_elastic_keeps_its_size_until_it_starts_anew() -> None:
    cluster = placed(2, elastic=None)
    cluster.resize(4)
    cluster.settle()
    assert len(cluster.of("Worker")) == 2
    asked = "4 workers are requested, 2 run: a ToyJob has no elasticPolicy"
    assert cluster.status.explanation == f"{asked}; suspend and resume the job to start anew with the requested size."
    assert [(event.type, event.reason) for event in cluster.events] == [("Warning", "NotElastic")]
    cluster.policy(suspend=True)
    cluster.settle()
    cluster.policy(suspend=False)
    cluster.settle()
    assert len(cluster.of("Worker")) == 4
    assert cluster.conditions["SizeDeferred"] == "False"


def test_of_a_job_of_an_earlier_release_nobody_knows_whether_it_was_resized() -> None:
    cluster = placed(2)
    config = cluster.objects[Key("v1", "ConfigMap", "toy-config")]
    del config["metadata"]["annotations"][ANNOTATION]
    cluster.settle()
    assert reasons(cluster) == []
    cluster.resize(3)
    cluster.reconcile()
    assert reasons(cluster) == ["ScalingOut"]


def test_a_job_that_grows_says_so() -> None:
    cluster = placed(2)
    cluster.resize(3)
    cluster.reconcile()
    assert (cluster.status.state, cluster.status.explanation) == ("Scaling out", "2 of 3 workers are ready.")


@pytest.mark.parametrize(("phase", "code"), [("Succeeded", 0), ("Failed", 143)])
def test_what_a_worker_says_when_it_is_told_to_end_is_neither_success_nor_failure(phase: str, code: int) -> None:
    cluster = running(a_toy(restart="Never", success=("Worker", Of.ANY)))
    cluster.change("toy-worker-1", terminating=True, phase=phase, ready=False, exit=Exit(code, "Error"))
    cluster.reconcile()
    assert not cluster.finished
    cluster.settle()
    assert cluster.pods["toy-worker-1"].alive
    assert cluster.status.restarts == {}
