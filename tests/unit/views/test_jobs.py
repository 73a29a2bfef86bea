# SPDX-License-Identifier: Apache-2.0
"""One view of a job for every program."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.views.builders import a_job, a_pod, a_role, at, stamp

from springtide.jobs.reporting.state_name import StateName
from springtide.views.jobs import Progress, job_view, job_views, newest_first
from springtide.views.states import STATES


def holds(type_: str, seconds: float = 60, status: str = "True") -> dict[str, str]:
    return {"type": type_, "status": status, "lastTransitionTime": stamp(seconds)}


def test_the_states_are_those_that_the_operator_writes() -> None:
    assert tuple(each.value for each in StateName) == STATES


@pytest.mark.parametrize(
    ("kind", "status", "state", "arenas"),
    [
        *(
            pytest.param(kind, {"state": state}, state, arenas, id=f"{kind} {state}")
            for kind in ("TrainingJob", "MPIJob", "TFJob", "PyTorchJob")
            for state, arenas in (
                ("Created", "PENDING"),
                ("Queued", "PENDING"),
                ("Starting", "PENDING"),
                ("Running", "RUNNING"),
                ("Scaling out", "RUNNING"),
                ("Scaling in", "RUNNING"),
                ("Suspended", "SUSPENDED"),
                ("Restarting", "PENDING"),
                ("Succeeded", "SUCCEEDED"),
                ("Failed", "FAILED"),
                ("Levitating", "UNKNOWN"),
            )
        ),
        pytest.param(
            "TrainingJob", {"state": "Scaling out", "phase": "Scaling"}, "Scaling out", "SCALING", id="by a scaler"
        ),
        pytest.param("TrainingJob", {"state": "Running", "phase": "Scaling"}, "Running", "SCALING", id="it begins"),
        pytest.param(
            "TrainingJob", {"state": "Restarting", "phase": "Scaling"}, "Restarting", "PENDING", id="without a launcher"
        ),
        pytest.param("MPIJob", {"state": "Running", "phase": "Scaling"}, "Running", "RUNNING", id="not of an MPIJob"),
        pytest.param("TrainingJob", {}, "Created", "PENDING", id="nothing yet"),
        pytest.param("TrainingJob", {"phase": "Created"}, "Created", "PENDING", id="et-operator created"),
        pytest.param("TrainingJob", {"phase": "Running"}, "Running", "RUNNING", id="et-operator running"),
        pytest.param(
            "TrainingJob",
            {"phase": "Scaling", "currentScaler": "ScaleOut:default/x"},
            "Scaling out",
            "SCALING",
            id="et-operator scaling out",
        ),
        pytest.param(
            "TrainingJob",
            {"phase": "Scaling", "currentScaler": "ScaleIn:default/x"},
            "Scaling in",
            "SCALING",
            id="et-operator scaling in",
        ),
        pytest.param("TrainingJob", {"phase": "Succeeded"}, "Succeeded", "SUCCEEDED", id="et-operator succeeded"),
        pytest.param("TrainingJob", {"phase": "Failed"}, "Failed", "FAILED", id="et-operator failed"),
        pytest.param(
            "TFJob",
            {"conditions": [holds("Created"), holds("Running", status="False"), holds("Succeeded")]},
            "Succeeded",
            "SUCCEEDED",
            id="training-operator succeeded",
        ),
        pytest.param("TFJob", {"conditions": [holds("Running")]}, "Running", "RUNNING", id="training-operator running"),
        pytest.param("TFJob", {"conditions": [holds("Queuing")]}, "Queued", "QUEUING", id="in a queue"),
        pytest.param(
            "PyTorchJob",
            {"conditions": [holds("Suspended"), holds("Running", status="False")]},
            "Suspended",
            "SUSPENDED",
            id="training-operator suspended",
        ),
    ],
)
def test_a_job_has_our_state_and_arenas(kind: str, status: dict[str, Any], state: str, arenas: str) -> None:
    view = job_view(a_job(kind, **status))
    assert (view.state, view.arena_status) == (state, arenas)


@pytest.mark.parametrize(("value", "arenas"), [("timeout", "MAX_WAIT_TIME_EXCEEDED"), ("other", "FAILED")])
def test_a_job_that_waited_too_long_says_so(value: str, arenas: str) -> None:
    job = a_job(annotations={"job-supervisor.kube-ai.io/job-status": value}, state="Failed")
    assert job_view(job).arena_status == arenas


def test_a_job_that_trains_is_running_while_a_new_worker_is_pending() -> None:
    job = a_job(state="Scaling out", phase="Running")
    pods = [a_pod(job, "launcher"), a_pod(job, "worker", 0), a_pod(job, "worker", 1, phase="Pending", node="")]
    assert job_view(job, pods).arena_status == job_view(job).arena_status == "RUNNING"


@pytest.mark.parametrize(
    ("job", "requested"),
    [
        pytest.param(a_job(roles={"launcher": a_role(), "worker": a_role(3, gpus=2)}), 6, id="of the workers"),
        pytest.param(a_job("MPIJob", {"Launcher": a_role(gpus=1), "Worker": a_role(2, gpus=2)}), 5, id="of all roles"),
        pytest.param(
            a_job("TFJob", {"PS": a_role(1), "Chief": a_role(gpus=1), "Worker": a_role(2, gpus=1)}), 3, id="of a TFJob"
        ),
        pytest.param(a_job(roles={"worker": a_role(2, gpus=4)}, workers="2/5"), 20, id="after it was resized"),
        pytest.param(a_job(roles={"launcher": a_role(), "worker": a_role(2)}), 0, id="none"),
        pytest.param(a_job("PyTorchJob", {"Master": {"template": {}}}), 0, id="no template yet"),
        pytest.param(a_job("PyTorchJob", {"Master": a_role(gpus=8) | {"replicas": None}}), 8, id="one by default"),
    ],
)
def test_gpus_are_requested_for_the_size_that_is_wanted(job: dict[str, Any], requested: int) -> None:
    assert job_view(job).requested_gpus == requested


def test_a_list_takes_place_and_gpus_from_the_status() -> None:
    view = job_view(a_job(state="Running", placement={"node": "node-a", "hostIP": "10.0.0.1", "gpus": 2}))
    assert (view.node, view.node_ip, view.allocated_gpus, view.instances) == ("node-a", "10.0.0.1", 2, ())


def test_without_a_placement_the_operator_has_placed_nothing() -> None:
    view = job_view(a_job(state="Queued", replicaStatuses={"Worker": {"active": 2}}))
    assert (view.node, view.node_ip, view.allocated_gpus) == ("", "", 0)


def test_another_operators_jobs_have_the_gpus_of_pods_that_run() -> None:
    view = job_view(a_job(phase="Running", replicaStatuses={"Worker": {"active": 2}, "Launcher": {}}))
    assert (view.allocated_gpus, view.workers) == (2, "2/2")


def test_pods_say_more_than_the_status() -> None:
    job = a_job(state="Running", placement={"node": "old", "gpus": 9})
    pods = [
        a_pod(job, "worker", 10, gpus=1),
        a_pod(job, "worker", 2, gpus=1, phase="Pending"),
        a_pod(job, "worker", 3, gpus=1, phase="Pending", node=""),
        a_pod(job, "worker", 4, gpus=1, phase="Failed"),
        a_pod(job, "worker", 5, gpus=1, metadata={"deletionTimestamp": stamp(9)}),
        a_pod(job, "launcher", node="node-b"),
        a_pod(a_job(name="gpt"), "worker", 0, gpus=1),
    ]
    view = job_view(job, pods)
    names = [each.name.removeprefix("bert-") for each in view.instances]
    assert names == ["launcher", "worker-2", "worker-3", "worker-4", "worker-5", "worker-10"]
    assert (view.node, view.node_ip, view.allocated_gpus) == ("node-b", "ip-of-node-b", 2)
    assert view.chief is view.instances[0]
    assert [each.gpus for each in view.instances] == [0, 1, 1, 1, 1, 1]


def test_the_node_of_a_pending_chief_is_not_shown() -> None:
    job = a_job()
    assert job_view(job, [a_pod(job, "launcher", phase="Pending")]).node == ""


def test_many_jobs_are_viewed_with_their_own_pods() -> None:
    jobs = [a_job(), a_job("MPIJob", name="pi"), a_job("TFJob", name="pi2")]
    pods = [a_pod(job, "worker", index) for job in jobs for index in range(2)]
    views = job_views(jobs, pods)
    assert [len(view.instances) for view in views] == [2, 2, 2]
    assert views == [job_view(job, pods) for job in jobs]
    assert job_views(jobs) == [job_view(job) for job in jobs]


@pytest.mark.parametrize(
    ("kind", "status", "ended", "duration"),
    [
        pytest.param("TrainingJob", {"state": "Running"}, None, 100, id="runs"),
        pytest.param("TrainingJob", {"state": "Succeeded", "completionTime": stamp(60)}, 60, 60, id="succeeded"),
        pytest.param("TrainingJob", {"state": "Failed", "completionTime": stamp(70)}, 70, 70, id="failed"),
        pytest.param("TrainingJob", {"conditions": [holds("Failed", 80)]}, 80, 80, id="without a completion time"),
        pytest.param("TrainingJob", {"state": "Running", "completionTime": stamp(60)}, None, 100, id="started anew"),
        pytest.param("MPIJob", {"state": "Running", "startTime": stamp(40)}, None, 100, id="an MPIJob's"),
        pytest.param("TFJob", {"state": "Running", "startTime": stamp(40)}, None, 60, id="a TFJob's from its start"),
        pytest.param("PyTorchJob", {"state": "Created"}, None, 0, id="a PyTorchJob's that has not started"),
        pytest.param(
            "PyTorchJob",
            {"state": "Succeeded", "startTime": stamp(40), "completionTime": stamp(90)},
            90,
            50,
            id="a PyTorchJob's that has ended",
        ),
    ],
)
def test_a_duration_stops_when_the_job_has_ended(
    kind: str, status: dict[str, Any], ended: float | None, duration: float
) -> None:
    view = job_view(a_job(kind, **status))
    assert (view.ended, view.duration(at(100))) == (at(ended) if ended is not None else None, duration)
    assert view.age(at(100)) == 100


@pytest.mark.parametrize(
    ("roles", "spec", "priority"),
    [
        ({"launcher": a_role(priority="high"), "worker": a_role(priority="low")}, {}, "high"),
        ({"worker": a_role(priority="low"), "launcher": a_role(priority="high")}, {}, "high"),
        ({"launcher": a_role(), "worker": a_role(priority="low")}, {}, "low"),
        ({"worker": a_role()}, {"runPolicy": {"schedulingPolicy": {"priorityClass": "batch"}}}, "batch"),
        ({"worker": a_role()}, {}, ""),
    ],
)
def test_the_priority_is_that_of_the_chief_first(roles: dict[str, Any], spec: dict[str, Any], priority: str) -> None:
    assert job_view(a_job(roles=roles, spec=spec)).priority == priority


@pytest.mark.parametrize(
    ("job", "bounds"),
    [
        (a_job(minReplicas=1, maxReplicas=9), "1-9"),
        (a_job(roles={"worker": a_role(2, minReplicas=2, maxReplicas=4)}), "2-4"),
        (a_job(roles={"worker": a_role(2, minReplicas=2)}), "2-"),
        (
            a_job("PyTorchJob", {"Worker": a_role(2)}, spec={"elasticPolicy": {"minReplicas": 1, "maxReplicas": 3}}),
            "1-3",
        ),
        (a_job(), ""),
    ],
)
def test_bounds_are_shown_where_a_job_has_any(job: dict[str, Any], bounds: str) -> None:
    assert job_view(job).bounds == bounds


def test_progress_is_what_the_program_reported() -> None:
    said = {"step": 340, "loss": "0.0479", "ranks": 3, "updateTime": stamp(30)}
    assert job_view(a_job(progress=said)).progress == Progress(step=340, loss="0.0479", ranks=3, updated=at(30))
    assert job_view(a_job()).progress is None


def test_a_job_made_by_kubectl_is_seen_like_any_other() -> None:
    view = job_view({"kind": "TrainingJob", "metadata": {"name": "bare"}})
    assert (view.name, view.trainer, view.state, view.workers) == ("bare", "etjob", "Created", "0/0")


def test_the_newest_jobs_come_first() -> None:
    jobs = [a_job(name="b"), a_job(name="a"), a_job(name="new")]
    jobs[2]["metadata"]["creationTimestamp"] = stamp(5)
    assert [view.name for view in newest_first(job_views(jobs))] == ["new", "a", "b"]


def test_an_instances_age_is_its_own() -> None:
    job = a_job()
    pods = [
        a_pod(job, "launcher", created=0, started=10),
        a_pod(job, "worker", 0, created=40, phase="Pending", node=""),
        a_pod(
            job,
            "worker",
            1,
            phase="Failed",
            status={
                "containerStatuses": [
                    {"state": {"terminated": {"startedAt": stamp(20), "finishedAt": stamp(50), "exitCode": 1}}}
                ]
            },
        ),
    ]
    views = job_view(job, pods).instances
    assert [each.age(at(100)) for each in views] == [100, 60, 100]
    assert [each.duration(at(100)) for each in views] == [90, 60, 30]
    assert [each.status for each in views] == ["Running", "Pending", "ExitCode:1"]
