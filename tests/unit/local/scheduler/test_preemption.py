# SPDX-License-Identifier: Apache-2.0
"""Who has to go for whom."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.local.scheduler.things import a_budget, a_node, a_pod, a_snapshot, company

from springtide.kube.resources import Key
from springtide.local.scheduler.placing import place
from springtide.local.scheduler.preemption import NEVER, UNDER_WAY, Candidate, preempt
from springtide.local.scheduler.reasons import Unfit
from springtide.local.scheduler.state.nodes import Node
from springtide.local.scheduler.state.pods import Pod
from springtide.local.scheduler.state.snapshot import Snapshot


def decided(pod: Pod, snapshot: Snapshot) -> Candidate | str:
    found = place(pod, snapshot)
    assert isinstance(found, Unfit)
    return preempt(pod, found, snapshot)


def victims(pod: Pod, snapshot: Snapshot) -> tuple[str, list[str]]:
    found = decided(pod, snapshot)
    assert isinstance(found, Candidate), found
    return found.node, [victim.key.name for victim in found.victims]


def low(name: str, cpu: str = "2", priority: int = 1, **more: object) -> Pod:
    return a_pod(name, {"cpu": cpu}, priority=priority, **more)


def high(cpu: str = "3", **more: object) -> Pod:
    return a_pod("important", {"cpu": cpu}, priority=1000, **more)


def world(pods: Mapping[str, list[Pod]], *more: Node) -> Snapshot:
    return a_snapshot(*(a_node(name) for name in pods), *more, pods=pods)


def test_the_least_important_victims() -> None:
    assert victims(high(), world({"a": [low("a1", priority=10)], "b": [low("b1")]})) == ("b", ["b1"])


def test_the_fewest_victims() -> None:
    crowded = {"a": [low("a1"), low("a2")], "b": [low("b1")]}
    assert victims(high(), world(crowded)) == ("b", ["b1"])


def test_the_lowest_of_the_highest_comes_before_the_number() -> None:
    crowded = {"a": [low("a1"), low("a2")], "b": [low("b1", priority=5)]}
    assert victims(high(), world(crowded)) == ("a", ["a1", "a2"])


def test_only_as_many_as_it_takes_and_the_more_important_stay() -> None:
    there = [low("x", "1", 5), low("y", "1", 1), low("z", "1", 3), low("w", "1", 2)]
    assert victims(high("2"), world({"a": there})) == ("a", ["w", "y"])


def test_who_started_last_goes_first() -> None:
    old = low("old", "2", status={"phase": "Running", "startTime": "2026-01-01T00:00:00Z"})
    new = low("new", "2", status={"phase": "Running", "startTime": "2026-01-02T00:00:00Z"})
    assert victims(high("2"), world({"a": [new, old]})) == ("a", ["new"])
    assert victims(high("3"), world({"a": [old], "b": [new]})) == ("b", ["new"])


def test_disruption_budgets_are_kept_where_that_is_possible() -> None:
    snapshot = world({"a": [low("a1", labels={"app": "kept"})], "b": [low("b1", priority=10)]})
    snapshot.budgets[Key("default", "budget")] = a_budget({"app": "kept"}, 0)
    assert victims(high(), snapshot) == ("b", ["b1"])
    alone = world({"a": [low("a1", labels={"app": "kept"})]})
    alone.budgets[Key("default", "budget")] = a_budget({"app": "kept"}, 0)
    assert victims(high(), alone) == ("a", ["a1"])


def test_of_one_node_those_without_a_budget_go_first() -> None:
    there = [low("kept", labels={"app": "kept"}), low("other", priority=5)]
    snapshot = world({"a": there})
    snapshot.budgets[Key("default", "budget")] = a_budget({"app": "kept"}, 0)
    assert victims(high("2"), snapshot) == ("a", ["other"])


def test_equals_are_left_alone() -> None:
    says = "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
    assert decided(high(), world({"a": [low("a1", priority=1000)]})) == says


def test_nobody_goes_in_vain() -> None:
    there = [low("lesser", "1"), low("equal", "2", priority=1000)]
    says = "preemption: 0/2 nodes are available: 1 Insufficient cpu, 1 Preemption is not helpful for scheduling."
    assert decided(high(), world({"a": there}, a_node("b", unschedulable=True))) == says


def test_a_policy_of_never() -> None:
    assert decided(high(preemptionPolicy="Never"), world({"a": [low("a1")]})) == NEVER


def test_once_is_enough() -> None:
    status = {"conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]}
    leaving = low("a1", deleted="2026-01-01T00:00:00Z", status=status)
    pod = high(status={"nominatedNodeName": "a"})
    assert decided(pod, world({"a": [leaving], "b": [low("b1")]})) == UNDER_WAY


def test_again_when_the_promised_node_will_not_do_any_more() -> None:
    status = {"conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]}
    leaving = low("a1", deleted="2026-01-01T00:00:00Z", status=status)
    snapshot = a_snapshot(a_node("a", unschedulable=True), a_node("b"), pods={"a": [leaving], "b": [low("b1")]})
    assert victims(high(status={"nominatedNodeName": "a"}), snapshot) == ("b", ["b1"])


def test_those_who_want_no_company_go_too() -> None:
    shy = a_pod("shy", priority=1, affinity=company("podAntiAffinity", "web"))
    pod = a_pod("important", priority=1000, labels={"app": "web"})
    assert victims(pod, world({"a": [shy]})) == ("a", ["shy"])


def test_room_made_for_one_is_not_given_to_another() -> None:
    snapshot = world({"a": []})
    snapshot.promise(high("3"), "a")
    assert isinstance(place(low("late", "2"), snapshot), Unfit)
    assert not isinstance(place(low("small", "1"), snapshot), Unfit)


def test_but_to_somebody_more_important() -> None:
    snapshot = world({"a": []})
    snapshot.promise(high("3"), "a")
    found = place(a_pod("highest", {"cpu": "3"}, priority=2000), snapshot)
    assert not isinstance(found, Unfit)


def test_the_promised_node_is_taken_although_another_is_emptier() -> None:
    pod = high("1", status={"nominatedNodeName": "b"})
    snapshot = world({"a": [], "b": [low("b1", "1")]})
    found = place(pod, snapshot)
    assert not isinstance(found, Unfit)
    assert found.node.name == "b"


there = st.lists(st.tuples(st.integers(1, 3), st.integers(0, 4)), max_size=4)


@given(st.lists(there, min_size=1, max_size=3), st.integers(1, 4), st.integers(0, 5))
def test_victims_are_lesser_enough_and_none_too_many(nodes: list[list[tuple[int, int]]], cpu: int, rank: int) -> None:
    pods = {
        f"n{number}": [low(f"n{number}-{index}", f"{size}", each) for index, (size, each) in enumerate(on_it)]
        for number, on_it in enumerate(nodes)
    }
    snapshot = world(pods)
    pod = a_pod("important", {"cpu": f"{cpu}"}, priority=rank)
    unfit = place(pod, snapshot)
    found = preempt(pod, unfit, snapshot) if isinstance(unfit, Unfit) else ""
    if isinstance(found, str):
        return
    assert all(victim.priority < rank for victim in found.victims)
    for victim in found.victims:
        snapshot.remove(victim)
    assert not isinstance(place(pod, snapshot), Unfit)
    state = snapshot.node(found.node)
    assert state is not None
    for victim in found.victims:
        assert state.free("cpu") - victim.requests["cpu"] < pod.requests["cpu"]
