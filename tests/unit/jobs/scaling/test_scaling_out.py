# SPDX-License-Identifier: Apache-2.0
"""ScaleOut: all of its workers join together, or none does."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from tests.unit.jobs.builders import reasons, running
from tests.unit.jobs.scaling.builders import LABEL, UNPLACED, end, members, names, scalable, types
from tests.unit.jobs.simulated import Cluster, Conflict

from springtide.api.kinds.conditions import condition
from springtide.jobs.actions import BindScaler, Patch, ScalerEvent, ScalerStatusPatch, StatusPatch
from springtide.jobs.observed import Exit, Waiting
from springtide.jobs.reporting.progress import ANNOTATION as PROGRESS


def scaling(cluster: Cluster, count: int = 2, **fields: Any) -> str:
    """A ScaleOut whose turn has come, and whose workers have been created; its uid."""
    uid = cluster.scale("ScaleOut", "add", count=count, **fields)
    cluster.reconcile()
    cluster.reconcile()
    assert types(cluster.scalers[uid])[-1] == "Scaling"
    return uid


def finish(cluster: Cluster) -> None:
    cluster.settle(1)


def test_it_is_accepted_and_bound_before_its_turn() -> None:
    cluster = running(scalable(3))
    uid = cluster.scale("ScaleOut", "add", count=1)
    assert [type(each) for each in cluster.plan().actions] == [ScalerStatusPatch, BindScaler]
    cluster.reconcile()
    found = cluster.scalers[uid]
    assert (found.bound, found.status.phase, types(found)) == (True, "Created", ["Created"])
    assert (found.status.replica_statuses, found.status.restart_count) == ({}, 0)


def test_its_turn_is_recorded_before_anything_is_changed() -> None:
    cluster = running(scalable(3))
    uid = cluster.scale("ScaleOut", "add", count=2)
    cluster.reconcile()
    first, second, *_ = cluster.plan().actions
    assert isinstance(first, ScalerStatusPatch)
    assert isinstance(second, ScalerEvent)
    assert (first.status.phase, first.status.start_size, first.status.target_size) == ("Scaling", 3, 5)
    cluster.reconcile(1)
    assert members(cluster) == names(0, 1, 2)
    cluster.reconcile()
    assert members(cluster) == names(0, 1, 2, 3, 4)
    assert cluster.scalers[uid].status.start_time == cluster.now


def test_its_workers_are_listed_in_one_write_when_all_of_them_are_ready() -> None:
    cluster = running(scalable(3))
    uid = scaling(cluster)
    cluster.ready("pi-worker-3")
    cluster.reconcile()
    assert cluster.listed() == [*names(0, 1, 2)]
    assert cluster.scalers[uid].status.add_pods == names(3, 4)
    cluster.ready("pi-worker-4")
    cluster.reconcile()
    assert cluster.listed() == [*names(0, 1, 2, 3, 4)]


def test_the_size_is_written_before_it_has_succeeded() -> None:
    cluster = running(scalable(3))
    uid = scaling(cluster)
    cluster.ready(*names(3, 4))
    cluster.reconcile()
    assert (cluster.size, end(cluster.scalers[uid])) == (3, "")
    write = next(each for each in cluster.plan().actions if isinstance(each, Patch) and each.key.kind == "MPIJob")
    assert not [each for each in cluster.plan().actions if isinstance(each, StatusPatch)]
    assert write.resource_version == str(cluster.version)
    cluster.reconcile()
    assert (cluster.size, end(cluster.scalers[uid])) == (5, "")
    cluster.reconcile()
    assert end(cluster.scalers[uid]) == "ScaleSucceeded: 3 → 5 workers: pi-worker-3, pi-worker-4 were added"
    assert cluster.scalers[uid].status.completion_time == cluster.now


def test_its_conditions_and_reasons_are_et_operators() -> None:
    cluster = running(scalable(3))
    uid = scaling(cluster, 1)
    finish(cluster)
    found = cluster.scalers[uid].status
    assert [each.type for each in found.conditions] == ["Created", "Scaling", "ScaleSucceeded"]
    assert [each.reason for each in found.conditions[1:]] == ["ScalingStart", "ScalingOutSucceeded"]
    assert (found.phase, found.add_pods) == ("ScaleSucceeded", names(3))
    on_job = [each for each in cluster.status.conditions if each.type in ("Scaling", "ScaleSucceeded")]
    assert [each.reason for each in on_job] == ["ScalingStart", "ScalingOutSucceeded"]
    assert on_job[-1].message == "ScaleOut add: 3 → 4 workers: pi-worker-3 was added"
    assert reasons(cluster) == ["ScalingOut", "ScalingOutSucceeded"]
    assert [each.reason for each in cluster.scaler_events] == ["ScalingStart", "ScalingOutSucceeded"]


def test_the_kind_labels_its_pods() -> None:
    cluster = running(scalable(3))
    scaling(cluster, 1)
    assert cluster.manifests["pi-worker-3"]["metadata"]["labels"][LABEL] == "add"
    assert LABEL not in cluster.manifests["pi-worker-2"]["metadata"]["labels"]


def test_the_job_says_how_far_it_has_come() -> None:
    cluster = running(scalable(3))
    scaling(cluster)
    cluster.ready("pi-worker-3")
    cluster.reconcile()
    assert cluster.status.state == "Scaling out"
    until = cluster.now + timedelta(seconds=60)
    assert cluster.status.explanation == (
        f"ScaleOut add: 1 of 2 new workers is ready; all of them are removed again unless they are by {until:%T} UTC."
    )
    assert cluster.status.workers == "3/5"


@pytest.mark.parametrize("count", [None, 0, -1])
def test_a_count_that_is_not_positive_is_refused(count: int | None) -> None:
    cluster = running(scalable(3))
    uid = cluster.scale("ScaleOut", "add", count=count)
    finish(cluster)
    given = "missing" if count is None else count
    assert (
        end(cluster.scalers[uid])
        == f"ScaleFailed: spec.toAdd.count is {given}: must be at least 1; nothing was changed"
    )
    assert members(cluster) == names(0, 1, 2)


def test_more_than_the_maximum_is_refused() -> None:
    cluster = running(scalable(3, bounds=(1, 4)))
    uid = cluster.scale("ScaleOut", "add", count=2)
    finish(cluster)
    assert end(cluster.scalers[uid]) == (
        "ScaleFailed: 3 workers and 2 more would be 5: must be between 1 and 4, as the launcher's command line says; "
        "nothing was changed"
    )
    assert cluster.conditions["ScaleFailed"] == "True"
    assert (members(cluster), cluster.size) == (names(0, 1, 2), 3)


def test_more_than_the_operators_limit_is_refused() -> None:
    cluster = running(scalable(3))
    cluster.settings = replace(cluster.settings, max_workers=4)
    uid = cluster.scale("ScaleOut", "add", count=2)
    finish(cluster)
    assert "at most 4 are allowed: the operator runs no larger jobs" in end(cluster.scalers[uid])


def test_a_launcher_that_is_not_elastic_is_not_resized() -> None:
    cluster = running(scalable(2, program="mpirun"))
    uid = cluster.scale("ScaleOut", "add", count=1)
    finish(cluster)
    assert "cannot be resized while it runs: mpirun is not elastic" in end(cluster.scalers[uid])


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"error": "spec.toAdd.count: Invalid value"}, "spec.toAdd.count: Invalid value"),
        ({"env": (("-u", "x"),), "script": "/s"}, "spec.env: '-u' is not a name of an environment variable"),
        ({"env": (("A=B", "x"),), "script": "/s"}, "spec.env: 'A=B' is not a name of an environment variable"),
        ({"script": "-c"}, "spec.script: '-c' is not the path of a script"),
        ({"env": (("A", "\0"),), "script": "/s"}, "must not contain a null character"),
    ],
)
def test_an_invalid_scaler_is_refused(fields: dict[str, Any], why: str) -> None:
    cluster = running(scalable(3))
    uid = cluster.scale("ScaleOut", "add", count=1, **fields)
    finish(cluster)
    assert why in end(cluster.scalers[uid])
    assert not cluster.runs


# The timeout and its roll-back.


def cannot_fit(cluster: Cluster, name: str) -> None:
    cluster.change(name, waiting=Waiting("Unschedulable", UNPLACED))


def test_past_its_timeout_all_that_it_added_is_removed() -> None:
    cluster = running(scalable(3))
    cluster.capacity = 5
    uid = scaling(cluster, 3, timeout=timedelta(minutes=10))
    cannot_fit(cluster, "pi-worker-5")
    began = cluster.now
    while not end(cluster.scalers[uid]):
        cluster.tick(1)
        cluster.reconcile()
    assert cluster.now - began == timedelta(minutes=10)
    assert end(cluster.scalers[uid]) == (
        "ScaleFailed: 2 of 3 ready within 600 s; pi-worker-5: no node has nvidia.com/gpu free"
    )
    assert condition(cluster.scalers[uid].status.conditions, "ScaleFailed").reason == "ScalingOutFailed"  # type: ignore[union-attr]
    cluster.tick()
    assert cluster.workers() == [*names(0, 1, 2)]
    assert (cluster.size, cluster.listed(), cluster.status.state) == (3, [*names(0, 1, 2)], "Running")
    assert "ScalingRolledBack" in reasons(cluster)


def test_its_workers_were_never_in_the_host_list() -> None:
    cluster = running(scalable(3))
    cluster.capacity = 4
    scaling(cluster, 2)
    for _ in range(70):
        cluster.tick(1)
        cluster.reconcile()
    assert set(cluster.hosts) == set(names(0, 1, 2))


def test_a_roll_back_leaves_the_launcher_alone() -> None:
    cluster = running(scalable(3))
    launcher, config = cluster.launcher(), cluster.file("discover_hosts.sh")
    cluster.capacity = 3
    uid = scaling(cluster, 1)
    cluster.settle(100)
    assert end(cluster.scalers[uid]).startswith("ScaleFailed")
    assert (cluster.launcher().uid, cluster.file("discover_hosts.sh")) == (launcher.uid, config)


def test_the_plan_is_made_again_at_the_timeout() -> None:
    cluster = running(scalable(3))
    cluster.capacity = 3
    scaling(cluster, 1, timeout=timedelta(seconds=90))
    for _ in range(5):
        cluster.tick(3)
        cluster.reconcile()
    waits = [each.delay for each in cluster.plan().actions if hasattr(each, "delay")]
    assert waits == [timedelta(seconds=75)]


def test_workers_that_are_ready_in_time_join_even_if_the_operator_was_away() -> None:
    cluster = running(scalable(3))
    uid = scaling(cluster, 1)
    cluster.tick(1000)
    finish(cluster)
    assert end(cluster.scalers[uid]).startswith("ScaleSucceeded")


def test_the_time_that_a_launcher_needs_to_settle_does_not_count() -> None:
    cluster = running(scalable(3, program="horovodrun", annotations={"springtide.dev/settle-seconds": "3000"}))
    uid = scaling(cluster, 1)
    cluster.tick(100)
    cluster.reconcile()
    assert (end(cluster.scalers[uid]), cluster.listed()) == ("", [*names(0, 1, 2)])
    cluster.tick(3000)
    finish(cluster)
    assert end(cluster.scalers[uid]).startswith("ScaleSucceeded")


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"waiting": None}, "it waits for a place on a node"),
        ({"node": "node-a"}, "its containers are being created"),
        ({"phase": "Running", "node": "node-a"}, "it runs, but is not ready"),
        ({"waiting": Waiting("Unschedulable", UNPLACED)}, "no node has nvidia.com/gpu free"),
        (
            {"waiting": Waiting("Unschedulable", "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were full.")},
            "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were full",
        ),
        ({"waiting": Waiting("ErrImagePull", "no such image")}, "ImagePullBackOff: no such image"),
        ({"waiting": Waiting("CreateContainerConfigError")}, "CreateContainerConfigError"),
    ],
)
def test_the_condition_says_why_a_worker_was_missing(fields: dict[str, Any], why: str) -> None:
    cluster = running(scalable(3))
    uid = scaling(cluster, 1)
    cluster.change("pi-worker-3", **fields)
    cluster.now += timedelta(seconds=60)
    cluster.reconcile()
    assert end(cluster.scalers[uid]) == f"ScaleFailed: 0 of 1 ready within 60 s; pi-worker-3: {why}"


def test_a_new_worker_that_fails_is_replaced_and_the_others_wait_for_it() -> None:
    cluster = running(scalable(3))
    uid = scaling(cluster, 2)
    cluster.ready(*names(3, 4))
    cluster.fail("pi-worker-4")
    cluster.reconcile()
    assert members(cluster) == names(0, 1, 2, 3, 5)
    assert cluster.listed() == [*names(0, 1, 2)]
    finish(cluster)
    assert end(cluster.scalers[uid]) == "ScaleSucceeded: 3 → 5 workers: pi-worker-3, pi-worker-5 were added"


def test_new_workers_that_fail_again_and_again_fail_the_scaler_and_not_the_job() -> None:
    cluster = running(scalable(3))
    uid = scaling(cluster, 1, timeout=timedelta(days=1))
    for _ in range(400):
        for pod in cluster.of("Worker"):
            if pod.index is not None and pod.index > 2 and pod.alive:
                cluster.fail(pod.name, code=3)
                cluster.change(pod.name, exit=Exit(3, "Error"))
        cluster.reconcile()
        if end(cluster.scalers[uid]):
            break
        cluster.now += timedelta(seconds=100)
    said = end(cluster.scalers[uid])
    assert said.startswith("ScaleFailed: 0 of 1 ready; pi-worker-")
    assert said.endswith("exited with code 3, like its predecessors")
    cluster.settle(1)
    assert not cluster.finished
    assert cluster.listed() == [*names(0, 1, 2)]


def test_a_worker_of_the_job_that_is_lost_meanwhile_is_replaced_and_listed_at_once() -> None:
    cluster = running(scalable(3))
    cluster.capacity = 4
    uid = scaling(cluster, 2)
    cluster.ready("pi-worker-3")
    cluster.vanish("pi-worker-0")
    cluster.reconcile()
    assert members(cluster) == names(1, 2, 3, 4, 5)
    cluster.capacity = 5
    cluster.ready("pi-worker-5")
    cluster.reconcile()
    assert cluster.listed() == [*names(1, 2, 5)]
    assert end(cluster.scalers[uid]) == ""


def test_a_node_that_is_left_meanwhile_is_left_without_waiting_for_the_new_workers() -> None:
    cluster = running(scalable(3))
    scaling(cluster, 2)
    node = cluster.pods["pi-worker-0"].node
    there = {pod.name for pod in cluster.of("Worker") if pod.node == node}
    cluster.leaving |= {node}
    cluster.reconcile()
    fresh = [pod.name for pod in cluster.of("Worker") if pod.index is not None and pod.index > 4]
    assert len(fresh) == len(there)
    cluster.ready(*fresh)
    cluster.reconcile()
    assert not there & set(cluster.listed())
    assert len(cluster.listed()) == 3


# What happens to the job meanwhile.


def test_a_deleted_scaler_is_rolled_back() -> None:
    cluster = running(scalable(3))
    uid = scaling(cluster)
    cluster.ready("pi-worker-3")
    cluster.cancel(uid)
    finish(cluster)
    assert (cluster.workers(), cluster.size) == ([*names(0, 1, 2)], 3)
    assert cluster.status.state == "Running"


def test_a_scaler_whose_deletion_was_requested_has_no_turn_any_more() -> None:
    cluster = running(scalable(3))
    uid = scaling(cluster)
    cluster.scalers[uid] = replace(cluster.scalers[uid], terminating=True)
    finish(cluster)
    assert cluster.workers() == [*names(0, 1, 2)]
    assert end(cluster.scalers[uid]) == ""


def test_a_scaler_that_is_deleted_after_its_workers_were_listed_is_rolled_back_with_a_drain() -> None:
    cluster = running(scalable(3))
    uid = scaling(cluster)
    cluster.ready(*names(3, 4))
    cluster.reconcile()
    assert len(cluster.listed()) == 5
    cluster.cancel(uid)
    cluster.reconcile()
    assert cluster.listed() == [*names(0, 1, 2)]
    assert set(cluster.snapshot.ledger.draining) == {3, 4}


def test_the_next_scaler_takes_over_no_workers_of_one_that_was_deleted() -> None:
    cluster = running(scalable(3))
    first = scaling(cluster)
    cluster.ready("pi-worker-3")
    second = cluster.scale("ScaleOut", "next", count=1)
    cluster.cancel(first)
    finish(cluster)
    assert end(cluster.scalers[second]) == "ScaleSucceeded: 3 → 4 workers: pi-worker-5 was added"
    assert cluster.workers() == [*names(0, 1, 2, 5)]


@pytest.mark.parametrize("listed", [False, True])
def test_a_job_that_is_suspended_ends_it(listed: bool) -> None:
    cluster = running(scalable(3))
    uid = scaling(cluster)
    if listed:
        cluster.ready(*names(3, 4))
        cluster.reconcile()
    cluster.policy(suspend=True)
    finish(cluster)
    said = end(cluster.scalers[uid])
    if listed:
        assert (said.partition(":")[0], cluster.size) == ("ScaleSucceeded", 5)
    else:
        assert said == ("ScaleFailed: MPIJob ns/pi is suspended; create the ScaleOut again when it has been resumed")
    cluster.policy(suspend=False)
    finish(cluster)
    assert len(cluster.listed()) == (5 if listed else 3)


@pytest.mark.parametrize("success", [True, False])
def test_a_job_that_ends_ends_it(success: bool) -> None:
    cluster = running(scalable(3, runPolicy={"backoffLimit": 0}))
    uid = scaling(cluster)
    waits = cluster.scale("ScaleOut", "later", count=1)
    if success:
        cluster.succeed()
    else:
        cluster.fail(cluster.launcher().name)
        cluster.job_controller()
    finish(cluster)
    assert cluster.finished
    how = "has succeeded" if success else "has failed"
    ends = {end(cluster.scalers[each]) for each in (uid, waits)}
    assert ends == {f"ScaleFailed: MPIJob ns/pi {how}; a job that has finished is not resized"}


def test_a_scaler_of_a_job_that_has_ended_ends_too() -> None:
    cluster = running(scalable(3))
    cluster.succeed()
    finish(cluster)
    uid = cluster.scale("ScaleOut", "late", count=1)
    finish(cluster)
    assert types(cluster.scalers[uid]) == ["Created", "ScaleFailed"]


def test_a_job_whose_deletion_was_requested_ends_it() -> None:
    cluster = running(scalable(3))
    uid = scaling(cluster)
    cluster.raw["metadata"]["deletionTimestamp"] = "2026-11-16T07:00:00Z"
    cluster.reconcile()
    assert end(cluster.scalers[uid]) == "ScaleFailed: MPIJob ns/pi is being deleted"


def test_a_launcher_that_is_lost_ends_it_and_the_next_run_has_the_old_size() -> None:
    cluster = running(scalable(3))
    uid = scaling(cluster)
    waits = cluster.scale("ScaleOut", "later", count=1)
    cluster.vanish(cluster.launcher().name)
    cluster.reconcile()
    assert end(cluster.scalers[uid]) == (
        "ScaleFailed: The launcher of MPIJob ns/pi ended; create the ScaleOut again when the next one runs"
    )
    finish(cluster)
    assert end(cluster.scalers[waits]).startswith("ScaleSucceeded: 3 → 4 workers")
    assert len(cluster.listed()) == 4


def test_bounds_that_are_narrowed_meanwhile_end_it() -> None:
    cluster = running(scalable(3))
    uid = scaling(cluster, 2)
    command = cluster.raw["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]["command"]
    command[command.index("--max-np") + 1] = "4"
    finish(cluster)
    assert "would be 5: must be between 1 and 4" in end(cluster.scalers[uid])
    assert cluster.workers() == [*names(0, 1, 2)]


@pytest.mark.parametrize("edited", [1, 2, 4, 6])
def test_a_size_that_is_edited_meanwhile_gives_way_to_the_scalers(edited: int) -> None:
    cluster = running(scalable(3))
    uid = scaling(cluster, 2)
    cluster.resize(edited)
    cluster.reconcile()
    assert members(cluster) == names(0, 1, 2, 3, 4)
    finish(cluster)
    assert end(cluster.scalers[uid]).startswith("ScaleSucceeded: 3 → 5")
    assert (cluster.size, len(cluster.listed())) == (5, 5)


def test_a_size_that_is_edited_before_a_roll_back_applies_after_it() -> None:
    cluster = running(scalable(3))
    uid = scaling(cluster, 2)
    cluster.resize(2)
    cluster.cancel(uid)
    finish(cluster)
    cluster.settle(40)
    assert len(cluster.listed()) == 2


def test_a_stale_plan_never_undoes_a_later_resize() -> None:
    cluster = running(scalable(3))
    scaling(cluster, 2)
    cluster.ready(*names(3, 4))
    cluster.reconcile()
    stale = cluster.plan()
    finish(cluster)
    cluster.resize(6)
    with pytest.raises(Conflict):
        cluster.act(stale.actions)
    assert cluster.size == 6


def test_a_config_object_that_is_lost_meanwhile_lists_no_new_worker_early() -> None:
    cluster = running(scalable(3))
    uid = scaling(cluster)
    cluster.ready("pi-worker-3")
    cluster.reconcile()
    del cluster.objects[cluster.snapshot.config_key]
    cluster.reconcile()
    assert cluster.listed() == [*names(0, 1, 2)]
    finish(cluster)
    assert end(cluster.scalers[uid]).startswith("ScaleSucceeded: 3 → 5")
    assert cluster.workers() == [*names(0, 1, 2, 3, 4)]


def test_a_ledger_that_an_earlier_release_wrote_meanwhile_is_continued() -> None:
    """It knows neither scalers nor their workers: it removes them."""
    cluster = running(scalable(3))
    uid = scaling(cluster)
    found = dict(cluster.scalers)
    cluster.scalers.clear()
    finish(cluster)
    assert cluster.workers() == [*names(0, 1, 2)]
    cluster.scalers.update(found)
    finish(cluster)
    assert end(cluster.scalers[uid]) == "ScaleSucceeded: 3 → 5 workers: pi-worker-5, pi-worker-6 were added"


def test_a_launcher_reports_its_ranks_as_ever() -> None:
    cluster = running(scalable(3))
    launcher = cluster.launcher()
    cluster.change(launcher.name, annotations={**launcher.annotations, PROGRESS: '{"size":3,"training_hosts":3}'})
    scaling(cluster, 1)
    cluster.ready("pi-worker-3")
    cluster.reconcile()
    cluster.reconcile()
    assert cluster.status.workers == "3/4"
