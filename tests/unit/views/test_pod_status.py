# SPDX-License-Identifier: Apache-2.0
"""The status of a pod in one word, as `kubectl get pods` shows it."""

from __future__ import annotations

from typing import Any

import pytest

from springtide.views.pod_status import PodStatus, pod_status

RUNNING = {"ready": True, "state": {"running": {}}}
STARTING = {"ready": False, "state": {"running": {}}}


def waiting(reason: str) -> dict[str, Any]:
    return {"state": {"waiting": {"reason": reason}}}


def ended(code: int = 0, **more: Any) -> dict[str, Any]:
    return {"state": {"terminated": {"exitCode": code, **more}}}


def a_pod(
    phase: str = "Running",
    *containers: dict[str, Any],
    init: tuple[dict[str, Any], ...] = (),
    deleted: bool = False,
    ready: bool = False,
    **status: Any,
) -> dict[str, Any]:
    conditions = [{"type": "Ready", "status": "True"}] if ready else []
    return {
        "metadata": {"deletionTimestamp": "2025-01-01T00:00:00Z"} if deleted else {},
        "spec": {"containers": [{"name": "main"}], "initContainers": [{"name": f"init-{n}"} for n in range(2)]},
        "status": {
            "phase": phase,
            "containerStatuses": list(containers),
            "initContainerStatuses": [{"name": f"init-{place}", **each} for place, each in enumerate(init)],
            "conditions": conditions,
            **status,
        },
    }


@pytest.mark.parametrize(
    ("pod", "word"),
    [
        pytest.param({"metadata": {}}, "", id="no status at all"),
        pytest.param(a_pod("Pending"), "Pending", id="not scheduled"),
        pytest.param(a_pod("Running", RUNNING), "Running", id="running"),
        pytest.param(a_pod("Succeeded", ended(reason="Completed")), "Completed", id="completed"),
        pytest.param(a_pod("Failed", ended(1, reason="Error")), "Error", id="failed"),
        pytest.param(a_pod("Failed", ended(137, reason="OOMKilled")), "OOMKilled", id="out of memory"),
        pytest.param(a_pod("Failed", ended(2)), "ExitCode:2", id="failed without a reason"),
        pytest.param(a_pod("Failed", ended(137, signal=9)), "Signal:9", id="killed without a reason"),
        pytest.param(a_pod("Failed", reason="Evicted"), "Evicted", id="evicted"),
        pytest.param(a_pod("Pending", waiting("ContainerCreating")), "ContainerCreating", id="creating"),
        pytest.param(a_pod("Pending", waiting("ImagePullBackOff")), "ImagePullBackOff", id="no image"),
        pytest.param(a_pod("Running", waiting("CrashLoopBackOff")), "CrashLoopBackOff", id="crashing"),
        pytest.param(
            a_pod("Pending", conditions=[{"type": "PodScheduled", "reason": "SchedulingGated"}]),
            "SchedulingGated",
            id="gated",
        ),
        pytest.param(a_pod("Pending", init=(STARTING,)), "Init:0/2", id="the first init container"),
        pytest.param(a_pod("Pending", init=(ended(), STARTING)), "Init:1/2", id="the second init container"),
        pytest.param(a_pod("Pending", init=(waiting("PodInitializing"),)), "Init:0/2", id="about to start"),
        pytest.param(
            a_pod("Pending", init=(waiting("ErrImagePull"),)), "Init:ErrImagePull", id="no image for an init container"
        ),
        pytest.param(a_pod("Pending", init=(ended(1, reason="Error"),)), "Init:Error", id="an init container failed"),
        pytest.param(a_pod("Pending", init=(ended(3),)), "Init:ExitCode:3", id="failed without a reason in init"),
        pytest.param(a_pod("Pending", init=(ended(9, signal=9),)), "Init:Signal:9", id="killed in init"),
        pytest.param(a_pod("Running", RUNNING, init=(ended(), ended())), "Running", id="after init containers"),
        pytest.param(
            a_pod("Running", ended(reason="Completed"), RUNNING, ready=True), "Running", id="one container is left"
        ),
        pytest.param(
            a_pod("Running", ended(reason="Completed"), RUNNING), "NotReady", id="one is left and the pod not ready"
        ),
        pytest.param(a_pod("Running", RUNNING, deleted=True), "Terminating", id="terminating"),
        pytest.param(a_pod("Running", RUNNING, deleted=True, reason="NodeLost"), "Unknown", id="the node is lost"),
        pytest.param(
            a_pod("Succeeded", ended(reason="Completed"), deleted=True), "Completed", id="completed and being deleted"
        ),
    ],
)
def test_the_word_is_kubectls(pod: dict[str, Any], word: str) -> None:
    assert pod_status(pod).word == word


def test_ready_containers_and_restarts_are_counted() -> None:
    last = {"lastState": {"terminated": {"finishedAt": "2025-01-01T00:00:00Z"}}}
    pod = a_pod("Running", {**RUNNING, "restartCount": 2, **last}, STARTING)
    pod["spec"]["containers"] = [{"name": "a"}, {"name": "b"}]
    assert pod_status(pod) == PodStatus("Running", 1, 2, 2, "2025-01-01T00:00:00Z")
