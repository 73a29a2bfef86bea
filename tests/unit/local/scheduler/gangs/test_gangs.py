# SPDX-License-Identifier: Apache-2.0
"""All of the least number of members, or none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.local.scheduler.things import GPU, a_budget, a_node, a_pod, a_snapshot

from springtide.kube.resources import Key
from springtide.local.scheduler.gangs.gangs import ANY_QUEUE, Gang, MakeRoom, Placed, Queue, Waits, plan
from springtide.local.scheduler.state.amounts import Amounts
from springtide.local.scheduler.state.pods import Pod
from springtide.local.scheduler.state.snapshot import Snapshot


def members(count: int, gpus: int = 1, name: str = "m", **more: Any) -> list[Pod]:
    return [a_pod(f"{name}{number}", {GPU: f"{gpus}"}, **more) for number in range(count)]


def a_gang(pods: Sequence[Pod], least: int, priority: int = 0, **more: Any) -> Gang:
    return Gang(Key("default", more.pop("name", "gang")), least, priority, pods, **more)


def gpus(*counts: int) -> Snapshot:
    nodes = [a_node(chr(ord("a") + number), {GPU: f"{count}"}) for number, count in enumerate(counts)]
    return a_snapshot(*nodes, strict=False)


def begin(decision: object, snapshot: Snapshot) -> None:
    assert isinstance(decision, Placed)
    for pod, node in decision.nodes:
        snapshot.add(pod, node)


def test_all_fit() -> None:
    decision = plan(a_gang(members(4), 4), gpus(2, 2))
    assert isinstance(decision, Placed)
    assert len(decision.nodes) == 4


def test_not_all_fit_so_none_is_bound() -> None:
    decision = plan(a_gang(members(4), 4), gpus(2, 1))
    assert isinstance(decision, Waits)
    assert decision.message == (
        "1/4 tasks in gang unschedulable: pod group is not ready, 4 Pending, 4 minAvailable; "
        "Pending: 1 Unschedulable, 3 Schedulable"
    )
    [(_, unfit)] = decision.why
    assert unfit.text() == f"0/2 nodes are available: 2 Insufficient {GPU}."
    assert decision.enqueued


def test_fewer_members_than_the_least_number_are_not_even_tried() -> None:
    decision = plan(a_gang(members(2), 3), gpus(4))
    assert isinstance(decision, Waits)
    assert decision.message == "3/2 tasks in gang unschedulable: pod group is not ready, 2 Pending, 3 minAvailable"
    assert decision.enqueued


def test_gated_members_and_those_on_their_way_out_do_not_count() -> None:
    pods = [*members(1), a_pod("g", schedulingGates=[{"name": "x"}]), a_pod("d", deleted="2026-01-01T00:00:00Z")]
    decision = plan(a_gang(pods, 2), gpus(4))
    assert isinstance(decision, Waits)
    assert "1 Releasing, 2 Pending, 2 minAvailable" in decision.message


def test_more_than_the_least_number_come_one_by_one() -> None:
    decision = plan(a_gang(members(4), 2), gpus(3))
    assert isinstance(decision, Placed)
    assert len(decision.nodes) == 3
    assert len(decision.left_out) == 1


def test_members_that_run_count() -> None:
    snapshot = gpus(2)
    pods = members(3)
    snapshot.add(pods[0], "a")
    decision = plan(a_gang(pods, 2), snapshot)
    assert isinstance(decision, Placed)
    assert [pod.key.name for pod, _ in decision.nodes] == ["m1"]


def test_members_of_other_schedulers_are_left_to_them() -> None:
    pods = [*members(1), a_pod("foreign", schedulerName="another")]
    assert isinstance(plan(a_gang(pods, 2, schedulers=frozenset({"default-scheduler"})), gpus(4)), Waits)


def test_members_that_succeeded_count_and_failed_ones_do_not() -> None:
    done = a_pod("done", status={"phase": "Succeeded"})
    failed = a_pod("failed", status={"phase": "Failed"})
    assert isinstance(plan(a_gang([done, *members(1)], 2), gpus(1)), Placed)
    assert isinstance(plan(a_gang([failed, *members(1)], 2), gpus(1)), Waits)


def test_large_members_are_not_kept_out_by_small_ones() -> None:
    pods = [*members(2, 1, "small"), *members(1, 2, "large")]
    decision = plan(a_gang(pods, 3), gpus(2, 2))
    assert isinstance(decision, Placed)


def test_small_members_are_packed_when_spreading_them_leaves_no_room() -> None:
    pods = [*members(2, 2, "two", priority=1), *members(2, 4, "four")]
    assert isinstance(plan(a_gang(pods, 4), gpus(4, 4, 4)), Placed)


# ----------------------------------------------------------------------------------------------------------- queues


def capped(cap: Amounts, used: Amounts | None = None) -> Queue:
    return Queue("team", 1, cap, used or {})


def test_a_queue_at_its_capability_keeps_the_gang_back() -> None:
    decision = plan(a_gang(members(2), 2, queue=capped({GPU: 3}, {GPU: 2})), gpus(8))
    assert isinstance(decision, Waits)
    assert decision.message.endswith(f'; queue "team" is at its capability: {GPU}')
    assert not decision.enqueued


def test_a_queues_capability_also_caps_the_members_beyond_the_least_number() -> None:
    decision = plan(a_gang(members(4), 2, queue=capped({GPU: 3})), gpus(8))
    assert isinstance(decision, Placed)
    assert len(decision.nodes) == 3


def test_a_queue_that_does_not_exist() -> None:
    decision = plan(a_gang(members(1), 1, queue=Queue("none", exists=False)), gpus(8))
    assert isinstance(decision, Waits)
    assert decision.message.endswith('; queue "none" not found')


def test_resources_wanted_at_least() -> None:
    assert isinstance(plan(a_gang(members(1), 1, wanted={GPU: 2, "cpu": 10**9, "count/pods": 1}), gpus(2)), Placed)
    decision = plan(a_gang(members(1), 1, wanted={GPU: 3}), gpus(2))
    assert isinstance(decision, Waits)
    assert decision.message.endswith(f"; not enough for minResources: {GPU}")


# ------------------------------------------------------------------------------------------------------ making room


def crowded(*lesser: Pod, size: int = 4) -> Snapshot:
    snapshot = gpus(size)
    for pod in lesser:
        snapshot.add(pod, "a")
    return snapshot


def test_room_is_made_for_a_whole_gang_and_no_more_than_it_takes() -> None:
    lesser = [a_pod(f"low{number}", {GPU: "1"}, priority=number) for number in range(4)]
    decision = plan(a_gang(members(2, priority=100), 2, 100), crowded(*lesser))
    assert isinstance(decision, MakeRoom)
    assert [victim.key.name for victim in decision.victims] == ["low1", "low0"]
    assert [node for _, node in decision.nodes] == ["a", "a"]


def test_free_nodes_are_used_before_anybody_has_to_go() -> None:
    snapshot = gpus(4, 4)
    for number in range(4):
        snapshot.add(a_pod(f"low{number}", {GPU: "1"}), "b")
    decision = plan(a_gang(members(6, priority=100), 6, 100), snapshot)
    assert isinstance(decision, MakeRoom)
    assert len(decision.victims) == 2


def test_a_group_may_be_more_important_than_its_pods() -> None:
    decision = plan(a_gang(members(2), 2, 100), crowded(a_pod("low", {GPU: "4"}, priority=50)))
    assert isinstance(decision, MakeRoom)


def test_a_victim_that_is_not_needed_after_all_stays() -> None:
    """For the first member `small` would do, for the second `large` must go; then there is room for both."""
    small, large = a_pod("small", {GPU: "1"}, priority=1), a_pod("large", {GPU: "3"}, priority=2)
    decision = plan(a_gang(members(2, priority=100), 2, 100), crowded(small, large))
    assert isinstance(decision, MakeRoom)
    assert [victim.key.name for victim in decision.victims] == ["large"]


def test_nobody_goes_when_the_whole_gang_would_still_not_fit() -> None:
    equal = a_pod("equal", {GPU: "3"}, priority=100)
    decision = plan(a_gang(members(2, priority=100), 2, 100), crowded(equal, a_pod("low", {GPU: "1"})))
    assert isinstance(decision, Waits)


def test_a_gang_that_may_not_preempt() -> None:
    pods = members(2, priority=100, preemptionPolicy="Never")
    assert isinstance(plan(a_gang(pods, 2, 100), crowded(a_pod("low", {GPU: "4"}))), Waits)


def test_resources_wanted_at_least_may_be_those_of_victims() -> None:
    decision = plan(a_gang(members(2, priority=100), 2, 100, wanted={GPU: 2}), crowded(a_pod("low", {GPU: "4"})))
    assert isinstance(decision, MakeRoom)
    decision = plan(a_gang(members(2, priority=100), 2, 100, wanted={GPU: 5}), crowded(a_pod("low", {GPU: "4"})))
    assert isinstance(decision, Waits)
    assert not decision.enqueued


def test_nobody_goes_for_resources_that_no_member_asks_for() -> None:
    decision = plan(a_gang(members(1, priority=100), 1, 100, wanted={GPU: 4}), crowded(a_pod("low", {GPU: "2"})))
    assert isinstance(decision, Waits)
    assert decision.message.endswith(f"; not enough for minResources: {GPU}")


def test_protected_victims_are_spared_if_others_will_do() -> None:
    kept = a_pod("kept", {GPU: "2"}, labels={"app": "kept"}, priority=1)
    other = a_pod("other", {GPU: "2"}, priority=50)
    snapshot = crowded(kept, other)
    snapshot.budgets[Key("default", "budget")] = a_budget({"app": "kept"}, 0)
    decision = plan(a_gang(members(2, priority=100), 2, 100), snapshot)
    assert isinstance(decision, MakeRoom)
    assert [victim.key.name for victim in decision.victims] == ["other"]


def test_room_is_made_once() -> None:
    leaving = a_pod(
        "low",
        {GPU: "4"},
        deleted="2026-01-01T00:00:00Z",
        status={"conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]},
    )
    pods = members(2, priority=100, status={"nominatedNodeName": "a"})
    assert isinstance(plan(a_gang(pods, 2, 100), crowded(leaving, a_pod("other"))), Waits)


# ------------------------------------------------------------------------------------------------------- properties

sizes = st.lists(st.integers(1, 3), min_size=1, max_size=5)
gang_shapes = st.lists(st.tuples(sizes, st.integers(0, 5), st.integers(0, 2)), min_size=1, max_size=5)
capacities = st.lists(st.integers(0, 6), min_size=1, max_size=4)


def made(shapes: list[tuple[list[int], int, int]]) -> list[Gang]:
    gangs = []
    for number, (each, least, priority) in enumerate(shapes):
        pods = [a_pod(f"g{number}-{index}", {GPU: f"{size}"}, priority=priority) for index, size in enumerate(each)]
        gangs.append(a_gang(pods, least, priority, name=f"g{number}"))
    return gangs


def within_bounds(snapshot: Snapshot) -> bool:
    return all(state.free(GPU) >= 0 for state in snapshot.nodes)


@given(gang_shapes, capacities)
def test_no_gang_is_ever_begun_in_part(shapes: Any, capacity: Any) -> None:
    snapshot = gpus(*capacity)
    gangs = made(shapes)
    for _ in range(2):
        for gang in gangs:
            decision = plan(gang, snapshot)
            if isinstance(decision, Placed):
                begin(decision, snapshot)
            holding = gang.holding(snapshot)
            assert holding == 0 or holding >= gang.least
            assert within_bounds(snapshot)


@given(gang_shapes, capacities)
def test_room_is_only_made_when_it_helps(shapes: Any, capacity: Any) -> None:
    snapshot = gpus(*capacity)
    for gang in made(shapes):
        decision = plan(gang, snapshot)
        if isinstance(decision, MakeRoom):
            assert all(victim.priority < gang.priority for victim in decision.victims)
            for victim in decision.victims:
                snapshot.remove(victim)
            promised = {pod.uid: node for pod, node in decision.nodes}
            pods = [replace(pod, nominated=promised.get(pod.uid, "")) for pod in gang.members]
            decision = plan(replace(gang, members=pods), snapshot)
            assert isinstance(decision, Placed)
            assert dict(decision.nodes) == dict(decision.nodes) | {
                pod: promised[pod.uid] for pod in pods if pod.uid in promised
            }
        if isinstance(decision, Placed):
            begin(decision, snapshot)
        assert within_bounds(snapshot)


@given(sizes, capacities)
def test_looking_changes_nothing(each: list[int], capacity: list[int]) -> None:
    snapshot = gpus(*capacity)
    [gang] = made([(each, len(each), 1)])
    plan(gang, snapshot)
    assert all(not state.pods for state in snapshot.nodes)
    assert gang.queue is ANY_QUEUE
