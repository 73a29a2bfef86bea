# SPDX-License-Identifier: Apache-2.0
"""A kind without a launcher goes through the same engine: its pods keep their names, its roles say how it ends."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.unit.jobs.builders import reasons, running
from tests.unit.jobs.simulated import Cluster
from tests.unit.jobs.toy import a_toy

from springtide.jobs.kind import Of
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


@pytest.mark.parametrize(
    ("role", "of", "ended", "succeeds"),
    [
        ("Master", Of.ALL, ["toy-master-0"], True),
        ("Master", Of.ALL, ["toy-worker-0", "toy-worker-1"], False),
        ("Worker", Of.FIRST, ["toy-worker-0"], True),
        ("Worker", Of.FIRST, ["toy-worker-1"], False),
        ("Worker", Of.ALL, ["toy-worker-0"], False),
        ("Worker", Of.ALL, ["toy-worker-0", "toy-worker-1"], True),
        ("Worker", Of.ANY, ["toy-worker-1"], True),
        ("Worker", Of.ANY, ["toy-master-0"], False),
    ],
    ids=[
        "the master's success is the job's",
        "workers do not matter where there is a master",
        "the first worker's success is the job's",
        "the second worker's is not",
        "one worker of two is not all",
        "two workers of two are all",
        "any worker's success is the job's",
        "a master is no worker",
    ],
)
def test_who_decides(role: str, of: Of, ended: list[str], succeeds: bool) -> None:
    cluster = running(a_toy(success=(role, of)))
    succeed(cluster, *ended)
    cluster.settle()
    assert cluster.finished == succeeds


def test_who_has_succeeded_does_not_run_again_when_its_pod_is_deleted() -> None:
    cluster = running(a_toy())
    succeed(cluster, "toy-worker-1")
    cluster.reconcile()
    cluster.vanish("toy-worker-1")
    cluster.settle()
    assert sorted(cluster.pods) == EVERYBODY[:2]


@pytest.mark.parametrize(
    ("restart", "code", "reason", "again"),
    [
        ("Never", 1, "", False),
        ("Never", 137, "Evicted", True),
        ("OnFailure", 1, "", True),
        ("Always", 1, "", True),
        ("ExitCode", 1, "", False),
        ("ExitCode", 137, "", True),
    ],
    ids=[
        "Never: the job fails",
        "Never: it was its node's fault",
        "OnFailure",
        "Always",
        "ExitCode: its own mistake",
        "ExitCode: it was killed",
    ],
)
def test_a_failed_replica_is_made_again_under_its_name(restart: str, code: int, reason: str, again: bool) -> None:
    cluster = running(a_toy(restart=restart))
    before = cluster.pods["toy-worker-1"].uid
    cluster.fail("toy-worker-1", reason, code)
    cluster.reconcile()
    assert cluster.finished != again
    if again:
        assert cluster.conditions["Restarting"] == "True"
        cluster.settle()
        assert cluster.conditions == {"Created": "True", "Running": "True"}
        assert cluster.pods["toy-worker-1"].uid != before
        assert cluster.status.restarts == {"Worker": 1}
    else:
        failed = cluster.status.conditions[-1]
        assert (failed.reason, failed.message) == (
            "ToyJobFailed",
            f"ToyJob ns/toy has failed: toy-worker-1 exited with code {code}; see kubectl logs toy-worker-1 -n ns",
        )


def test_tries_come_to_an_end() -> None:
    cluster = running(a_toy(restart="OnFailure", retries=2))
    for _ in range(2):
        cluster.fail("toy-worker-1")
        cluster.settle(300)
        assert not cluster.finished
    cluster.fail("toy-master-0")
    cluster.reconcile()
    assert cluster.finished


def test_a_failure_is_counted_once_wherever_the_operator_is_killed() -> None:
    cluster = running(a_toy(restart="OnFailure"))
    cluster.fail("toy-worker-1")
    for until in range(6):
        cluster.reconcile(until)
    cluster.settle(300)
    assert cluster.status.restarts == {"Worker": 1}


def test_a_failed_pod_stays_until_its_time_has_come() -> None:
    cluster = running(a_toy(restart="OnFailure"))
    cluster.fail("toy-worker-1")
    cluster.reconcile()
    assert cluster.pods["toy-worker-1"].ended
    cluster.now += timedelta(seconds=10)
    cluster.reconcile()
    cluster.reconcile()
    assert not cluster.pods["toy-worker-1"].ended


def test_a_deleted_pod_is_made_again() -> None:
    cluster = running(a_toy())
    cluster.terminate("toy-worker-0")
    cluster.settle()
    assert sorted(cluster.pods) == EVERYBODY
    assert not cluster.finished


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
    cluster = running(a_toy(clean=clean))
    succeed(cluster, "toy-master-0")
    cluster.settle()
    assert sorted(cluster.pods) == left


def test_all_roles_are_placed_together() -> None:
    cluster = a_toy()
    cluster.settings = Settings(gang_scheduler="volcano")
    cluster.settle()
    assert [body["spec"]["minMember"] for key, body in cluster.objects.items() if key.kind == "PodGroup"] == [3]
