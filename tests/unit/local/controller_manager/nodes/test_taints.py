# SPDX-License-Identifier: Apache-2.0
"""The taints of a node by its condition."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.local.controller_manager.nodes.node_objects import NOW, STAMP, a_condition, a_node, a_taint

from springtide.kube.resources import Obj
from springtide.local.controller_manager.nodes.taints import Disruption, disruption, wanted_taints

NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"
MINE = a_taint("team", "NoExecute", value="vision")
NEW = {"timeAdded": STAMP}


@pytest.mark.parametrize(
    ("node", "taints"),
    [
        pytest.param(a_node("True"), [], id="ready"),
        pytest.param(a_node("True", a_taint(NOT_READY, "NoSchedule")), [], id="ready for the first time"),
        pytest.param(
            a_node("", a_taint(NOT_READY, "NoSchedule")), [a_taint(NOT_READY, "NoSchedule")], id="nothing known yet"
        ),
        pytest.param(
            a_node("False", MINE),
            [MINE, a_taint(NOT_READY, "NoSchedule", **NEW), a_taint(NOT_READY, "NoExecute", **NEW)],
            id="not ready",
        ),
        pytest.param(
            a_node("Unknown"),
            [a_taint(UNREACHABLE, "NoSchedule", **NEW), a_taint(UNREACHABLE, "NoExecute", **NEW)],
            id="silent",
        ),
        pytest.param(
            a_node("Unknown", a_taint(NOT_READY, "NoSchedule"), a_taint(NOT_READY, "NoExecute")),
            [a_taint(UNREACHABLE, "NoSchedule", **NEW), a_taint(UNREACHABLE, "NoExecute", **NEW)],
            id="not ready, then silent",
        ),
        pytest.param(
            a_node("True", a_taint(UNREACHABLE, "NoSchedule"), MINE, a_taint(UNREACHABLE, "NoExecute")),
            [MINE],
            id="back again",
        ),
        pytest.param(
            a_node("True", unschedulable=True),
            [a_taint("node.kubernetes.io/unschedulable", "NoSchedule", **NEW)],
            id="cordoned",
        ),
        pytest.param(
            a_node("True", a_taint("node.kubernetes.io/unschedulable", "NoSchedule")), [], id="no longer cordoned"
        ),
    ],
)
def test_taints(node: Obj, taints: list[Obj]) -> None:
    found = wanted_taints(node, node["status"]["conditions"], Disruption.NONE, NOW)
    assert found == taints


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        ("MemoryPressure", "memory-pressure"),
        ("DiskPressure", "disk-pressure"),
        ("PIDPressure", "pid-pressure"),
        ("NetworkUnavailable", "network-unavailable"),
    ],
)
def test_pressure(kind: str, key: str) -> None:
    statuses = [a_condition("Ready", "True"), a_condition(kind, "True")]
    expected = [a_taint(f"node.kubernetes.io/{key}", "NoSchedule", **NEW)]
    assert wanted_taints(a_node(), statuses, Disruption.NONE, NOW) == expected


def test_when_all_are_in_trouble_nobody_is_driven_away() -> None:
    node = a_node("Unknown", a_taint(UNREACHABLE, "NoSchedule"), a_taint(UNREACHABLE, "NoExecute"))
    found = wanted_taints(node, node["status"]["conditions"], Disruption.FULL, NOW)
    assert found == [a_taint(UNREACHABLE, "NoSchedule")]


def test_when_most_are_in_trouble_nobody_else_is_driven_away() -> None:
    fresh = a_node("Unknown", a_taint(UNREACHABLE, "NoSchedule"))
    assert wanted_taints(fresh, fresh["status"]["conditions"], Disruption.PARTIAL, NOW) == fresh["spec"]["taints"]
    held = a_node("Unknown", a_taint(UNREACHABLE, "NoSchedule"), a_taint(UNREACHABLE, "NoExecute"))
    assert wanted_taints(held, held["status"]["conditions"], Disruption.PARTIAL, NOW) == held["spec"]["taints"]


@pytest.mark.parametrize(
    ("readiness", "expected"),
    [
        ([], Disruption.NONE),
        ([True], Disruption.NONE),
        ([False], Disruption.FULL),
        ([False, False], Disruption.FULL),
        ([True, False], Disruption.NONE),
        ([True, False, False], Disruption.NONE),
        ([True, False, False, False], Disruption.PARTIAL),
        ([True] * 3 + [False] * 3, Disruption.NONE),
    ],
)
def test_disruption(readiness: list[bool], expected: Disruption) -> None:
    assert disruption(readiness) is expected


KEYS = st.sampled_from([NOT_READY, UNREACHABLE, "node.kubernetes.io/unschedulable", "team"])
TAINTS = st.lists(
    st.builds(a_taint, KEYS, st.sampled_from(["NoSchedule", "NoExecute"])),
    max_size=6,
    unique_by=lambda taint: (taint["key"], taint["effect"]),
)


@given(TAINTS, st.sampled_from(["True", "False", "Unknown", ""]), st.booleans(), st.sampled_from(list(Disruption)))
def test_taints_settle_at_once_and_strangers_stay(
    taints: list[Obj], ready: str, cordoned: bool, trouble: Disruption
) -> None:
    node = a_node(ready, *taints, unschedulable=cordoned)
    statuses = node["status"]["conditions"]
    once = wanted_taints(node, statuses, trouble, NOW)
    node["spec"]["taints"] = once
    assert wanted_taints(node, statuses, trouble, NOW) == once
    assert [taint for taint in taints if taint["key"] == "team"] == [taint for taint in once if taint["key"] == "team"]
    driving = {taint["key"] for taint in once if taint["effect"] == "NoExecute"} - {"team"}
    if ready:
        assert not driving & ({UNREACHABLE} if ready == "False" else {NOT_READY})
    if ready == "True":
        assert not driving & {NOT_READY, UNREACHABLE}
