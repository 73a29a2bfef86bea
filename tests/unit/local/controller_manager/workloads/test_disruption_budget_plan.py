# SPDX-License-Identifier: Apache-2.0
"""How many evictions a disruption budget allows."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.local.controller_manager.workloads.builders import NOW, a_pod, ago

from springtide.kube.resources import Obj
from springtide.local.controller_manager.views import PodView
from springtide.local.controller_manager.workloads.disruption_budgets import Observed, fail_safe, needs_scale, plan


def a_budget(status: Obj | None = None, **spec: Any) -> Obj:
    metadata = {"name": "web", "namespace": "default", "generation": 3}
    return {"metadata": metadata, "spec": spec, "status": status or {}}


def healthy(count: int) -> tuple[PodView, ...]:
    return tuple(a_pod(f"p{number}", ready=True) for number in range(count))


@pytest.mark.parametrize(
    ("spec", "expected", "ready", "desired", "allowed"),
    [
        ({"minAvailable": 2}, 3, 3, 2, 1),
        ({"minAvailable": 2}, 3, 2, 2, 0),
        ({"minAvailable": 5}, 3, 3, 5, 0),
        ({"minAvailable": "50%"}, 3, 3, 2, 1),
        ({"maxUnavailable": 1}, 4, 4, 3, 1),
        ({"maxUnavailable": "50%"}, 3, 3, 1, 2),
        ({"maxUnavailable": 9}, 3, 3, 0, 3),
        ({"minAvailable": 0}, 0, 0, 0, 0),
    ],
)
def test_evictions_allowed(spec: Obj, expected: int, ready: int, desired: int, allowed: int) -> None:
    status = plan(Observed(a_budget(**spec), healthy(ready), expected), NOW).status
    assert (status["desiredHealthy"], status["disruptionsAllowed"]) == (desired, allowed)
    assert status["currentHealthy"] == ready
    assert status["observedGeneration"] == 3
    condition = status["conditions"][0]
    reason = ("True", "SufficientPods") if allowed else ("False", "InsufficientPods")
    assert (condition["status"], condition["reason"]) == reason


def test_an_evicted_pod_is_not_healthy_until_it_is_clear_that_it_stays() -> None:
    pods = (*healthy(3), a_pod("late", ready=True))
    noted = {"disruptedPods": {"p0": ago(30), "late": ago(121), "gone": ago(5)}}
    decided = plan(Observed(a_budget(noted, minAvailable=1), pods, 4), NOW)
    assert decided.status["currentHealthy"] == 3
    assert decided.status["disruptedPods"] == {"p0": ago(30)}
    assert [pod.metadata.name for pod in decided.overdue] == ["late"]
    assert decided.look_again == 91


def test_terminating_and_unready_pods_are_not_healthy() -> None:
    pods = (a_pod("a", ready=True, deleting=True), a_pod("b"), a_pod("c", ready=True))
    assert plan(Observed(a_budget(minAvailable=1), pods, 3), NOW).status["currentHealthy"] == 1


def test_the_condition_keeps_its_time_while_its_status_stays() -> None:
    first = plan(Observed(a_budget(minAvailable=1), healthy(2), 2), NOW).status
    first["conditions"][0]["lastTransitionTime"] = ago(500)
    second = plan(Observed(a_budget(first, minAvailable=1), healthy(3), 3), NOW).status
    assert second["conditions"][0]["lastTransitionTime"] == ago(500)


def test_nothing_is_allowed_when_nothing_is_known() -> None:
    before = plan(Observed(a_budget(minAvailable=1), healthy(2), 2), NOW).status
    status = fail_safe(a_budget(before, minAvailable=1), "found no controllers", NOW)
    assert (status["disruptionsAllowed"], status["currentHealthy"]) == (0, 2)
    assert (status["conditions"][0]["reason"], status["conditions"][0]["message"]) == (
        "SyncFailed",
        "found no controllers",
    )


@pytest.mark.parametrize(
    ("spec", "expected"), [({"minAvailable": 1}, False), ({"minAvailable": "1%"}, True), ({"maxUnavailable": 1}, True)]
)
def test_only_a_plain_minimum_needs_no_owner(spec: Obj, expected: bool) -> None:
    assert needs_scale(a_budget(**spec)) is expected
