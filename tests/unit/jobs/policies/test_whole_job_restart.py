# SPDX-License-Identifier: Apache-2.0
"""`springtide.dev/restart: whole-job`: when one replica dies, all are restarted together."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from tests.unit.jobs.builders import pytorch, reasons, running, tensorflow
from tests.unit.jobs.simulated import Cluster

from springtide.jobs.actions import Create
from springtide.jobs.observed import Exit

Submit = Callable[..., Cluster]

WHOLE = {"springtide.dev/restart": "whole-job"}
MASTER, ZERO, ONE = "mnist-master-0", "mnist-worker-0", "mnist-worker-1"


def torch(limit: int = 2, **spec: Any) -> Cluster:
    return running(pytorch({"Master": 1, "Worker": 2}, WHOLE, runPolicy={"backoffLimit": limit}, **spec))


def tf(limit: int = 2, **spec: Any) -> Cluster:
    return running(tensorflow({"PS": 1, "Worker": 2}, WHOLE, runPolicy={"backoffLimit": limit}, **spec))


both = pytest.mark.parametrize("submit", [torch, tf])


def uids(cluster: Cluster) -> set[str]:
    return {pod.uid for pod in cluster.pods.values()}


def created(cluster: Cluster) -> list[str]:
    made = [each.manifest for each in cluster.plan().actions if isinstance(each, Create)]
    return [manifest["metadata"]["name"] for manifest in made if manifest["kind"] == "Pod"]


def restarted(cluster: Cluster, before: set[str]) -> bool:
    """All replicas are there and ready, and none of them is an earlier one."""
    places = {each.name for each in cluster.snapshot.fixed}
    ready = {pod.name for pod in cluster.pods.values() if pod.ready}
    return ready == places and not uids(cluster) & before


@both
@pytest.mark.parametrize("restart", ["OnFailure", "ExitCode", "Always"])
def test_a_replica_that_fails_restarts_all_of_them(submit: Submit, restart: str) -> None:
    cluster = submit(restart=restart)
    before = uids(cluster)
    cluster.fail(ONE, code=137)
    cluster.reconcile()
    message = "mnist-worker-1 exited with code 137 (SIGKILL); all replicas are restarted together"
    assert [event.message for event in cluster.events if event.reason == "JobRestarted"] == [
        f"{message} (springtide.dev/restart)"
    ]
    assert "ReplicaRestarted" not in reasons(cluster)
    assert cluster.conditions["Restarting"] == "True"
    cluster.settle()
    assert restarted(cluster, before)
    assert cluster.conditions["Running"] == "True"
    assert reasons(cluster).count("JobRestarted") == 1


def test_the_others_leave_at_once_and_nothing_is_created_before_the_last_is_gone() -> None:
    cluster = torch()
    cluster.fail(ONE, code=137)
    cluster.reconcile()
    assert [pod.name for pod in cluster.pods.values() if pod.terminating] == [MASTER, ZERO]
    cluster.vanish(MASTER)
    cluster.reconcile()
    assert created(cluster) == []
    cluster.vanish(ZERO)
    cluster.reconcile()
    assert created(cluster) == []  # the failed pod is kept until the back-off is over: so long its log can be read
    assert list(cluster.pods) == [ONE]
    cluster.settle()
    assert sorted(cluster.pods) == [MASTER, ZERO, ONE]


def test_one_that_ends_slowly_holds_up_the_rest() -> None:
    cluster = torch()
    cluster.fail(ONE, code=137)
    cluster.reconcile()
    for _ in range(5):
        cluster.now += timedelta(seconds=60)
        cluster.reconcile()
        for name in (MASTER, ONE):
            if name in cluster.pods and cluster.pods[name].terminating:
                cluster.vanish(name)
        assert created(cluster) == []
    assert list(cluster.pods) == [ZERO]


@both
@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("deleted", "was deleted"),
        ("terminating", "was deleted"),
        ("evicted", "was evicted from node {node}"),
        ("Evicted", "was evicted: low on memory"),
        ("lost", "was lost with node {node}"),
    ],
)
def test_other_deaths_restart_all_of_them_too(submit: Submit, how: str, said: str) -> None:
    cluster = submit()
    before, node = uids(cluster), cluster.pods[ONE].node
    match how:
        case "deleted":
            cluster.vanish(ONE)
        case "terminating":
            cluster.terminate(ONE)
        case "evicted":
            cluster.change(ONE, terminating=True, disruption="EvictionByEvictionAPI")
        case "Evicted":
            cluster.change(ONE, phase="Failed", ready=False, reason="Evicted", message="low on memory")
        case _:
            cluster.change(ONE, ready=False, reason="NodeLost", terminating=True)
    cluster.reconcile()
    (message,) = (event.message for event in cluster.events if event.reason == "JobRestarted")
    assert message.startswith(f"{ONE} {said.format(node=node)}; all replicas are restarted together")
    cluster.settle()
    assert restarted(cluster, before)
    assert reasons(cluster).count("JobRestarted") == 1


def test_two_failures_are_one_restart() -> None:
    cluster = torch(limit=1)
    cluster.fail(ZERO, code=137)
    cluster.fail(ONE, code=137)
    cluster.settle()
    assert not cluster.finished
    assert cluster.conditions["Running"] == "True"


def test_what_fails_because_of_the_restart_does_not_count() -> None:
    cluster = torch(limit=1)
    cluster.fail(ONE, code=137)
    cluster.reconcile()
    for name in (MASTER, ZERO):
        cluster.change(name, phase="Failed", ready=False, exit=Exit(143, "Error"))
        cluster.reconcile()
    cluster.settle()
    assert not cluster.finished
    assert cluster.snapshot.ledger.restarts == 1


@both
def test_each_restart_counts_once_against_the_limit(submit: Submit) -> None:
    cluster = submit(limit=2, restart="OnFailure")
    for _ in range(2):
        before = uids(cluster)
        cluster.fail(ONE, code=137)
        cluster.settle(300)
        assert restarted(cluster, before)
    cluster.fail(ONE, code=137)
    cluster.settle()
    assert cluster.conditions["Failed"] == "True"


@pytest.mark.parametrize(("restart", "code"), [("Never", 137), ("ExitCode", 1)])
def test_a_failure_that_is_not_tried_again_fails_the_job(restart: str, code: int) -> None:
    cluster = torch(restart=restart)
    cluster.fail(ONE, code=code)
    cluster.settle()
    assert cluster.conditions["Failed"] == "True"
    assert "JobRestarted" not in reasons(cluster)


def test_the_kubelet_restarts_no_container_by_itself() -> None:
    cluster = torch(restart="OnFailure")
    assert {body["spec"]["restartPolicy"] for body in cluster.manifests.values()} == {"Never"}


def test_replicas_that_were_done_run_again() -> None:
    """They take part in the collectives of the others."""
    cluster = torch()
    cluster.change(ZERO, phase="Succeeded", ready=False, exit=Exit(0, "Completed"))
    cluster.settle()
    before = uids(cluster)
    cluster.fail(ONE, code=137)
    cluster.settle()
    assert restarted(cluster, before)


def test_one_that_was_done_and_deleted_runs_again_too() -> None:
    cluster = torch()
    cluster.change(ZERO, phase="Succeeded", ready=False, exit=Exit(0, "Completed"))
    cluster.settle()
    cluster.vanish(ZERO)
    cluster.settle()
    assert ZERO not in cluster.pods
    assert reasons(cluster) == []
    cluster.fail(ONE, code=137)
    cluster.settle()
    assert sorted(cluster.pods) == [MASTER, ZERO, ONE]


def test_pods_that_are_missing_at_the_start_are_no_deaths() -> None:
    """A quota or an interrupted reconcile: not all replicas exist at once."""
    cluster = pytorch({"Master": 1, "Worker": 2}, WHOLE)
    cluster.reconcile()
    cluster.vanish(ONE)
    before = cluster.pods[ZERO].uid
    cluster.settle()
    assert "JobRestarted" not in reasons(cluster)
    assert cluster.pods[ZERO].uid == before


@pytest.mark.parametrize("until", range(14))
@pytest.mark.parametrize("how", ["killed", "deleted"])
@both
def test_the_operator_may_be_killed_at_any_action(submit: Submit, how: str, until: int) -> None:
    cluster = submit(limit=1, restart="OnFailure")
    before = uids(cluster)
    cluster.fail(ONE, code=137) if how == "killed" else cluster.terminate(ONE)
    for seconds in (0, 20, 20):
        cluster.reconcile(until)
        cluster.tick(seconds)
    cluster.settle()
    assert restarted(cluster, before)
    assert cluster.conditions["Running"] == "True"
    assert cluster.snapshot.ledger.restarts == (how == "killed")


def test_a_job_that_grows_and_shrinks_ignores_it() -> None:
    for cluster in (
        torch(elasticPolicy={"minReplicas": 1, "maxReplicas": 2}),
        tf(enableDynamicWorker=True, restart="ExitCode"),
    ):
        before = {name: pod.uid for name, pod in cluster.pods.items()}
        cluster.fail(ONE, code=137)
        cluster.settle()
        assert [name for name, pod in cluster.pods.items() if pod.uid != before[name]] == [ONE]
        assert "JobRestarted" not in reasons(cluster)


@pytest.mark.parametrize("value", ["", "never", "Whole-Job"])
def test_other_values_mean_nothing(value: str) -> None:
    cluster = running(pytorch({"Master": 1, "Worker": 2}, {"springtide.dev/restart": value}))
    cluster.fail(ONE, code=137)
    cluster.settle()
    assert "JobRestarted" not in reasons(cluster)


def test_a_suspended_job_starts_anew_without_a_restart() -> None:
    cluster = torch()
    for suspend in (True, False):
        cluster.policy(suspend=suspend)
        cluster.settle()
    assert sorted(cluster.pods) == [MASTER, ZERO, ONE]
    assert "JobRestarted" not in reasons(cluster)
