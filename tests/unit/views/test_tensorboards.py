# SPDX-License-Identifier: Apache-2.0
"""Which pod shows TensorBoard, and why none does yet."""

from __future__ import annotations

from typing import Any

import pytest

from springtide.messages import Language, shown
from springtide.views import tensorboards


def pod(name: str, created: str = "2026-01-01T00:00:00Z", **status: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "creationTimestamp": created}, "status": status}


def ready(name: str, created: str) -> dict[str, Any]:
    return pod(name, created, conditions=[{"type": "Ready", "status": "True"}])


def test_the_newest_ready_pod_serves() -> None:
    old, new = ready("old", "2026-01-01T00:00:00Z"), ready("new", "2026-01-01T00:01:00Z")
    starting = pod("starting", "2026-01-01T00:02:00Z", conditions=[{"type": "Ready", "status": "False"}])
    assert tensorboards.serving([new, old, starting]) == new
    assert tensorboards.serving([starting]) is None


def test_a_pod_that_is_being_deleted_serves_no_longer() -> None:
    leaving = ready("leaving", "2026-01-01T00:00:00Z")
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:30Z"
    assert tensorboards.serving([leaving]) is None


IMAGE = {"state": {"waiting": {"reason": "ErrImagePull", "message": "images are not pulled here"}}}
NODE = {"type": "PodScheduled", "status": "False", "message": "0/2 nodes are available"}


@pytest.mark.parametrize(
    ("pods", "sentence"),
    [
        ([], "TensorBoard has no pod yet."),
        ([pod("a", containerStatuses=[IMAGE])], "TensorBoard waits: images are not pulled here"),
        ([pod("a", conditions=[NODE])], "TensorBoard waits for a node: 0/2 nodes are available"),
        ([pod("a", phase="Pending")], "TensorBoard starts."),
        ([pod("a")], "TensorBoard starts."),
    ],
)
def test_it_says_what_tensorboard_waits_for(pods: list[dict[str, Any]], sentence: str) -> None:
    assert shown(tensorboards.waits(pods), Language.ENGLISH) == sentence


@pytest.mark.parametrize(
    ("pods", "helped"),
    [
        ([], False),
        ([pod("a", conditions=[NODE])], False),
        ([pod("a", containerStatuses=[{"state": {"waiting": {"reason": "ContainerCreating"}}}])], False),
        ([pod("a", containerStatuses=[{"state": {"running": {}}}])], False),
        ([pod("a", containerStatuses=[IMAGE])], True),
        ([pod("a", containerStatuses=[{"state": {"waiting": {"reason": "CrashLoopBackOff"}}}])], True),
    ],
)
def test_what_does_not_end_by_itself_needs_help(pods: list[dict[str, Any]], helped: bool) -> None:
    assert tensorboards.needs_help(pods) == helped
