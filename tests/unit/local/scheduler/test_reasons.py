# SPDX-License-Identifier: Apache-2.0
"""Why a pod waits, word for word."""

from __future__ import annotations

from springtide.local.scheduler.filters.refusal import Refusal, never
from springtide.local.scheduler.reasons import Unfit

TAINTED = never("node(s) had untolerated taint(s)")


def test_reasons_are_counted_and_sorted() -> None:
    refusals = {"a": TAINTED, "b": Refusal(("Insufficient memory", "Insufficient cpu")), "c": TAINTED}
    says = "0/3 nodes are available: 1 Insufficient cpu, 1 Insufficient memory, 2 node(s) had untolerated taint(s)."
    assert Unfit(3, refusals).text() == says


def test_what_preemption_said_comes_last() -> None:
    says = "0/1 nodes are available: 1 node(s) had untolerated taint(s). no new claims to deallocate, preemption: no."
    assert Unfit(1, {"a": TAINTED}).text("preemption: no.") == says


def test_a_reason_that_holds_everywhere_is_not_counted() -> None:
    assert Unfit(2, {}, "no claim").text("preemption: no.") == "0/2 nodes are available: no claim. preemption: no."


def test_a_cluster_without_nodes() -> None:
    assert Unfit(0).text("preemption: no.") == "no nodes available to schedule pods"
