# SPDX-License-Identifier: Apache-2.0
"""Scaling of TrainingJobs, row by row as et-operator does it, and where it is deliberately otherwise.

Each row is what is observed at the end of a story; `UNLIKE` marks those in which et-operator has a defect.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import pytest
from tests.unit.jobs.builders import elastic_training, running
from tests.unit.jobs.scaling.builders import end, types
from tests.unit.jobs.simulated import Cluster

from springtide.api.kinds.conditions import condition
from springtide.api.kinds.trainingjob import TrainingJobStatus
from springtide.jobs.actions import RunScript
from springtide.jobs.objects import owner

UNLIKE: Final = "unlike et-operator"


def a_job(workers: int = 3, policy: str = "Always", **fields: Any) -> Cluster:
    command = ("tiderun", "-np", "1", "--max-np", "9", "--host-discovery-script", "/etc/edl/discover_hosts.sh", "train")
    worker = {"restartPolicy": policy}
    return elastic_training(workers, {"backoffLimit": 3}, (2, 6), command, worker=worker, slotsPerWorker=2, **fields)


def names(*indices: int) -> tuple[str, ...]:
    return tuple(f"train-worker-{index}" for index in indices)


def for_seconds(cluster: Cluster, seconds: int) -> None:
    for _ in range(seconds):
        cluster.tick(1)
        cluster.reconcile()


def scaled(cluster: Cluster, kind: str, seconds: int = 60, **fields: Any) -> tuple[Cluster, str]:
    uid = cluster.scale(kind, "s", **fields)
    for_seconds(cluster, seconds)
    return cluster, uid


def status(cluster: Cluster) -> TrainingJobStatus:
    assert isinstance(cluster.status, TrainingJobStatus)
    return cluster.status


@dataclass(frozen=True)
class Row:
    text: str
    story: Callable[[], Any]
    found: Any
    unlike: str = ""

    def __str__(self) -> str:
        return f"{self.text} ({self.unlike})" if self.unlike else self.text


def _bound() -> Any:
    cluster, uid = scaled(running(a_job()), "ScaleOut", 1, count=1)
    return cluster.scalers[uid].bound, types(cluster.scalers[uid]), owner(cluster.observe().job)["kind"]


def _before_its_job() -> Any:
    cluster = a_job()
    uid = cluster.scale("ScaleOut", "s", count=1)
    cluster.settle(1)
    return end(cluster.scalers[uid]).partition(":")[0]


def _oldest_first() -> Any:
    cluster = running(a_job())
    uids = [cluster.scale("ScaleOut", name, count=1) for name in ("a", "b")]
    for_seconds(cluster, 3)
    return [types(cluster.scalers[uid])[-1] for uid in uids]


def _of_the_job_while_it_scales() -> Any:
    cluster = running(a_job())
    cluster.capacity = 3
    scaled(cluster, "ScaleOut", 3, count=1)
    found = status(cluster)
    return found.phase, found.current_scaler, found.target_workers, found.current_workers, found.conditions[-1].type


def _of_the_job_afterwards() -> Any:
    cluster, _ = scaled(running(a_job()), "ScaleOut", 10, count=1)
    found = status(cluster)
    return found.phase, found.current_scaler, found.target_workers, [each.type for each in found.conditions][-2:]


def _names_after_a_scale_in() -> Any:
    cluster, _ = scaled(running(a_job()), "ScaleIn", count=1)
    scaled(cluster, "ScaleOut", 10, count=1)
    return status(cluster).target_workers


def _labels() -> Any:
    cluster, _ = scaled(running(a_job()), "ScaleOut", 10, count=1)
    return [cluster.manifests[name]["metadata"]["labels"].get("scaleout-name") for name in names(2, 3)]


def _time_out() -> Any:
    cluster = running(a_job())
    cluster.capacity = 4
    cluster, uid = scaled(cluster, "ScaleOut", 70, count=2)
    found = status(cluster)
    reasons = [condition(each.conditions, "ScaleFailed") for each in (found, cluster.scalers[uid].status)]
    return found.phase, found.target_workers, tuple(cluster.workers()), [each and each.reason for each in reasons]


def _too_many() -> Any:
    cluster, uid = scaled(running(a_job()), "ScaleOut", 5, count=4)
    return end(cluster.scalers[uid])


def _scripts(kind: str, **fields: Any) -> RunScript:
    env = (("A", "x y"),)
    cluster, _ = scaled(running(a_job()), kind, 5, script="/s.sh", env=env, timeout=timedelta(seconds=30), **fields)
    return cluster.runs[0]


def _argv(kind: str, **fields: Any) -> Any:
    ran = _scripts(kind, **fields)
    return [word for word in ran.argv if not word.startswith("SPRINGTIDE")], ran.pod


def _unknown_names() -> Any:
    cluster, uid = scaled(running(a_job()), "ScaleIn", 5, pod_names=names(8))
    return end(cluster.scalers[uid]).partition(";")[0]


def _below_the_minimum() -> Any:
    cluster, uid = scaled(running(a_job()), "ScaleIn", 5, count=2)
    return end(cluster.scalers[uid]).partition(";")[0]


def _nothing_to_delete() -> Any:
    cluster, uid = scaled(running(a_job()), "ScaleIn", 5)
    return end(cluster.scalers[uid]).partition(":")[0]


def _scale_in(**fields: Any) -> Any:
    cluster, uid = scaled(running(a_job()), "ScaleIn", **fields)
    services = sorted(key.name for key in cluster.objects if key.kind == "Service" and "worker" in key.name)
    return tuple(cluster.workers()), tuple(services), cluster.size, cluster.scalers[uid].status.conditions[-1].reason


def _failed_script_of_a_scale_in() -> Any:
    cluster = running(a_job())
    uid = cluster.scale("ScaleIn", "s", count=1, script="/s.sh")
    for_seconds(cluster, 3)
    cluster.script_ends(1)
    for_seconds(cluster, 3)
    return end(cluster.scalers[uid]), tuple(cluster.workers())


def _deleted_in_progress() -> Any:
    cluster = running(a_job())
    cluster.capacity = 4
    cluster, uid = scaled(cluster, "ScaleOut", 5, count=2)
    cluster.cancel(uid)
    for_seconds(cluster, 5)
    return status(cluster).phase, status(cluster).current_scaler, tuple(cluster.workers())


def _end_of_the_job() -> Any:
    cluster = running(a_job())
    cluster.capacity = 3
    uids = [cluster.scale("ScaleOut", name, count=1) for name in ("a", "b")]
    for_seconds(cluster, 3)
    cluster.succeed()
    for_seconds(cluster, 3)
    return [types(cluster.scalers[uid])[-1] for uid in uids]


def _new_worker_fails(policy: str) -> Any:
    cluster = running(a_job(policy=policy))
    cluster.capacity = 4
    cluster, uid = scaled(cluster, "ScaleOut", 3, count=2)
    cluster.fail("train-worker-3")
    cluster.capacity = None
    for_seconds(cluster, 10)
    return end(cluster.scalers[uid]).partition(":")[0], cluster.finished


def _dead_worker_first() -> Any:
    cluster = running(a_job(4, policy="Never"))
    cluster.fail("train-worker-1")
    for_seconds(cluster, 3)
    cluster, uid = scaled(cluster, "ScaleIn", count=1)
    return cluster.scalers[uid].status.to_delete_pods, tuple(sorted(cluster.listed()))


IN: Final = "ScalingInSucceeded"
FAILED_OUT: Final = "ScalingOutFailed"
ROWS: Final = (
    Row("the job becomes the controller; condition Created", _bound, (True, ["Created"], "TrainingJob")),
    Row("a scaler may be older than its job", _before_its_job, "ScaleSucceeded", UNLIKE),
    Row("the oldest scaler is first", _oldest_first, ["Scaling", "Created"], UNLIKE),
    Row(
        "the job is Scaling and names the scaler",
        _of_the_job_while_it_scales,
        ("Scaling", "ScaleOut:ns/s", names(0, 1, 2, 3), names(0, 1, 2), "Scaling"),
    ),
    Row(
        "the job runs again, with the new workers as targets",
        _of_the_job_afterwards,
        ("Running", "", names(0, 1, 2, 3), ["Scaling", "ScaleSucceeded"]),
    ),
    Row("names that became free are not used again", _names_after_a_scale_in, names(0, 1, 3), UNLIKE),
    Row("pods of a ScaleOut have its name as a label", _labels, [None, "s"]),
    Row(
        "past the timeout all that was added is deleted, even workers that run",
        _time_out,
        ("Running", names(0, 1, 2), names(0, 1, 2), [FAILED_OUT, FAILED_OUT]),
    ),
    Row(
        "maxReplicas is enforced",
        _too_many,
        "ScaleFailed: 3 workers and 4 more would be 7: must be between 2 and 6, as "
        "spec.etReplicaSpecs.worker says; nothing was changed",
        UNLIKE,
    ),
    Row(
        "the script of a ScaleOut gets the added pods with their slots",
        lambda: _argv("ScaleOut", count=2),
        (
            ["env", "A=x y", "timeout", "-k", "5", "30", "sh", "/s.sh", "train-worker-3:2,train-worker-4:2"],
            "train-launcher",
        ),
    ),
    Row(
        "the script of a ScaleIn gets the victims",
        lambda: _argv("ScaleIn", pod_names=names(1)),
        (["env", "A=x y", "timeout", "-k", "5", "30", "sh", "/s.sh", "train-worker-1:2"], "train-launcher"),
    ),
    Row("names win over the count", lambda: _scale_in(pod_names=names(0), count=3), (names(1, 2), names(1, 2), 2, IN)),
    Row("by count the highest indices leave", lambda: _scale_in(count=1), (names(0, 1), names(0, 1), 2, IN)),
    Row("unknown names fail", _unknown_names, "ScaleFailed: The job has no worker train-worker-8", UNLIKE),
    Row(
        "minReplicas is enforced",
        _below_the_minimum,
        "ScaleFailed: 2 fewer than 3 workers would be 1: must be between 2 and 6, as spec.etReplicaSpecs.worker says",
        UNLIKE,
    ),
    Row("a ScaleIn of nothing fails", _nothing_to_delete, "ScaleFailed", UNLIKE),
    Row(
        "a failed script of a ScaleIn fails it; nothing is removed",
        _failed_script_of_a_scale_in,
        ("ScaleFailed: /s.sh exited with code 1", names(0, 1, 2)),
    ),
    Row("a deleted ScaleOut leaves no pods", _deleted_in_progress, ("Running", "", names(0, 1, 2)), UNLIKE),
    Row("scalers end with their job", _end_of_the_job, ["ScaleFailed", "ScaleFailed"], UNLIKE),
    Row("a new worker is replaced under policy Always", lambda: _new_worker_fails("Always"), ("ScaleSucceeded", False)),
    Row("and under policy Never", lambda: _new_worker_fails("Never"), ("ScaleSucceeded", False)),
    Row("workers that are not replaced leave first", _dead_worker_first, (names(1), names(0, 2, 3))),
)


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_row(row: Row) -> None:
    assert row.story() == row.found
