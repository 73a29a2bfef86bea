# SPDX-License-Identifier: Apache-2.0
"""When a launcher starts, with which hosts, and what becomes of it when it fails."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from tests.unit.api.builders import a_template, an_mpijob
from tests.unit.jobs.builders import ELASTIC, elastic, reasons, running
from tests.unit.jobs.simulated import Cluster
from tests.unit.jobs.toy_with_launcher import a_toy_with_launcher

from springtide.api.kinds.replicas import RestartPolicy
from springtide.jobs.actions import Patch, RequeueAfter
from springtide.jobs.reporting import progress

versions = pytest.mark.parametrize("version", ["v1", "v2beta1"])


@versions
def test_a_launcher_exists_before_its_workers_run(version: str) -> None:
    cluster = elastic(2, version)
    cluster.reconcile()
    cluster.job_controller()
    assert len(cluster.of("Launcher")) == 1


@pytest.mark.parametrize(
    ("version", "reason"), [("v1", "SettedPodTemplateRestartPolicy"), ("v2beta1", "SetPodTemplateRestartPolicy")]
)
def test_a_restart_policy_in_the_template_is_overridden_with_a_warning(version: str, reason: str) -> None:
    template = a_template("mpirun", "pi")
    template["spec"]["restartPolicy"] = "Always"
    cluster = Cluster(an_mpijob(version, launcher={"template": template}))
    cluster.settle()
    assert reasons(cluster).count(reason) == 1


@versions
def test_one_that_waits_for_workers_is_created_when_all_are_ready(version: str) -> None:
    cluster = elastic(2, version, launcherCreationPolicy="WaitForWorkersReady")
    cluster.reconcile()
    assert cluster.batch is None
    assert not cluster.of("Launcher")
    cluster.tick()
    cluster.reconcile()
    cluster.job_controller()
    assert len(cluster.of("Launcher")) == 1


def test_hosts_are_given_when_all_workers_are_ready() -> None:
    cluster = elastic(3)
    cluster.reconcile()
    cluster.ready("pi-worker-0", "pi-worker-1")
    cluster.reconcile()
    assert "exit 1" in cluster.file("discover_hosts.sh")
    cluster.ready("pi-worker-2")
    cluster.reconcile()
    assert len(cluster.listed()) == 3


def test_an_elastic_launcher_starts_with_fewer_after_a_while() -> None:
    cluster = elastic(3)
    cluster.reconcile()
    cluster.ready("pi-worker-0", "pi-worker-1")
    made = cluster.reconcile()
    assert made.actions[-1] == RequeueAfter(timedelta(seconds=60))
    cluster.now += timedelta(seconds=60)
    cluster.reconcile()
    assert cluster.listed() == ["pi-worker-0", "pi-worker-1"]


@pytest.mark.parametrize("command", [ELASTIC, ("mpirun", "pi")], ids=["horovodrun", "mpirun"])
def test_one_host_is_never_enough_for_horovodrun_and_mpirun_wants_all(command: tuple[str, ...]) -> None:
    cluster = Cluster(an_mpijob(workers=3, command=command))
    cluster.reconcile()
    cluster.ready("pi-worker-0")
    cluster.now += timedelta(hours=1)
    cluster.reconcile()
    assert cluster.listed() == []
    assert cluster.status.state == "Queued"
    cluster.tick()
    cluster.change("pi-worker-1", ready=False)
    cluster.change("pi-worker-2", ready=False)
    cluster.reconcile()
    assert cluster.status.explanation.startswith("1 of 3 workers is ready; the launcher starts with")


def test_a_size_below_what_the_launcher_can_start_with_waits_and_says_so() -> None:
    cluster = elastic(1)
    cluster.reconcile()
    for _ in range(5):
        cluster.tick(700)
        cluster.reconcile()
    assert cluster.listed() == []
    assert cluster.status.explanation.startswith(
        "1 worker is requested, but the launcher cannot start with fewer than 2"
    )
    assert cluster.conditions["CannotStart"] == "True"
    assert [event.type for event in cluster.events if event.reason == "TooFewWorkers"] == ["Warning"]
    cluster.resize(2)
    cluster.settle()
    assert cluster.conditions["CannotStart"] == "False"
    assert len(cluster.listed()) == 2


TIDE = ("tiderun", *ELASTIC[1:])


def created_so(cluster: Cluster) -> None:
    cluster.resize(1)


def without_its_launcher(cluster: Cluster) -> None:
    running(cluster).resize(1)
    cluster.settle()
    cluster.vanish("pi-launcher")


def resumed(cluster: Cluster) -> None:
    running(cluster).resize(1)
    cluster.policy(suspend=True)
    cluster.settle()
    cluster.policy(suspend=False)


BEFORE = (created_so, without_its_launcher, resumed)


@pytest.mark.parametrize("before", BEFORE)
def test_tiderun_starts_with_what_its_minimum_allows(before: Callable[[Cluster], object]) -> None:
    cluster = Cluster(an_mpijob(workers=2, command=TIDE))
    before(cluster)
    cluster.settle()
    assert len(cluster.listed()) == 1
    assert cluster.launcher().phase == "Running"
    assert "CannotStart" not in cluster.conditions


@pytest.mark.parametrize("before", BEFORE)
def test_horovodrun_cannot_and_a_warning_says_so(before: Callable[[Cluster], object]) -> None:
    cluster = elastic(2)
    before(cluster)
    for _ in range(5):
        cluster.tick(700)
        cluster.reconcile()
    assert cluster.listed() == []
    assert cluster.conditions["CannotStart"] == "True"
    assert reasons(cluster).count("TooFewWorkers") == 1


def test_a_running_launcher_below_its_start_size_is_no_cause_for_alarm() -> None:
    cluster = running(elastic(2))
    cluster.resize(1)
    cluster.settle()
    assert len(cluster.listed()) == 1
    assert "CannotStart" not in cluster.conditions


def test_tiderun_does_not_wait_for_ever_for_workers_beyond_its_minimum() -> None:
    cluster = Cluster(an_mpijob(workers=3, command=TIDE))
    cluster.reconcile()
    cluster.ready("pi-worker-0")
    cluster.reconcile()
    assert cluster.listed() == []
    cluster.now += timedelta(seconds=60)
    cluster.reconcile()
    assert cluster.listed() == ["pi-worker-0"]


def test_newcomers_are_held_back_while_horovodrun_settles() -> None:
    cluster = elastic(2)
    for _ in range(3):
        cluster.reconcile()
        cluster.tick()
    assert cluster.launcher().phase == "Running"
    cluster.resize(3)
    cluster.reconcile()
    cluster.tick()
    cluster.reconcile()
    assert len(cluster.listed()) == 2
    cluster.now += timedelta(seconds=30)
    cluster.reconcile()
    assert len(cluster.listed()) == 3


@pytest.mark.parametrize(("size", "listed"), [(2, 3), (0, 2)])
def test_newcomers_join_at_once_when_the_launcher_reports_that_ranks_train(size: int, listed: int) -> None:
    cluster = elastic(2)
    for _ in range(3):
        cluster.reconcile()
        cluster.tick()
    launcher = cluster.launcher()
    said = f'{{"springtide":"progress","at":"2026-11-16T06:00:00Z","size":{size}}}'
    cluster.change(launcher.name, annotations={**launcher.annotations, progress.ANNOTATION: said})
    cluster.resize(3)
    cluster.reconcile()
    cluster.tick()
    cluster.reconcile()
    assert len(cluster.listed()) == listed


def test_a_job_scaled_in_while_it_waits_starts_with_what_it_has() -> None:
    cluster = Cluster(an_mpijob(workers=3))
    cluster.reconcile()
    cluster.ready("pi-worker-0")
    cluster.resize(1)
    cluster.settle()
    assert cluster.listed() == ["pi-worker-0"]
    assert cluster.conditions["Running"] == "True"


@pytest.mark.parametrize(
    ("restart", "limit", "tries"),
    [("Never", None, 0), ("OnFailure", None, 6), ("Never", 2, 2), ("OnFailure", 0, 0)],
    ids=["never by default", "six times if asked to restart", "as the limit says", "never if the limit says so"],
)
def test_v1_launchers_are_tried_again(restart: str, limit: int | None, tries: int) -> None:
    policy = {} if limit is None else {"backoffLimit": limit}
    cluster = running(elastic(2, launcher={"restartPolicy": restart}, runPolicy=policy))
    for _ in range(tries):
        cluster.fail("pi-launcher")
        cluster.settle(300)
        assert not cluster.finished
    assert cluster.status.restarts.get("Launcher", 0) == tries
    cluster.fail("pi-launcher", code=137)
    cluster.settle()
    failed = cluster.status.conditions[-1]
    assert (failed.type, failed.reason) == ("Failed", "MPIJobFailed")
    assert failed.message == (
        "MPIJob ns/pi has failed: launcher exited with code 137 (SIGKILL); see kubectl logs pi-launcher -n ns"
    )


def test_a_failure_is_counted_once_wherever_the_operator_is_killed() -> None:
    cluster = running(elastic(2, runPolicy={"backoffLimit": 3}))
    cluster.fail("pi-launcher")
    for until in range(6):
        cluster.reconcile(until)
    cluster.settle(300)
    assert cluster.status.restarts["Launcher"] == 1


@versions
def test_a_successor_gets_none_of_its_predecessors_workers(version: str) -> None:
    cluster = running(elastic(2, version, runPolicy={"backoffLimit": 3}))
    before = set(cluster.listed())
    cluster.fail(cluster.launcher().name)
    cluster.reconcile()
    assert cluster.listed() == []
    cluster.settle(60)
    assert len(cluster.listed()) == 2
    assert not before & set(cluster.listed())


def test_a_launcher_waits_until_the_last_worker_of_its_predecessor_is_gone() -> None:
    cluster = running(elastic(2, runPolicy={"backoffLimit": 3}))
    cluster.fail("pi-launcher")
    cluster.reconcile()
    cluster.now += timedelta(minutes=5)
    cluster.reconcile()
    assert not [pod for pod in cluster.of("Launcher") if pod.alive]
    cluster.settle()
    assert cluster.launcher().phase == "Running"


def test_the_next_pod_of_a_batch_job_gets_no_hosts_while_ranks_of_the_last_may_run() -> None:
    cluster = running(elastic(2, "v2beta1", runPolicy={"backoffLimit": 3}))
    cluster.fail(cluster.launcher().name)
    cluster.job_controller()
    cluster.reconcile()
    cluster.ready("pi-worker-2", "pi-worker-3")
    cluster.reconcile()
    assert cluster.listed() == []
    cluster.vanish("pi-worker-0")
    cluster.vanish("pi-worker-1")
    cluster.reconcile()
    assert cluster.listed() == ["pi-worker-2", "pi-worker-3"]


@versions
def test_a_job_without_workers_runs_its_launcher_alone(version: str) -> None:
    raw = an_mpijob(version)
    del raw["spec"]["mpiReplicaSpecs"]["Worker"]
    cluster = Cluster(raw)
    cluster.settle()
    assert cluster.conditions == {"Created": "True", "Running": "True"}
    assert list(cluster.status.replica_statuses) == ["Launcher"]


def test_an_evicted_launcher_is_no_failure_of_the_program() -> None:
    cluster = running(elastic(2))
    cluster.fail("pi-launcher", "Evicted")
    cluster.reconcile()
    assert cluster.conditions["Restarting"] == "True"
    assert cluster.status.state == "Restarting"
    cluster.settle()
    assert cluster.conditions == {"Created": "True", "Running": "True", "TrainingSetBack": "False"}


def test_a_deleted_launcher_comes_back() -> None:
    cluster = running(elastic(2))
    cluster.vanish("pi-launcher")
    cluster.settle()
    assert cluster.launcher().phase == "Running"
    assert reasons(cluster)[0] == "WorkersRenewed"


def test_the_list_is_for_one_launcher_pod_alone() -> None:
    cluster = running(elastic(2))
    assert f'"$1" = {cluster.launcher().uid} ' in cluster.file("hosts_given.sh")


# A launcher that waits for workers, and that may be created before all are ready.


def crowded(places: int, **options: Any) -> Cluster:
    """A job of three workers of which only some get ready."""
    cluster = a_toy_with_launcher(3, **options)
    cluster.reconcile()
    cluster.ready(*cluster.workers()[:places])
    cluster.reconcile()
    return cluster


def wait(cluster: Cluster, seconds: int) -> None:
    cluster.now += timedelta(seconds=seconds)
    for _ in range(3):
        cluster.reconcile()


def test_it_is_created_after_a_while_with_as_many_as_it_needs() -> None:
    cluster = crowded(2, start=2, starts_early=True)
    assert RequeueAfter(timedelta(seconds=60)) in cluster.plan().actions
    assert cluster.status.explanation == (
        "2 of 3 workers are ready; the launcher starts with all workers, or at 06:01:00 UTC with 2 of 3 workers."
    )
    wait(cluster, 59)
    assert not cluster.of("Launcher")
    wait(cluster, 1)
    assert cluster.listed() == ["pi-worker-0", "pi-worker-1"]
    cluster.ready("pi-launcher")
    cluster.reconcile()
    assert (cluster.status.state, cluster.status.workers) == ("Scaling out", "2/3")
    cluster.settle()
    assert cluster.listed() == ["pi-worker-0", "pi-worker-1", "pi-worker-2"]


def test_the_while_begins_when_the_last_one_that_it_needs_has_started() -> None:
    cluster = crowded(1, start=2, starts_early=True)
    wait(cluster, 300)
    assert not cluster.of("Launcher")
    cluster.ready("pi-worker-2")
    wait(cluster, 59)
    assert not cluster.of("Launcher")
    wait(cluster, 1)
    assert cluster.of("Launcher")


def test_the_user_chooses_the_while() -> None:
    cluster = crowded(1, start=1, starts_early=True)
    cluster.raw["metadata"]["annotations"]["springtide.dev/start-seconds"] = "5"
    wait(cluster, 5)
    assert cluster.listed() == ["pi-worker-0"]


def test_it_is_created_at_once_when_all_are_ready() -> None:
    cluster = crowded(3, start=1, starts_early=True)
    assert cluster.of("Launcher")


def test_it_waits_for_all_unless_it_may_start_early() -> None:
    cluster = crowded(2)
    wait(cluster, 3600)
    assert not cluster.of("Launcher")
    cluster = crowded(2, start=1)
    wait(cluster, 3600)
    assert not cluster.of("Launcher")


def test_a_dead_worker_is_not_waited_for_by_a_launcher_that_may_start_without_it() -> None:
    cluster = crowded(2, start=2, starts_early=True, worker_restarts=RestartPolicy.NEVER)
    cluster.fail("pi-worker-2")
    cluster.settle()
    assert cluster.listed() == ["pi-worker-0", "pi-worker-1"]
    assert not cluster.finished


def test_a_launcher_on_a_node_that_does_not_respond_is_not_nudged() -> None:
    cluster = running(elastic(2))
    cluster.resize(1)
    cluster.lose(cluster.launcher().node)
    cluster.reconcile()
    patched = [each.key.name for each in cluster.plan().actions if isinstance(each, Patch) and each.key.kind == "Pod"]
    assert patched == []
