# SPDX-License-Identifier: Apache-2.0
"""Sums stay true whatever comes and goes, and what was only tried is taken back."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.local.scheduler.things import a_node, a_pod, a_snapshot, company

from springtide.local.scheduler.state import amounts
from springtide.local.scheduler.state.pods import Pod
from springtide.local.scheduler.state.snapshot import Snapshot

NODES = ("a", "b", "gone")
PODS = [
    a_pod(f"p{number}", {"cpu": f"{number}", "memory": "1Gi"}, ports=[{"hostPort": 80 + number}], **more)
    for number, more in enumerate(({}, {"affinity": company("podAntiAffinity", "x")}, {}, {}, {}))
]


def shown(snapshot: Snapshot) -> Any:
    """All that filters and scores can see."""
    return (
        [
            (
                state.node.name,
                sorted(state.pods),
                {name: each for name, each in state.used.items() if each},
                {name: each for name, each in state.usual.items() if each},
                sorted(state.ports),
            )
            for state in snapshot.nodes
        ],
        snapshot.any_anti_affinity,
        {pod.uid: snapshot.where(pod.uid) for pod in PODS},
    )


def toggle(snapshot: Snapshot, pod: Pod, node: str) -> None:
    if snapshot.where(pod.uid):
        snapshot.remove(pod)
    else:
        snapshot.add(pod, node)


steps = st.lists(st.tuples(st.sampled_from(PODS), st.sampled_from(NODES)), max_size=12)


@given(steps, steps, steps)
def test_what_was_tried_is_undone(real: Any, tried: Any, deeper: Any) -> None:
    snapshot = a_snapshot(a_node("a"), a_node("b"))
    for step in real:
        toggle(snapshot, *step)
    before = shown(snapshot)
    with snapshot.trying():
        for step in tried:
            toggle(snapshot, *step)
        between = shown(snapshot)
        with snapshot.trying():
            for step in deeper:
                toggle(snapshot, *step)
        assert shown(snapshot) == between
    assert shown(snapshot) == before


@given(steps)
def test_sums_are_those_of_the_pods(done: Any) -> None:
    snapshot = a_snapshot(a_node("a"), a_node("b"))
    for step in done:
        toggle(snapshot, *step)
    for state in snapshot.nodes:
        used = {name: each for name, each in state.used.items() if each}
        total = amounts.summed(pod.requests for pod in state.pods.values())
        assert used == {name: each for name, each in total.items() if each}


def test_a_node_that_comes_back_finds_its_pods() -> None:
    pod = a_pod(wants={"cpu": "1"})
    snapshot = a_snapshot(pods={"late": [pod]})
    assert snapshot.nodes == []
    snapshot.put_node(a_node("late"))
    assert snapshot.nodes[0].used["cpu"] == 1000
    snapshot.drop_node("late")
    snapshot.remove(pod)
    snapshot.put_node(a_node("late"))
    assert snapshot.nodes[0].pods == {}


def test_a_heartbeat_is_no_change() -> None:
    snapshot = a_snapshot(a_node("a"))
    assert not snapshot.put_node(a_node("a"))
    assert snapshot.put_node(a_node("a", {"cpu": "5"}))


def test_a_changed_node_keeps_its_pods() -> None:
    pod = a_pod(wants={"cpu": "1"})
    snapshot = a_snapshot(a_node("a"), pods={"a": [pod]})
    snapshot.put_node(a_node("a", unschedulable=True))
    assert snapshot.nodes[0].used["cpu"] == 1000
    snapshot.remove(pod)
    assert snapshot.nodes[0].used["cpu"] == 0
