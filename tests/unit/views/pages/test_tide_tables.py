# SPDX-License-Identifier: Apache-2.0
"""What people see of jobs and nodes, in terminals of several widths."""

from __future__ import annotations

from datetime import UTC
from typing import Any

import pytest
from tests.unit.views.builders import a_job, a_pod, a_role, at, stamp
from tests.unit.views.pages.test_nodes import a_busy_pod, a_node

from springtide.views.events import EventView
from springtide.views.jobs import JobView, job_view
from springtide.views.pages.nodes import node_views
from springtide.views.pages.tables import Rows, display_width
from springtide.views.pages.tide_pages import gpus_by_node, job_page
from springtide.views.pages.tide_tables import (
    change_line,
    job_list,
    list_columns,
    list_row,
    top_jobs,
    top_nodes,
)

WIDTHS = (40, 80, 200)
WHY = "2 of 4 workers cannot be scheduled: 0/3 nodes are available: 3 Insufficient nvidia.com/gpu."


def a_view(**status: Any) -> JobView:
    job = a_job(
        roles={"launcher": a_role(priority="high"), "worker": a_role(4, gpus=2)},
        name="bert-of-the-vision-team",
        **{
            "state": "Scaling out",
            "workers": "2/4",
            "minReplicas": 1,
            "maxReplicas": 8,
            "explanation": WHY,
            "startTime": stamp(3),
            "progress": {"step": 340, "loss": "0.0479", "ranks": 2, "updateTime": stamp(100)},
            **status,
        },
    )
    pods = [
        a_pod(job, "launcher", node="node-a"),
        *(a_pod(job, "worker", n, gpus=2, node="a-node-with-a-rather-long-name") for n in range(2)),
        a_pod(job, "worker", 2, gpus=2, node="", phase="Pending", created=90),
    ]
    return job_view(job, pods)


def jobs() -> list[JobView]:
    other = a_job("PyTorchJob", {"Master": a_role()}, name="训练任务", state="Suspended", workers="0/0")
    return [a_view(), job_view(other)]


def test_the_list_in_a_terminal_of_40_columns() -> None:
    assert job_list(jobs(), at(400), 40).splitlines() == [
        "NAME                STATE        WORKERS",
        "bert-of-the-visio…  Scaling out  2/4",
        "训练任务            Suspended    0/0",
    ]


def test_the_list_in_a_terminal_of_80_columns() -> None:
    assert job_list(jobs(), at(400), 80).splitlines() == [
        "NAME                    STATE        WORKERS  GPUS  TRAINER     DURATION  NODE",
        "bert-of-the-vision-te…  Scaling out  2/4      4/8   etjob       6m40s     node-a",
        "训练任务                Suspended    0/0      -     pytorchjob  0s        -",
    ]


def test_the_list_in_a_pipe_is_whole() -> None:
    lines = job_list(jobs(), at(400), None, wide=True).splitlines()
    assert lines[0].split() == [
        *("NAME", "STATE", "WORKERS", "GPUS", "TRAINER", "DURATION", "NODE"),
        *("BOUNDS", "STEP", "LOSS", "PRIORITY", "AGE", "EXPLANATION"),
    ]
    assert lines[1].endswith(f"node-a  1-8     340   0.0479  high      6m40s  {WHY}")


def test_the_page_of_a_job() -> None:
    events = [EventView("Pod", "bert-worker-2", "Warning", "FailedScheduling", "0/3 nodes.", at(380), 5)]
    page = job_page(a_view(), at(400), UTC, 80, tensorboard="http://10.0.0.1:30001", events=events)
    assert page.splitlines() == [
        "Name:        bert-of-the-vision-team",
        "Namespace:   default",
        "State:       Scaling out",
        "             2 of 4 workers cannot be scheduled: 0/3 nodes are available: 3",
        "             Insufficient nvidia.com/gpu.",
        "Trainer:     etjob",
        "Workers:     2/4, 1-8 allowed",
        "GPUs:        4 of 8",
        "Priority:    high",
        "Progress:    step 340, loss 0.0479, 2 ranks (5m ago)",
        "Created:     2025-01-02 03:04:05 (6m40s ago)",
        "Started:     2025-01-02 03:04:08 (6m37s ago)",
        "Duration:    6m40s",
        "TensorBoard: http://10.0.0.1:30001",
        "",
        "INSTANCE             STATUS   READY  RESTARTS  AGE    GPUS  NODE",
        "bert-of-t…-launcher  Running  1/1    0         6m40s  -     node-a",
        "bert-of-t…-worker-0  Running  1/1    0         6m40s  2     a-node-with-a-rathe…",
        "bert-of-t…-worker-1  Running  1/1    0         6m40s  2     a-node-with-a-rathe…",
        "bert-of-t…-worker-2  Pending  0/1    0         5m10s  2     -",
        "",
        "LAST      TYPE     REASON            OBJECT             MESSAGE",
        "20s (x5)  Warning  FailedScheduling  pod/bert-worker-2  0/3 nodes.",
    ]


@pytest.mark.parametrize("width", WIDTHS)
def test_everything_fits_its_terminal(width: int) -> None:
    nodes = node_views([a_node("a-node-with-a-rather-long-name", 8), a_node("b")], [a_busy_pod("b")])
    shown = (
        job_list(jobs(), at(400), width, all_namespaces=True),
        job_list(jobs(), at(400), width, wide=True),
        job_page(a_view(), at(400), UTC, width),
        top_jobs(jobs(), at(400), width, all_namespaces=True),
        top_nodes(nodes, width),
        gpus_by_node(a_view(), width),
    )
    for text in shown:
        assert max(map(display_width, text.splitlines())) <= max(width, 43), text


def test_what_a_job_lacks_is_not_shown() -> None:
    page = job_page(job_view({"kind": "MPIJob", "metadata": {"name": "pi"}}, []), at(0), UTC)
    assert page.splitlines() == [
        "Name:        pi",
        "State:       Created",
        "Trainer:     mpijob",
        "Workers:     0/0",
        "GPUs:        -",
        "Priority:    -",
        "Duration:    0s",
    ]


def test_a_message_cannot_command_the_terminal() -> None:
    page = job_page(a_view(explanation="red: \x1b[31m\r\nand more"), at(0), UTC)
    assert "red: [31m and more" in page
    assert "\x1b" not in page


def test_a_job_that_is_being_deleted_says_so() -> None:
    job = a_job(state="Running")
    job["metadata"]["deletionTimestamp"] = stamp(5)
    view = job_view(job)
    assert "State:       Running, being deleted" in job_page(view, at(9), UTC)
    assert list_row(view, at(9))[1] == "Deleting"


def test_gpus_are_shown_by_node() -> None:
    assert gpus_by_node(a_view()).splitlines() == [
        "NODE                            NODE IP                               GPUS  INSTANCES",
        "a-node-with-a-rather-long-name  ip-of-a-node-with-a-rather-long-name  4     "
        "bert-of-the-vision-team-worker-0, bert-of-the-vision-team-worker-1",
    ]


def test_a_change_is_one_line() -> None:
    assert change_line(a_view()) == f"Scaling out  workers 2/4  {WHY}"


def test_rows_that_come_later_are_aligned_with_those_before() -> None:
    rows = Rows(list_columns())
    first, second = (rows.line(list_row(view, at(9))) for view in jobs())
    assert first.splitlines()[0].startswith("NAME                     STATE        WORKERS")
    assert second.startswith("训练任务                 Suspended    0/0")
