# SPDX-License-Identifier: Apache-2.0
"""What keeps a pod from running, as its status says it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from tests.unit.controllers.cached import made, pod_view

from springtide.controllers.pod_waiting import waiting
from springtide.jobs.observed import Exit, Waiting
from springtide.kube.resources import PODS, Obj

WHEN, MOMENT = "2026-11-16T08:00:00Z", datetime(2026, 11, 16, 8, tzinfo=UTC)
UNSCHEDULED = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"}


def of(node: str = "a", **status: Any) -> Waiting | None:
    return waiting(pod_view(made(PODS, "p", spec={"nodeName": node, "containers": [{"name": "main"}]}, status=status)))


def waits(reason: str, message: str = "", name: str = "main", **more: Any) -> Obj:
    return {"name": name, "state": {"waiting": {"reason": reason, "message": message}}, **more}


def failed(code: int = 1) -> Obj:
    return {"terminated": {"exitCode": code, "reason": "Error", "message": "last line", "startedAt": WHEN}}


def test_one_that_the_scheduler_has_not_looked_at_waits_for_nothing_known() -> None:
    assert of(node="", phase="Pending") is None


@pytest.mark.parametrize("reason", ["Unschedulable", "SchedulingGated"])
def test_the_schedulers_word(reason: str) -> None:
    found = of(node="", phase="Pending", conditions=[UNSCHEDULED | {"reason": reason}])
    assert found == Waiting(reason, "0/1 nodes")


def test_what_the_scheduler_said_before_does_not_count_on_a_node() -> None:
    assert of(phase="Pending", conditions=[UNSCHEDULED]) is None


def test_the_kubelets_word() -> None:
    found = of(phase="Pending", startTime=WHEN, containerStatuses=[waits("ErrImagePull", "not found")])
    assert found == Waiting("ErrImagePull", "not found", "main", since=MOMENT)


def test_an_init_container_says_more_than_those_that_wait_for_it() -> None:
    found = of(
        phase="Pending",
        initContainerStatuses=[waits("CreateContainerConfigError", "no secret", "fetch")],
        containerStatuses=[waits("PodInitializing")],
    )
    assert found == Waiting("CreateContainerConfigError", "no secret", "fetch")


def test_of_several_containers_the_one_that_cannot_start() -> None:
    found = of(containerStatuses=[waits("ContainerCreating"), waits("InvalidImageName", "A", "sidecar")])
    assert found is not None
    assert (found.reason, found.container) == ("InvalidImageName", "sidecar")


def test_volumes_and_network_are_there_when_the_kubelet_says_so() -> None:
    ready = {"type": "PodReadyToStartContainers", "status": "True"}
    found = of(startTime=WHEN, conditions=[ready], containerStatuses=[waits("ContainerCreating")])
    assert found == Waiting("ContainerCreating", container="main", since=MOMENT, sandbox=True)


def test_a_crash_loop_has_the_end_of_the_last_attempt() -> None:
    found = of(phase="Running", containerStatuses=[waits("CrashLoopBackOff", "back-off 10s", lastState=failed(137))])
    assert found == Waiting("CrashLoopBackOff", "back-off 10s", "main", exit=Exit(137, "Error", "last line"))


@pytest.mark.parametrize(("state", "since"), [({"running": {"startedAt": WHEN}}, MOMENT), (failed(2), None)])
def test_between_two_crashes_it_is_known_that_it_crashed(state: Obj, since: datetime | None) -> None:
    found = of(phase="Running", containerStatuses=[{"name": "main", "state": state, "lastState": failed(2)}])
    assert found == Waiting("CrashLoopBackOff", container="main", exit=Exit(2, "Error", "last line"), restarted=since)


@pytest.mark.parametrize(
    "status",
    [
        {"name": "main", "state": {"running": {"startedAt": WHEN}}, "lastState": {}},
        {"name": "main", "state": failed(1), "lastState": {}},
        {"name": "main", "state": failed(0), "lastState": failed(1)},
        {"name": "main", "state": {"running": {"startedAt": WHEN}}, "lastState": failed(0)},
    ],
)
def test_one_that_runs_or_has_ended_waits_for_nothing(status: Obj) -> None:
    assert of(phase="Running", containerStatuses=[status]) is None


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_nor_does_a_pod_that_is_over(phase: str) -> None:
    assert of(phase=phase, containerStatuses=[waits("CrashLoopBackOff")]) is None
