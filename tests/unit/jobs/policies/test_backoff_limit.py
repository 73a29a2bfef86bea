# SPDX-License-Identifier: Apache-2.0
"""How often what failed is tried again, and when."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.unit.jobs.builders import a_toy, elastic, reasons, running
from tests.unit.jobs.simulated import Cluster

from springtide.jobs.observed import Exit
from springtide.jobs.policies import backoff_limit


@pytest.mark.parametrize(("failures", "seconds"), [(0, 0), (1, 10), (2, 20), (3, 40), (6, 300), (100, 300)])
def test_delays_double_up_to_five_minutes(failures: int, seconds: int) -> None:
    assert backoff_limit.delay(failures) == timedelta(seconds=seconds)


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
    cluster = running(a_toy(restart="OnFailure", backoffLimit=2))
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


def test_a_batch_job_says_why_it_failed() -> None:
    cluster = running(elastic(2, "v2beta1", runPolicy={"backoffLimit": 0}))
    cluster.fail(cluster.launcher().name, "OOMKilled", 137)
    cluster.settle()
    failed = cluster.status.conditions[-1]
    assert failed.reason == "BackoffLimitExceeded/OOMKilled"
    name = cluster.of("Launcher")[0].name
    assert failed.message == f"Job has failed: exited with code 137 (SIGKILL); see kubectl logs {name} -n ns"
    assert cluster.status.replica_statuses["Launcher"].failed == 1


CRASHED = Exit(1, "Error", "no backend")


def restart_in_place(cluster: Cluster, name: str, times: int) -> None:
    cluster.change(name, restarts=times, last_exit=CRASHED)


def test_restarts_in_place_count_once_wherever_the_operator_is_killed() -> None:
    cluster = running(a_toy(restart="OnFailure", backoffLimit=6))
    restart_in_place(cluster, "toy-worker-1", 2)
    for until in range(4):
        cluster.reconcile(until)
    cluster.settle()
    assert cluster.status.restarts == {"Worker": 2}
    restart_in_place(cluster, "toy-worker-1", 3)
    cluster.settle()
    assert cluster.status.restarts == {"Worker": 3}
    assert cluster.events[-1].message == (
        "toy-worker-1 was restarted in place after it exited with code 1: no backend; restart 3 of 6"
    )
    assert cluster.conditions == {"Created": "True", "Running": "True"}


def test_restarts_in_place_and_pods_that_are_created_again_count_alike() -> None:
    cluster = running(a_toy(restart="OnFailure", backoffLimit=3))
    restart_in_place(cluster, "toy-worker-0", 2)
    cluster.settle()
    cluster.fail("toy-worker-0", code=137)
    cluster.settle(300)
    assert cluster.pods["toy-worker-0"].restarts == 0
    assert (cluster.status.restarts, cluster.finished) == ({"Worker": 3}, False)
    restart_in_place(cluster, "toy-worker-0", 1)
    cluster.settle()
    assert cluster.finished


@pytest.mark.parametrize(("restart", "counts"), [("OnFailure", 1), ("Always", 1), ("Never", 0), ("ExitCode", 0)])
def test_restarts_in_place_count_where_the_role_asks_for_them(restart: str, counts: int) -> None:
    cluster = running(a_toy(restart=restart, backoffLimit=0))
    restart_in_place(cluster, "toy-worker-0", 1)
    cluster.settle()
    assert (cluster.finished, len(reasons(cluster))) == (bool(counts), counts)


def test_restarts_in_place_of_one_pod_do_not_put_off_another() -> None:
    cluster = running(a_toy(restart="OnFailure", backoffLimit=20))
    failed = cluster.pods["toy-worker-1"].uid
    cluster.fail("toy-worker-1")
    cluster.reconcile()
    for times in range(1, 5):
        cluster.now += timedelta(seconds=2)
        restart_in_place(cluster, "toy-worker-0", times)
        cluster.reconcile()
    assert cluster.status.restarts == {"Worker": 5}
    cluster.now += timedelta(seconds=2)
    cluster.reconcile()
    cluster.tick()
    cluster.reconcile()
    assert cluster.pods["toy-worker-1"].uid != failed


@pytest.mark.parametrize("clean", ["None", "Running", "All"])
def test_a_job_whose_pods_crash_again_and_again_fails_and_is_stopped(clean: str) -> None:
    cluster = running(a_toy(restart="OnFailure", backoffLimit=2, cleanPodPolicy=clean))
    for times in (1, 2):
        restart_in_place(cluster, "toy-master-0", times)
        cluster.settle()
        assert not cluster.finished
    restart_in_place(cluster, "toy-master-0", 3)
    cluster.settle()
    failed = cluster.status.conditions[-1]
    assert (failed.type, failed.reason) == ("Failed", "BackoffLimitExceeded")
    assert failed.message == (
        "ToyJob ns/toy has failed because it has reached the specified backoff limit (2): "
        "toy-master-0 exited with code 1: no backend"
    )
    assert not [pod for pod in cluster.pods.values() if pod.alive]


def test_restarts_of_a_launchers_workers_are_the_kubelets_business() -> None:
    cluster = running(elastic(2))
    cluster.change("pi-worker-0", restarts=50, last_exit=CRASHED)
    assert cluster.plan().actions == ()
