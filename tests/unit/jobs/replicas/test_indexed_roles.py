# SPDX-License-Identifier: Apache-2.0
"""A kind without a launcher goes through the same engine: its pods keep their names, its roles say how it ends."""

from __future__ import annotations

import pytest
from tests.unit.jobs.builders import a_toy, reasons, running
from tests.unit.jobs.simulated import Cluster

from springtide.jobs.observed import Exit, Key, Settings

EVERYBODY = ["toy-master-0", "toy-worker-0", "toy-worker-1"]


def succeed(cluster: Cluster, *names: str) -> None:
    for name in names:
        cluster.change(name, phase="Succeeded", ready=False, exit=Exit(0, "Completed"))


def services(cluster: Cluster) -> list[str]:
    return sorted(key.name for key in cluster.objects if key.kind == "Service")


def test_a_job_is_created_runs_and_succeeds() -> None:
    cluster = a_toy()
    cluster.reconcile()
    assert (sorted(cluster.pods), services(cluster)) == (EVERYBODY, EVERYBODY)
    cluster.settle()
    assert cluster.conditions == {"Created": "True", "Running": "True"}
    assert (cluster.status.state, cluster.status.workers) == ("Running", "2/2")
    succeed(cluster, "toy-master-0")
    cluster.settle()
    assert cluster.conditions == {"Created": "True", "Running": "False", "Succeeded": "True"}
    assert reasons(cluster) == ["ToyJobCreated", "ToyJobRunning", "ToyJobSucceeded"]
    assert cluster.status.replica_statuses["Master"].succeeded == 1
    assert cluster.status.replica_statuses["Worker"].active == 2


def test_the_ledger_has_its_place_without_a_host_list() -> None:
    cluster = running(a_toy())
    assert cluster.objects[Key("v1", "ConfigMap", "toy-config")]["data"] == {}


def test_nothing_is_written_when_nothing_changes() -> None:
    assert running(a_toy()).plan().actions == ()


def test_who_has_succeeded_does_not_run_again_when_its_pod_is_deleted() -> None:
    cluster = running(a_toy())
    succeed(cluster, "toy-worker-1")
    cluster.reconcile()
    cluster.vanish("toy-worker-1")
    cluster.settle()
    assert sorted(cluster.pods) == EVERYBODY[:2]


def test_a_deleted_pod_is_made_again() -> None:
    cluster = running(a_toy())
    cluster.terminate("toy-worker-0")
    cluster.settle()
    assert sorted(cluster.pods) == EVERYBODY
    assert not cluster.finished


@pytest.mark.parametrize("slowly", [True, False], ids=["terminating first", "gone at once"])
@pytest.mark.parametrize("name", EVERYBODY)
def test_that_a_pod_was_deleted_is_told_once(name: str, slowly: bool) -> None:
    cluster = running(a_toy(elastic=(1, 4)))
    if slowly:
        cluster.terminate(name)
        cluster.reconcile()
    cluster.vanish(name)
    cluster.settle()
    told = [event.message for event in cluster.events if event.reason == "ReplicaReplaced"]
    assert told == [f"{name} was deleted; it is created again"]
    assert sorted(cluster.pods) == EVERYBODY


def test_deleted_together_they_are_told_together() -> None:
    cluster = running(a_toy(6, elastic=(1, 8)))
    names = sorted(cluster.pods)
    for name in names:
        cluster.vanish(name)
    cluster.settle()
    (told,) = (event.message for event in cluster.events if event.reason == "ReplicaReplaced")
    assert told.endswith(" and 4 more were deleted; they are created again")
    assert sorted(cluster.pods) == names


def test_pods_that_the_operator_deletes_are_not_told_as_deleted() -> None:
    cluster = running(a_toy(restart="OnFailure"))
    cluster.fail("toy-worker-0")
    cluster.settle()
    cluster.resize(1)
    cluster.settle()
    cluster.resize(3)
    cluster.settle()
    for suspend in (True, False):
        cluster.policy(suspend=suspend)
        cluster.settle()
    assert "ReplicaReplaced" not in reasons(cluster)


def test_resizing_makes_and_removes_the_highest_places_with_their_services() -> None:
    cluster = running(a_toy(2))
    cluster.resize(9)
    cluster.settle()
    assert len(cluster.pods) == len(services(cluster)) == 5
    cluster.resize(1)
    cluster.settle()
    assert sorted(cluster.pods) == services(cluster) == ["toy-master-0", "toy-worker-0"]


def test_suspending_ends_all_pods_and_resuming_starts_over() -> None:
    cluster = running(a_toy())
    cluster.policy(suspend=True)
    cluster.settle()
    assert not cluster.pods
    assert cluster.status.state == "Suspended"
    cluster.policy(suspend=False)
    cluster.settle()
    assert sorted(cluster.pods) == EVERYBODY


@pytest.mark.parametrize(
    ("clean", "left"),
    [("None", EVERYBODY), ("Running", EVERYBODY[:1]), ("All", [])],
)
def test_what_is_left(clean: str, left: list[str]) -> None:
    cluster = running(a_toy(cleanPodPolicy=clean))
    succeed(cluster, "toy-master-0")
    cluster.settle()
    assert sorted(cluster.pods) == left


def test_all_roles_are_placed_together() -> None:
    cluster = a_toy()
    cluster.settings = Settings(gang_scheduler="volcano")
    cluster.settle()
    assert [body["spec"]["minMember"] for key, body in cluster.objects.items() if key.kind == "PodGroup"] == [3]
