# SPDX-License-Identifier: Apache-2.0
"""What the status of a PodGroup says."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.unit.local.scheduler.things import a_pod

from springtide.kube.resources import Obj
from springtide.local.scheduler.gangs.groups import PLUGIN_GROUPS, VOLCANO_GROUPS, Group, Standing, status
from springtide.local.scheduler.state.views import GroupView

NOW, BEFORE = "2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z"


def a_group(plugin: bool = False, least: int = 2, old: Obj | None = None) -> Group:
    view = msgspec.convert({"metadata": {"name": "g"}, "spec": {"minMember": least}, "status": old}, GroupView)
    return Group(PLUGIN_GROUPS if plugin else VOLCANO_GROUPS, view)


def standing(*phases: str, holding: int = 0, message: str = "", enqueued: bool = False) -> Standing:
    pods = [a_pod(f"m{number}", status={"phase": phase}) for number, phase in enumerate(phases)]
    return Standing(pods, holding, message, enqueued)


@pytest.mark.parametrize(
    ("how", "phase"),
    [
        (standing(), "Pending"),
        (standing("Pending", message="not yet"), "Pending"),
        (standing("Pending", "Pending", message="no room", enqueued=True), "Inqueue"),
        (standing("Pending", "Pending", holding=2), "Running"),
        (standing("Running", "Running", holding=2), "Running"),
        (standing("Running", "Pending", holding=1, message="no room", enqueued=True), "Unknown"),
        (standing("Succeeded", "Running", holding=2), "Running"),
        (standing("Succeeded", "Failed", holding=1), "Completed"),
    ],
)
def test_phases_of_volcano(how: Standing, phase: str) -> None:
    assert status(a_group(), how, NOW)["phase"] == phase


@pytest.mark.parametrize(
    ("phases", "phase"),
    [
        ((), "Pending"),
        (("Pending",), "Pending"),
        (("Pending", "Pending"), "Scheduling"),
        (("Running", "Pending"), "Scheduling"),
        (("Running", "Running"), "Running"),
        (("Running", "Succeeded"), "Running"),
        (("Failed", "Running"), "Failed"),
        (("Succeeded", "Succeeded"), "Finished"),
    ],
)
def test_phases_of_scheduler_plugins(phases: tuple[str, ...], phase: str) -> None:
    assert status(a_group(plugin=True), standing(*phases), NOW)["phase"] == phase


def test_counts_are_left_out_when_they_are_nought() -> None:
    assert status(a_group(), standing("Running", "Failed", "Pending", holding=2), NOW) == {
        "phase": "Running",
        "running": 1,
        "failed": 1,
        "conditions": [
            {
                "type": "Scheduled",
                "status": "True",
                "reason": "tasks in gang are ready to be scheduled",
                "lastTransitionTime": NOW,
            }
        ],
    }


def condition(kind: str, message: str, when: str) -> Obj:
    told = {"type": kind, "status": "True", "reason": "NotEnoughResources", "message": message}
    return told | {"lastTransitionTime": when}


def test_a_condition_that_says_the_same_keeps_its_time() -> None:
    old = {"phase": "Inqueue", "conditions": [condition("Unschedulable", "no room", BEFORE)]}
    how = standing("Pending", "Pending", message="no room", enqueued=True)
    assert status(a_group(old=old), how, NOW) == old


def test_a_condition_that_says_something_else_does_not() -> None:
    old: Obj = {"conditions": [condition("Unschedulable", "no room", BEFORE), {"type": "Other"}]}
    how = standing("Pending", "Pending", message="no gpus", enqueued=True)
    assert status(a_group(old=old), how, NOW)["conditions"] == [
        condition("Unschedulable", "no gpus", NOW),
        {"type": "Other"},
    ]


@pytest.mark.parametrize("old", [None, {"phase": "Pending"}])
def test_scheduling_begins_once(old: Any) -> None:
    begun = status(a_group(plugin=True, old=old), standing("Pending", "Pending"), BEFORE)
    assert begun["scheduleStartTime"] == BEFORE
    later = status(a_group(plugin=True, old=begun), standing("Running", "Running"), NOW)
    assert later["scheduleStartTime"] == BEFORE


def test_a_group_that_waits_for_members_has_not_begun() -> None:
    assert status(a_group(plugin=True), standing("Pending"), NOW) == {"phase": "Pending"}
