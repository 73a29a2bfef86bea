# SPDX-License-Identifier: Apache-2.0
"""What a deployment's status says about its rollout."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.local.controller_manager.workloads.builders import NOW, a_replica_set, ago
from tests.unit.local.controller_manager.workloads.test_rollouts import a_deployment, a_set

from springtide.kube.resources import Obj
from springtide.local.controller_manager.conditions import find
from springtide.local.controller_manager.workloads.rollouts import Observed, plan


def progressing(reason: str, status: str = "True", age: float = 60) -> Obj:
    return {
        "type": "Progressing",
        "status": status,
        "reason": reason,
        "message": "",
        "lastUpdateTime": ago(age),
        "lastTransitionTime": ago(1000),
    }


def decided(sets: list[Obj], status: Obj, **spec: Any) -> tuple[Obj, Obj, float | None]:
    found = plan(Observed(a_deployment(status=status, **spec), tuple(sets)), NOW)
    condition = find(found.status["conditions"], "Progressing")
    return found.status, condition or {}, found.look_again


def test_counts_leave_out_zeros_but_not_the_terminating() -> None:
    status, _, _ = decided([a_set("new", 4, 0, image="two")], {})
    status.pop("conditions")
    assert status == {
        "observedGeneration": 2,
        "replicas": 4,
        "updatedReplicas": 4,
        "unavailableReplicas": 4,
        "terminatingReplicas": 0,
    }


def test_a_complete_rollout_says_so_once() -> None:
    sets = [a_set("new", 4, 4, image="two")]
    status, condition, look_again = decided(sets, {"conditions": [progressing("ReplicaSetUpdated")]})
    assert (condition["status"], condition["reason"]) == ("True", "NewReplicaSetAvailable")
    assert condition["message"] == 'ReplicaSet "new" has successfully progressed.'
    assert condition["lastTransitionTime"] == ago(1000)
    assert look_again is None
    again, _, _ = decided(sets, status)
    assert again == status


def test_progress_restarts_the_clock() -> None:
    before = {"replicas": 4, "updatedReplicas": 1, "conditions": [progressing("ReplicaSetUpdated", age=599)]}
    sets = [a_set("old", 2), a_set("new", 2, 1, image="two")]
    _, condition, look_again = decided(sets, before)
    assert (condition["reason"], condition["lastUpdateTime"]) == ("ReplicaSetUpdated", ago(0))
    assert look_again == 601


@pytest.mark.parametrize(
    ("age", "reason", "status", "look_again"),
    [(500, "ReplicaSetUpdated", "True", 101), (601, "ProgressDeadlineExceeded", "False", None)],
    ids=["in time", "too late"],
)
def test_a_rollout_without_progress_times_out(age: float, reason: str, status: str, look_again: float | None) -> None:
    before = {
        "replicas": 5,
        "updatedReplicas": 2,
        "availableReplicas": 3,
        "readyReplicas": 3,
        "conditions": [progressing("ReplicaSetUpdated", age=age)],
    }
    sets = [a_set("old", 3), a_set("new", 2, 0, image="two")]
    _, condition, again = decided(sets, before)
    assert (condition["reason"], condition["status"], again) == (reason, status, look_again)


def test_a_deployment_taken_up_again_is_not_late() -> None:
    before = {"conditions": [progressing("DeploymentPaused", "Unknown", age=9000)], "replicas": 5, "updatedReplicas": 2}
    sets = [a_set("old", 3, 0), a_set("new", 2, 0, image="two")]
    _, condition, _ = decided(sets, before)
    assert (condition["reason"], condition["lastUpdateTime"]) == ("DeploymentResumed", ago(0))


def test_without_a_deadline_there_is_no_progress_condition() -> None:
    _, condition, look_again = decided(
        [a_set("new", 4, 0, image="two")],
        {"conditions": [progressing("ReplicaSetUpdated")]},
        progressDeadlineSeconds=2**31 - 1,
    )
    assert (condition, look_again) == ({}, None)


@pytest.mark.parametrize(("available", "expected"), [(3, "True"), (2, "False")])
def test_available_means_all_but_those_that_may_be_unavailable(available: int, expected: str) -> None:
    status, _, _ = decided([a_set("new", 4, available, image="two")], {})
    found = find(status["conditions"], "Available")
    assert found is not None
    assert found["status"] == expected


def test_failures_of_replica_sets_are_passed_on_and_taken_back() -> None:
    failure = {
        "type": "ReplicaFailure",
        "status": "True",
        "reason": "FailedCreate",
        "message": "quota",
        "lastTransitionTime": ago(5),
    }
    status, _, _ = decided([a_replica_set("new", 4, image="two", conditions=[failure])], {})
    assert find(status["conditions"], "ReplicaFailure") == {**failure, "lastUpdateTime": ago(5)}
    status, _, _ = decided([a_set("new", 4, 0, image="two")], status)
    assert find(status["conditions"], "ReplicaFailure") is None
