# SPDX-License-Identifier: Apache-2.0
"""What is done about a node of this machine."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from springtide.kube.resources import Obj
from springtide.local.supervisor.nodes.node_plans import (
    Agent,
    Announce,
    Assign,
    Plan,
    Reclaim,
    ReportProblem,
    Start,
    Stop,
    Withdraw,
    assignment,
    index_of,
    plan,
    pod_range,
    update,
    with_reclaim_taint,
    without_reclaim_taint,
)

NOW = datetime(2026, 11, 16, 12, 0, 0, tzinfo=UTC)
TAINT = {"key": "springtide.dev/reclaim", "effect": "NoSchedule"}
OTHER = {"key": "team", "value": "vision", "effect": "NoSchedule"}
AGENT = Agent("u1", 3)


def a_node(reclaim: str = "", index: int | None = 3, taints: list[Obj] | None = None) -> Obj:
    annotations = {"springtide.dev/reclaim-at": reclaim} if reclaim else {}
    node: Obj = {"metadata": {"name": "n", "uid": "u1", "annotations": annotations}, "spec": {"taints": taints or []}}
    if index is not None:
        node["metadata"]["annotations"] |= {"springtide.dev/node-index": str(index)}
        node["spec"]["podCIDR"] = f"10.244.{index}.0/24"
    return node


SOON, SOON_TEXT = NOW + timedelta(seconds=30), "2026-11-16T12:00:30Z"
PAST_TEXT = "2026-11-16T11:59:59Z"


@pytest.mark.parametrize(
    ("node", "agent", "taken", "expected"),
    [
        pytest.param(None, None, (), Plan(), id="nothing there"),
        pytest.param(None, AGENT, (), Plan((Stop(),)), id="deleted"),
        pytest.param(a_node(index=None), None, (1, 2), Plan((Assign(3),)), id="new: the first free number"),
        pytest.param(a_node(), None, (1, 2), Plan((Start(AGENT),)), id="numbered"),
        pytest.param(a_node(), AGENT, (), Plan(), id="running"),
        pytest.param(a_node(), Agent("u0", 3), (), Plan((Stop(),), 0.0), id="deleted and made anew"),
        pytest.param(a_node(SOON_TEXT), AGENT, (), Plan((Announce(SOON),), 30.0), id="notice given"),
        pytest.param(a_node(SOON_TEXT, taints=[TAINT]), AGENT, (), Plan((), 30.0), id="notice known"),
        pytest.param(a_node(SOON_TEXT, taints=[TAINT]), None, (), Plan((Start(AGENT),), 30.0), id="runs until then"),
        pytest.param(a_node(PAST_TEXT, taints=[TAINT]), AGENT, (), Plan((Reclaim(),)), id="time to go"),
        pytest.param(a_node(PAST_TEXT), None, (), Plan((Reclaim(),)), id="time to go, and never started again"),
        pytest.param(a_node("2026-11-16T12:00:30"), AGENT, (), Plan((Announce(SOON),), 30.0), id="no time zone: UTC"),
        pytest.param(a_node(taints=[OTHER, TAINT]), AGENT, (), Plan((Withdraw(),)), id="notice taken back"),
    ],
)
def test_plan(node: Obj | None, agent: Agent | None, taken: tuple[int, ...], expected: Plan) -> None:
    assert plan(node, agent, taken, NOW) == expected


def test_a_reclaim_time_that_is_none_is_complained_about_and_ignored() -> None:
    steps = plan(a_node("tomorrow"), None, (), NOW).steps
    assert [type(step) for step in steps] == [ReportProblem, Start]
    assert isinstance(steps[0], ReportProblem)
    assert "'tomorrow'" in steps[0].message


@pytest.mark.parametrize("node", [a_node(index=None), a_node(index=7)], ids=["no number left", "a number twice"])
def test_a_node_without_addresses_of_its_own_is_not_started(node: Obj) -> None:
    (step,) = plan(node, None, range(1, 255), NOW).steps
    assert isinstance(step, ReportProblem)
    assert step.reason == "CIDRNotAvailable"


@given(st.sets(st.integers(1, 254), max_size=254))
def test_numbers_are_never_given_twice_and_ranges_lie_in_the_pod_network(taken: set[int]) -> None:
    for step in plan(a_node(index=None), None, taken, NOW).steps:
        if isinstance(step, Assign):
            assert step.index not in taken
            assert index_of(assignment(step.index)) == step.index
            assert pod_range(step.index) == f"10.244.{step.index}.0/24"
        else:
            assert len(taken) == 254


def test_the_number_of_a_node_is_read_off_its_range_first() -> None:
    node = a_node(index=5)
    node["metadata"]["annotations"]["springtide.dev/node-index"] = "9"
    assert index_of(node) == 5
    assert index_of({"metadata": {"annotations": {"springtide.dev/node-index": "9"}}}) == 9
    assert index_of({"metadata": {"annotations": {"springtide.dev/node-index": "255"}}}) is None
    assert index_of({"metadata": {}}) is None


def test_the_reclaim_taint_leaves_others_alone() -> None:
    tainted = with_reclaim_taint(a_node(taints=[OTHER]))
    assert tainted == {"spec": {"taints": [OTHER, TAINT]}}
    assert without_reclaim_taint(a_node(taints=[OTHER, TAINT])) == {"spec": {"taints": [OTHER]}}


MARKS = ("springtide.dev/spot", "springtide.dev/capacity")


def described(labels: Obj | None = None, annotations: Obj | None = None, taints: list[Obj] | None = None) -> Obj:
    metadata = {"name": "n", "labels": labels or {}, "annotations": annotations or {}}
    return {"metadata": metadata, "spec": {"taints": taints or []}}


@pytest.mark.parametrize(
    ("existing", "wanted", "patch"),
    [
        pytest.param(described({"a": "1"}), described({"a": "1"}), {}, id="nothing new"),
        pytest.param(described({"mine": "1"}), described(), {}, id="what others set is left alone"),
        pytest.param(
            described({"springtide.dev/spot": "true"}),
            described({"a": "1"}),
            {"metadata": {"labels": {"a": "1", "springtide.dev/spot": None}}},
            id="no longer spot",
        ),
        pytest.param(
            described(annotations={"springtide.dev/capacity": "{}"}),
            described(annotations={"springtide.dev/capacity": '{"cpu":"1"}'}),
            {"metadata": {"annotations": {"springtide.dev/capacity": '{"cpu":"1"}'}}},
            id="another size",
        ),
        pytest.param(
            described(taints=[{"key": "team", "value": "speech", "effect": "NoSchedule"}, TAINT]),
            described(taints=[OTHER]),
            {"spec": {"taints": [OTHER, TAINT]}},
            id="another taint value",
        ),
    ],
)
def test_how_an_existing_node_is_brought_up_to_date(existing: Obj, wanted: Obj, patch: Obj) -> None:
    assert update(existing, wanted, MARKS) == patch
