# SPDX-License-Identifier: Apache-2.0
"""How many pods a replica set makes or deletes, and what its status says."""

from __future__ import annotations

import pytest
from tests.unit.local.controller_manager.workloads.builders import NOW, a_pod, a_replica_set, ago

from springtide.kube.errors import Forbidden
from springtide.local.controller_manager.workloads.pod_control import Outcome
from springtide.local.controller_manager.workloads.replica_sets import Observed, Plan, next_look, plan, status


@pytest.mark.parametrize(
    ("size", "present", "create", "delete"),
    [(3, 0, 3, 0), (3, 3, 0, 0), (3, 5, 0, 2), (0, 2, 0, 2), (700, 0, 500, 0)],
    ids=["none yet", "enough", "too many", "all", "at most 500 at once"],
)
def test_pods_are_made_or_deleted_until_the_number_is_right(size: int, present: int, create: int, delete: int) -> None:
    pods = tuple(a_pod(f"p{number}") for number in range(present))
    decided = plan(Observed(a_replica_set(size=size), pods), NOW)
    assert (decided.create, len(decided.delete)) == (create, delete)


@pytest.mark.parametrize(
    "observed",
    [Observed(a_replica_set(), settled=False), Observed(a_replica_set(deleting=True))],
    ids=["the cache lags", "it is being deleted"],
)
def test_nothing_is_done_when(observed: Observed) -> None:
    assert plan(observed, NOW) == Plan()


def test_status_counts_what_is_ready_available_and_fully_labelled() -> None:
    replica_set = a_replica_set(min_ready_seconds=30)
    labels = replica_set["spec"]["template"]["metadata"]["labels"]
    pods = (
        a_pod("a", ready=True, ready_for=60, labels=labels),
        a_pod("b", ready=True, ready_for=10, labels=labels),
        a_pod("c", labels={"app": "web"}),
    )
    assert status(Observed(replica_set, pods, terminating=1), Outcome(), NOW) == {
        "replicas": 3,
        "fullyLabeledReplicas": 2,
        "readyReplicas": 2,
        "availableReplicas": 1,
        "observedGeneration": 1,
        "terminatingReplicas": 1,
    }


def test_the_next_look_is_when_the_next_pod_becomes_available() -> None:
    pods = (a_pod("a", ready=True, ready_for=10), a_pod("b", ready=True, ready_for=25), a_pod("c"))
    assert next_look(Observed(a_replica_set(min_ready_seconds=30), pods), NOW) == 5
    assert next_look(Observed(a_replica_set(), pods), NOW) is None


def test_a_refused_pod_is_a_condition_until_it_is_not_refused() -> None:
    refused = Outcome(0, Forbidden("exceeded quota"))
    observed = Observed(a_replica_set())
    found = status(observed, refused, NOW)
    assert found["conditions"] == [
        {
            "type": "ReplicaFailure",
            "status": "True",
            "lastTransitionTime": ago(0),
            "reason": "FailedCreate",
            "message": "exceeded quota",
        }
    ]
    again = Observed({**observed.replica_set, "status": found})
    assert status(again, Outcome(0, Forbidden("another")), NOW)["conditions"] == found["conditions"]
    assert "conditions" not in status(again, Outcome(1), NOW)
