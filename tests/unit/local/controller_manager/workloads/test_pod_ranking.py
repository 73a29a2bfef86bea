# SPDX-License-Identifier: Apache-2.0
"""Which of two pods goes first."""

from __future__ import annotations

import pytest
from tests.unit.local.controller_manager.workloads.builders import NOW, a_pod

from springtide.local.controller_manager.views import PodView
from springtide.local.controller_manager.workloads.pod_ranking import active_order, deletion_order

COST = "controller.kubernetes.io/pod-deletion-cost"


def restarted(times: int) -> dict[str, object]:
    return {"containerStatuses": [{"name": "c", "restartCount": times}]}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (a_pod("z", "Pending", node=""), a_pod("a", "Pending")),
        (a_pod("z", "Pending"), a_pod("a", "Running")),
        (a_pod("z"), a_pod("a", ready=True)),
        (a_pod("z", ready=True, annotations={COST: "-1"}), a_pod("a", ready=True)),
        (a_pod("z", ready=True, node="crowded"), a_pod("a", ready=True)),
        (a_pod("z", ready=True, ready_for=10), a_pod("a", ready=True, ready_for=1000)),
        (a_pod("z", status=restarted(3)), a_pod("a", status=restarted(1))),
        (a_pod("z", age=10), a_pod("a", age=1000)),
        (a_pod("a", age=1000), a_pod("z", age=1001)),
    ],
    ids=[
        "without a node before with one",
        "pending before running",
        "unready before ready",
        "cheap before dear",
        "from a crowded node before from an empty one",
        "just ready before long ready",
        "often restarted before seldom restarted",
        "young before old",
        "by uid when about as old",
    ],
)
def test_goes_first(first: PodView, second: PodView) -> None:
    neighbours = {"crowded": 3, "a": 1}
    assert deletion_order([second, first], neighbours, NOW) == [first, second]
    assert deletion_order([first, second], neighbours, NOW) == [first, second]


def test_a_cost_that_is_no_number_counts_as_none() -> None:
    odd, cheap = a_pod("a", annotations={COST: "much"}), a_pod("b", annotations={COST: "-1"})
    assert deletion_order([odd, cheap], {}, NOW) == [cheap, odd]


def test_jobs_compare_exact_ages() -> None:
    old, young = a_pod("a", age=1001), a_pod("b", age=1000)
    assert active_order([old, young]) == [young, old]
