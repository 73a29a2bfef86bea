# SPDX-License-Identifier: Apache-2.0
"""ScaleIn: by number or by names, drained, and never below the minimum."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.unit.jobs.builders import reasons, running
from tests.unit.jobs.scaling.builders import end, members, names, scalable, types
from tests.unit.jobs.simulated import Cluster

from springtide.jobs.replicas.resizing import VICTIM
from springtide.jobs.reporting.progress import ANNOTATION as PROGRESS


def scaling(cluster: Cluster, **fields: Any) -> str:
    """A ScaleIn whose turn has come, and whose workers have left the host list; its uid."""
    uid = cluster.scale("ScaleIn", "less", **fields)
    cluster.reconcile()
    cluster.reconcile()
    assert types(cluster.scalers[uid])[-1] == "Scaling"
    return uid


def for_seconds(cluster: Cluster, seconds: int) -> None:
    for _ in range(seconds):
        cluster.tick(1)
        cluster.reconcile()


def reports(cluster: Cluster, *hosts: str) -> None:
    """The launcher says where its ranks are."""
    said = ",".join(f'"{host}"' for host in hosts)
    launcher = cluster.launcher()
    text = f'{{"at":"{cluster.now.isoformat()}","hosts":[{said}]}}'
    cluster.change(launcher.name, annotations={**launcher.annotations, PROGRESS: text})


def test_the_last_workers_leave_and_the_job_has_the_new_size() -> None:
    cluster = running(scalable(4))
    uid = scaling(cluster, count=2)
    assert cluster.scalers[uid].status.to_delete_pods == names(3, 2)
    assert (cluster.listed(), cluster.size) == ([*names(0, 1)], 4)
    for_seconds(cluster, 40)
    assert (cluster.workers(), cluster.size) == ([*names(0, 1)], 2)
    assert end(cluster.scalers[uid]) == "ScaleSucceeded: 4 → 2 workers: pi-worker-3, pi-worker-2 were removed"
    assert types(cluster.scalers[uid]) == ["Created", "Scaling", "ScaleSucceeded"]
    assert cluster.scalers[uid].status.conditions[-1].reason == "ScalingInSucceeded"
    assert reasons(cluster) == ["ScalingIn", "ScalingInSucceeded"]


def test_workers_leave_by_name() -> None:
    cluster = running(scalable(4))
    uid = scaling(cluster, pod_names=("pi-worker-0", "pi-worker-2", "pi-worker-0"), count=1)
    assert cluster.scalers[uid].status.to_delete_pods == names(0, 2)
    for_seconds(cluster, 40)
    assert (cluster.workers(), cluster.size) == ([*names(1, 3)], 2)


def test_workers_that_are_marked_or_leave_their_nodes_come_first() -> None:
    cluster = running(scalable(4))
    cluster.change("pi-worker-1", annotations={VICTIM: "true"})
    uid = scaling(cluster, count=1)
    assert cluster.scalers[uid].status.to_delete_pods == names(1)


def test_indices_are_not_used_again() -> None:
    cluster = running(scalable(3))
    scaling(cluster, count=1)
    for_seconds(cluster, 40)
    cluster.scale("ScaleOut", "more", count=1)
    for_seconds(cluster, 10)
    assert cluster.workers() == [*names(0, 1, 3)]


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({}, "neither spec.toDelete.podNames nor spec.toDelete.count is given: must be at least 1"),
        ({"count": 0}, "spec.toDelete.count is 0: must be at least 1"),
        ({"count": -1}, "spec.toDelete.count is -1: must be at least 1"),
        (
            {"count": 2},
            "2 fewer than 3 workers would be 1: must be between 2 and 6, as the launcher's command line says",
        ),
        (
            {"count": 3},
            "3 fewer than 3 workers would be 0: must be between 2 and 6, as the launcher's command line says",
        ),
        (
            {"pod_names": names(0, 1)},
            "2 fewer than 3 workers would be 1: must be between 2 and 6, as the launcher's command line says",
        ),
        (
            {"pod_names": ("pi-worker-7", "pi-worker-1", "other")},
            "The job has no worker pi-worker-7, other; its workers are pi-worker-0, pi-worker-1, pi-worker-2",
        ),
        (
            {"pod_names": ("pi-launcher",)},
            "The job has no worker pi-launcher; its workers are pi-worker-0, pi-worker-1, pi-worker-2",
        ),
    ],
)
def test_what_is_not_possible_is_refused_and_nothing_touched(fields: dict[str, Any], why: str) -> None:
    cluster = running(scalable(3, bounds=(2, 6)))
    uid = cluster.scale("ScaleIn", "less", **fields)
    for_seconds(cluster, 40)
    assert end(cluster.scalers[uid]) == f"ScaleFailed: {why}; nothing was changed"
    assert cluster.scalers[uid].status.conditions[-1].reason == "ScalingInFailed"
    assert (members(cluster), cluster.size) == (names(0, 1, 2), 3)


def test_a_job_without_a_minimum_keeps_one_worker() -> None:
    cluster = running(scalable(3, bounds=(1, 6)))
    uid = cluster.scale("ScaleIn", "less", count=3)
    for_seconds(cluster, 3)
    assert "would be 0: must be between 1 and 6" in end(cluster.scalers[uid])


@pytest.mark.parametrize(("timeout", "drain", "seconds"), [(60, None, 30), (10, None, 10), (60, "45", 45), (7, "5", 5)])
def test_without_a_report_a_worker_is_deleted_after_the_shorter_of_both_times(
    timeout: int, drain: str | None, seconds: int
) -> None:
    cluster = running(scalable(3, annotations={"springtide.dev/drain-seconds": drain} if drain else None))
    scaling(cluster, count=1, timeout=timedelta(seconds=timeout))
    for_seconds(cluster, seconds - 1)
    assert not cluster.pods["pi-worker-2"].terminating
    for_seconds(cluster, 1)
    assert cluster.pods["pi-worker-2"].terminating
    event = cluster.scaler_events[-1]
    assert (event.reason, event.message) == (
        "DrainTimeOver",
        f"pi-worker-2 is deleted {seconds} s after leaving the host list: "
        "the launcher does not report which workers it uses",
    )


def test_with_a_report_a_worker_is_deleted_as_soon_as_it_is_unused() -> None:
    cluster = running(scalable(3))
    scaling(cluster, count=1)
    for_seconds(cluster, 5)
    reports(cluster, *names(0, 1, 2))
    cluster.reconcile()
    assert not cluster.pods["pi-worker-2"].terminating
    reports(cluster, *names(0, 1))
    cluster.reconcile()
    assert cluster.pods["pi-worker-2"].terminating
    assert [each.reason for each in cluster.scaler_events] == ["ScalingStart"]


def test_a_worker_that_is_used_until_the_end_is_reported() -> None:
    cluster = running(scalable(3))
    scaling(cluster, count=1)
    reports(cluster, *names(0, 1, 2))
    for_seconds(cluster, 30)
    assert cluster.scaler_events[-1].message.endswith(
        "after leaving the host list: the launcher still reports ranks there"
    )


def test_the_state_says_what_leaves() -> None:
    cluster = running(scalable(3))
    scaling(cluster, count=1)
    assert cluster.status.state == "Scaling in"
    assert cluster.status.explanation.startswith(
        "ScaleIn less: pi-worker-2 left the host list; it is deleted as soon as"
    )
    assert cluster.conditions["Scaling"] == "True"


def test_a_worker_that_fails_before_it_leaves_needs_no_replacement() -> None:
    cluster = running(scalable(3))
    uid = cluster.scale("ScaleIn", "less", count=1)
    cluster.reconcile()
    cluster.reconcile(1)
    cluster.fail("pi-worker-2")
    for_seconds(cluster, 40)
    assert end(cluster.scalers[uid]).startswith("ScaleSucceeded")
    assert (len(cluster.listed()), cluster.size) == (2, 2)


def test_another_worker_that_fails_meanwhile_is_replaced() -> None:
    cluster = running(scalable(3))
    uid = scaling(cluster, count=1)
    cluster.fail("pi-worker-0")
    for_seconds(cluster, 40)
    assert end(cluster.scalers[uid]).startswith("ScaleSucceeded")
    assert cluster.listed() == [*names(1, 3)]


def test_a_cancelled_scaler_leaves_the_job_at_its_size_with_fresh_workers() -> None:
    cluster = running(scalable(3))
    uid = scaling(cluster, count=1)
    cluster.cancel(uid)
    for_seconds(cluster, 40)
    assert (cluster.listed(), cluster.size) == ([*names(0, 1, 3)], 3)


def test_a_launcher_that_is_lost_ends_it_and_the_next_run_has_the_old_size() -> None:
    cluster = running(scalable(3))
    uid = scaling(cluster, count=1)
    cluster.vanish(cluster.launcher().name)
    for_seconds(cluster, 40)
    assert end(cluster.scalers[uid]).startswith("ScaleFailed: The launcher of MPIJob ns/pi ended")
    assert (len(cluster.listed()), cluster.size) == (3, 3)


def test_a_suspended_job_ends_it() -> None:
    cluster = running(scalable(3))
    uid = scaling(cluster, count=1)
    cluster.policy(suspend=True)
    for_seconds(cluster, 40)
    assert end(cluster.scalers[uid]).startswith("ScaleFailed: MPIJob ns/pi is suspended")
    cluster.policy(suspend=False)
    for_seconds(cluster, 40)
    assert len(cluster.listed()) == 3


def test_a_minimum_that_is_raised_meanwhile_ends_it() -> None:
    cluster = running(scalable(3))
    uid = scaling(cluster, count=1)
    command = cluster.raw["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]["command"]
    command[command.index("--min-np") + 1] = "3"
    for_seconds(cluster, 40)
    assert "would be 2: must be between 3 and 6" in end(cluster.scalers[uid])
    assert len(cluster.listed()) == 3


@pytest.mark.parametrize("edited", [1, 3, 6])
def test_a_size_that_is_edited_meanwhile_gives_way_to_the_scalers(edited: int) -> None:
    cluster = running(scalable(4))
    scaling(cluster, count=2)
    cluster.resize(edited)
    for_seconds(cluster, 40)
    assert (cluster.workers(), cluster.size) == ([*names(0, 1)], 2)


def test_workers_on_a_node_that_is_left_are_still_moved() -> None:
    cluster = running(scalable(4))
    scaling(cluster, pod_names=names(3))
    node = cluster.pods["pi-worker-0"].node
    cluster.leaving |= {node}
    for_seconds(cluster, 60)
    assert len(cluster.listed()) == 3
    assert node not in {pod.node for pod in cluster.of("Worker")}
