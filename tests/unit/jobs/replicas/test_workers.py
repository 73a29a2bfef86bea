# SPDX-License-Identifier: Apache-2.0
"""Workers that are lost, and those that take their place."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.unit.jobs.builders import elastic, reasons, running

from springtide.jobs.ledger import NEXT_INDEX, Ledger, read
from springtide.jobs.observed import Key
from springtide.jobs.policies.backoff_limit import CAP


@pytest.mark.parametrize(
    ("fields", "cause"),
    [
        ({"phase": "Failed", "reason": "Evicted", "message": "The node was low on memory"}, "was evicted: The node"),
        ({"phase": "Failed"}, "ended as Failed"),
        ({"phase": "Succeeded"}, "ended as Succeeded"),
        ({"terminating": True}, "was deleted"),
        ({"reason": "NodeLost", "node": "spot"}, "was lost with node spot"),
    ],
    ids=["evicted", "failed", "ended", "being deleted", "lost with its node"],
)
def test_a_worker_is_replaced_under_a_fresh_name_when_it_is(fields: dict[str, object], cause: str) -> None:
    cluster = running(elastic(2))
    cluster.change("pi-worker-1", **fields)
    cluster.reconcile()
    assert cluster.listed() == ["pi-worker-0"]
    assert "pi-worker-2" in cluster.pods
    assert cause in cluster.events[-1].message
    cluster.settle()
    assert cluster.listed() == ["pi-worker-0", "pi-worker-2"]
    assert cluster.workers() == ["pi-worker-0", "pi-worker-2"]


def test_a_worker_that_vanished_is_replaced_under_a_fresh_name() -> None:
    cluster = running(elastic(2))
    cluster.vanish("pi-worker-0")
    cluster.settle()
    assert cluster.listed() == ["pi-worker-1", "pi-worker-2"]


def test_a_worker_that_was_never_listed_keeps_its_name() -> None:
    cluster = elastic(2)
    cluster.reconcile()
    cluster.vanish("pi-worker-0")
    cluster.settle()
    assert cluster.listed() == ["pi-worker-0", "pi-worker-1"]


def test_a_plan_that_is_interrupted_before_its_pods_is_taken_up_with_the_same_names() -> None:
    cluster = elastic(2)
    cluster.reconcile(until=4)  # account, Role, RoleBinding, config object
    assert cluster.workers() == []
    cluster.reconcile()
    assert cluster.workers() == ["pi-worker-0", "pi-worker-1"]


def test_the_index_is_written_before_the_pod() -> None:
    cluster = elastic(2)
    cluster.reconcile(until=4)
    config = cluster.objects[Key("v1", "ConfigMap", "pi-config")]
    assert config["metadata"]["annotations"][NEXT_INDEX] == "2"


def test_the_next_index_is_above_all_that_were_seen_even_without_an_annotation() -> None:
    cluster = running(elastic(3))
    assert read({}, cluster.of("Worker")).next_index == 3
    assert read({NEXT_INDEX: "7"}, cluster.of("Worker")).next_index == 7


def test_a_lost_config_object_is_made_again_around_the_workers_there_are() -> None:
    cluster = running(elastic(3))
    before = cluster.listed()
    del cluster.objects[Key("v1", "ConfigMap", "pi-config")]
    cluster.reconcile()
    assert cluster.listed() == before
    assert len(cluster.pods) == 4


def test_a_ledger_survives_its_annotations() -> None:
    cluster = running(elastic(3))
    ledger = Ledger(
        4, (0, 3), (0,), (0, 3), (0,), {2: cluster.now}, "a", "b", 1, cluster.now, 2, 3, {3: 1}, ((2, cluster.now),)
    )
    assert read(ledger.annotations(), ()) == ledger


def test_a_second_replacement_is_held_back() -> None:
    cluster = running(elastic(2))
    cluster.fail("pi-worker-1")
    cluster.reconcile()
    cluster.ready("pi-worker-2")
    cluster.reconcile()
    cluster.fail("pi-worker-2")
    cluster.reconcile()
    assert "pi-worker-3" not in cluster.pods
    cluster.now += timedelta(seconds=10)
    cluster.reconcile()
    assert "pi-worker-3" in cluster.pods


def test_workers_that_are_lost_together_are_replaced_together() -> None:
    cluster = running(elastic(4))
    for name in cluster.workers():
        cluster.fail(name)
        cluster.reconcile()
    assert len([pod for pod in cluster.of("Worker") if pod.alive]) == 4


def test_the_job_fails_when_too_many_were_evicted() -> None:
    cluster = running(elastic(2))
    for _ in range(CAP + 1):
        name = cluster.listed()[-1]
        cluster.fail(name, "Evicted")
        while not cluster.finished and name in cluster.pods:
            cluster.reconcile()
        for _ in range(12):
            cluster.tick(40)
            cluster.reconcile()
    failed = cluster.status.conditions[-1]
    assert (failed.type, failed.reason, failed.message) == ("Failed", "MPIJobEvicted", "1/2 workers are evicted")


def test_old_losses_are_forgotten() -> None:
    cluster = running(elastic(2))
    for _ in range(CAP * 2):
        cluster.fail(cluster.listed()[-1])
        cluster.reconcile()
        cluster.settle(700)
    assert not cluster.finished
    assert set(reasons(cluster)) == {"WorkerReplaced"}
