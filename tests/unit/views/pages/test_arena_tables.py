# SPDX-License-Identifier: Apache-2.0
"""What Arena prints of jobs, in the lines of the users' document and of its release 0.15.5."""

from __future__ import annotations

from datetime import UTC, timedelta, timezone
from typing import Any

import pytest
from tests.unit.views.builders import a_job, a_pod, a_role, at, stamp

from springtide.views.events import EventView, events_of
from springtide.views.jobs import JobView, job_view
from springtide.views.pages.arena_tables import job_list, job_page, top_job, top_jobs

FIRST, SECOND = "cn-huhehaote.192.168.0.173", "cn-huhehaote.192.168.0.174"


def of_the_document(workers: int, **status: Any) -> JobView:
    """The job of the users' document; its third worker came later."""
    roles = {"launcher": a_role(), "worker": a_role(2, gpus=1)}
    job = a_job(roles=roles, name="elastic-training", labels={"app": "etjob"}, **({"state": "Running"} | status))
    pods = [a_pod(job, "launcher", node=FIRST)]
    places = ((SECOND, 0), (SECOND, 0), (FIRST, 90))
    pods += [a_pod(job, "worker", n, node=places[n][0], gpus=1, created=places[n][1]) for n in range(workers)]
    return job_view(job, pods)


AFTER_SUBMIT = """\
Name:        elastic-training
Status:      RUNNING
Namespace:   default
Priority:    N/A
Trainer:     ETJOB
Duration:    13s

Instances:
  NAME                       STATUS   AGE  IS_CHIEF  GPU(Requested)  NODE
  ----                       ------   ---  --------  --------------  ----
  elastic-training-launcher  Running  13s  true      0               cn-huhehaote.192.168.0.173
  elastic-training-worker-0  Running  13s  false     1               cn-huhehaote.192.168.0.174
  elastic-training-worker-1  Running  13s  false     1               cn-huhehaote.192.168.0.174
"""
AFTER_SCALE_OUT = """\
Name:        elastic-training
Status:      RUNNING
Namespace:   default
Priority:    N/A
Trainer:     ETJOB
Duration:    3m

Instances:
  NAME                       STATUS   AGE  IS_CHIEF  GPU(Requested)  NODE
  ----                       ------   ---  --------  --------------  ----
  elastic-training-launcher  Running  3m   true      0               cn-huhehaote.192.168.0.173
  elastic-training-worker-0  Running  3m   false     1               cn-huhehaote.192.168.0.174
  elastic-training-worker-1  Running  3m   false     1               cn-huhehaote.192.168.0.174
  elastic-training-worker-2  Running  1m   false     1               cn-huhehaote.192.168.0.173
"""


@pytest.mark.parametrize(
    ("workers", "seconds", "transcript"),
    [
        pytest.param(2, 13, AFTER_SUBMIT, id="after submitting"),
        pytest.param(3, 181, AFTER_SCALE_OUT, id="after scaling out, with the age of each worker"),
    ],
)
def test_get_has_the_lines_of_the_document(workers: int, seconds: float, transcript: str) -> None:
    lines = job_page(of_the_document(workers), at(seconds), UTC).splitlines(keepends=True)
    added = [line for line in lines if line.startswith(("CreateTime:", "EndTime:"))]
    assert added == ["CreateTime:  2025-01-02 03:04:05\n", "EndTime:     \n"]
    assert "".join(line for line in lines if line not in added) == transcript


def test_a_finished_job_has_an_end_and_a_duration_that_stands() -> None:
    view = of_the_document(2, state="Succeeded", completionTime=stamp(75))
    east = timezone(timedelta(hours=8))
    for seconds in (80, 8000):
        lines = job_page(view, at(seconds), east).splitlines()
        assert [line for line in lines if line.startswith(("Status", "Duration", "Create", "End"))] == [
            "Status:      SUCCEEDED",
            "Duration:    1m",
            "CreateTime:  2025-01-02 11:04:05",
            "EndTime:     2025-01-02 11:05:20",
        ]


def test_get_with_everything() -> None:
    job = a_job(
        "MPIJob",
        {"Launcher": a_role(priority="high"), "Worker": a_role(1, gpus=2)},
        name="pi",
        labels={"modelName": "bert", "modelVersion": "3"},
        state="Starting",
    )
    waits = {"containerStatuses": [{"state": {"waiting": {"reason": "ImagePullBackOff"}}}]}
    view = job_view(
        job,
        [
            a_pod(job, "launcher", phase="Pending", status=waits),
            a_pod(job, "worker", 0, gpus=2),
            a_pod(job, "worker", 1, gpus=2, node="", phase="Pending"),
        ],
    )
    events = [
        EventView("MPIJob", "pi", "Normal", "MPIJobCreated", "MPIJob default/pi is created.", at(1), 1),
        EventView("Pod", "pi-worker-1", "Warning", "FailedScheduling", "0/1 nodes are available.", at(50), 3),
    ]
    url = "http://10.0.0.1:30001"
    assert job_page(view, at(65), UTC, gpus=True, tensorboard=url, events=events) == (
        "Name:          pi\n"
        "Status:        PENDING\n"
        "Namespace:     default\n"
        "Priority:      high\n"
        "Trainer:       MPIJOB\n"
        "Duration:      1m\n"
        "CreateTime:    2025-01-02 03:04:05\n"
        "EndTime:       \n"
        "ModelName:     bert\n"
        "ModelVersion:  3\n"
        "\n"
        "Instances:\n"
        "  NAME         STATUS            AGE  IS_CHIEF  GPU(Requested)  NODE\n"
        "  ----         ------            ---  --------  --------------  ----\n"
        "  pi-launcher  ImagePullBackOff  1m   true      0               N/A\n"
        "  pi-worker-0  Running           1m   false     2               node-a\n"
        "  pi-worker-1  Pending           1m   false     2               N/A\n"
        "\n"
        "GPUs:\n"
        "  INSTANCE     NODE(IP)      GPU(Requested)  GPU(IndexId)  GPU(DutyCycle)  GPU Memory(Used/Total)\n"
        "  --------     --------      --------------  ------------  --------------  ----------------------\n"
        "  pi-launcher  N/A           0               N/A           N/A             N/A\n"
        "  pi-worker-0  ip-of-node-a  2               N/A           N/A             N/A\n"
        "  pi-worker-1  N/A           2               N/A           N/A             N/A\n"
        "\n"
        "  Allocated/Requested GPUs of Job: 2/4\n"
        "\n"
        "Tensorboard:\n"
        "  Your tensorboard will be available on: \n"
        "  http://10.0.0.1:30001\n"
        "\n"
        "Events:\n"
        "  SOURCE     TYPE    AGE  MESSAGE\n"
        "  ------     ----    ---  -------\n"
        "  mpijob/pi  Normal  1m   [MPIJobCreated] MPIJob default/pi is created.\n"
        "\n"
        "  pod/pi-worker-1  Warning  15s  [FailedScheduling] 0/1 nodes are available.\n"
        "\n"
    )


def test_gpus_are_left_out_of_jobs_that_have_none_or_have_succeeded() -> None:
    assert "GPUs:" not in job_page(of_the_document(2, state="Succeeded"), at(1), UTC, gpus=True)
    assert "GPUs:" not in job_page(job_view(a_job(), []), at(1), UTC, gpus=True)


def test_without_events_it_says_so() -> None:
    assert job_page(job_view(a_job(), []), at(1), UTC, events=[]).endswith("\nEvents:\n  No events for resources\n")


def test_events_are_those_of_the_job_and_its_pods_in_order() -> None:
    view = of_the_document(1)

    def event(uid: str, seconds: float, **fields: Any) -> dict[str, Any]:
        about = {"uid": uid, "kind": "Pod", "name": uid.removeprefix("uid-")}
        times = {"lastTimestamp": stamp(seconds)}
        return {"metadata": {"creationTimestamp": stamp(0)}, "involvedObject": about, **times, **fields}

    worker, job = view.instances[1].uid, view.uid
    found = events_of(
        view,
        [
            event(worker, 9, message="late"),
            event("uid-other", 1),
            event(worker, 3, message="early\n\tand \x1b[31mred", count=4),
            event(job, 20, message="of the job"),
        ],
    )
    assert [(each.message, each.count) for each in found] == [
        ("of the job", 1),
        ("early and [31mred", 4),
        ("late", 1),
    ]
    assert found[0].last == at(20)


RUNNING: dict[str, Any] = {"state": "Running", "placement": {"node": "node-a", "hostIP": "10.0.0.1", "gpus": 2}}


def some_jobs() -> list[JobView]:
    return [
        job_view(a_job(name="bert", **RUNNING)),
        job_view(a_job("PyTorchJob", {"Master": a_role(gpus=8)}, name="a-longer-name", state="Queued")),
        job_view(a_job("TFJob", {"Chief": a_role()}, name="tf", state="Succeeded", completionTime=stamp(60))),
        job_view(a_job(name="ds", labels={"app": "deepspeedjob"}, state="Suspended")),
    ]


def test_list_has_arenas_columns() -> None:
    assert job_list(some_jobs(), at(3700)) == (
        "NAME           STATUS     TRAINER       DURATION  GPU(Requested)  GPU(Allocated)  NODE\n"
        "bert           RUNNING    ETJOB         1h        2               2               10.0.0.1\n"
        "a-longer-name  PENDING    PYTORCHJOB    0s        8               0               N/A\n"
        "tf             SUCCEEDED  TFJOB         0s        0               N/A             N/A\n"
        "ds             SUSPENDED  DEEPSPEEDJOB  1h        2               N/A             N/A\n"
    )


def test_list_of_all_namespaces_begins_with_them() -> None:
    assert job_list(some_jobs()[:1], at(5), all_namespaces=True) == (
        "NAMESPACE  NAME  STATUS   TRAINER  DURATION  GPU(Requested)  GPU(Allocated)  NODE\n"
        "default    bert  RUNNING  ETJOB    5s        2               2               10.0.0.1\n"
    )


def test_an_empty_list_is_its_heads() -> None:
    assert job_list([], at(0)) == "NAME  STATUS  TRAINER  DURATION  GPU(Requested)  GPU(Allocated)  NODE\n"


def test_top_puts_most_gpus_first_and_counts_those_that_run() -> None:
    assert top_jobs(some_jobs(), at(65)) == (
        "NAME           STATUS     TRAINER       AGE  GPU(Requested)  GPU(Allocated)  NODE\n"
        "a-longer-name  PENDING    PYTORCHJOB    0s   8               0               N/A\n"
        "bert           RUNNING    ETJOB         1m   2               2               10.0.0.1\n"
        "ds             SUSPENDED  DEEPSPEEDJOB  1m   2               0               N/A\n"
        "tf             SUCCEEDED  TFJOB         0s   0               0               N/A\n"
        "\n"
        "Total Allocated/Requested GPUs of Training Jobs: 2/2\n"
    )


@pytest.mark.parametrize("instance", ["", "elastic-training-worker-0"])
def test_top_of_one_job_shows_its_instances(instance: str) -> None:
    rows = [
        "  elastic-training-launcher  Running  0             ip-of-cn-huhehaote.192.168.0.173  N/A               "
        "N/A             N/A\n",
        "  elastic-training-worker-0  Running  1             ip-of-cn-huhehaote.192.168.0.174  N/A               "
        "N/A             N/A\n",
    ]
    assert top_job(of_the_document(1), at(13), UTC, instance=instance) == (
        "Name:        elastic-training\n"
        "Status:      RUNNING\n"
        "Namespace:   default\n"
        "Priority:    N/A\n"
        "Trainer:     ETJOB\n"
        "Duration:    13s\n"
        "CreateTime:  2025-01-02 03:04:05\n"
        "EndTime:     \n"
        "\n"
        "Instances:\n"
        "  NAME                       STATUS   GPU(Request)  NODE                              GPU(DeviceIndex)  "
        "GPU(DutyCycle)  GPU_MEMORY(Used/Total)\n"
        "  ----                       ------   ------------  ----                              ----------------  "
        "--------------  ---------------\n"
        f"{''.join(row for row in rows if instance in row)}"
        "\n"
        "GPUs:\n"
        "  Allocated/Requested GPUs of Job: 1/2\n"
    )
