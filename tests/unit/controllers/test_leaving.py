# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from springtide.controllers.leaving import evicted_by_taints, facts, leaving, reclaims, silent
from springtide.controllers.views import Metadata, NodeSpec, NodeView, Taint


def a_node(*taints: str, annotations: dict[str, str] | None = None, **spec: Any) -> NodeView:
    metadata = Metadata(name="a", annotations=annotations or {})
    return NodeView(metadata, NodeSpec(taints=tuple(Taint(key) for key in taints), **spec))


@pytest.mark.parametrize(
    "node",
    [
        a_node(unschedulable=True, annotations={"springtide.dev/drain": "2026-11-16T08:00:00Z"}),
        a_node("springtide.dev/reclaim"),
        a_node("ToBeDeletedByClusterAutoscaler"),
        a_node("karpenter.sh/disrupted"),
        a_node("aws-node-termination-handler/spot-itn"),
        a_node(annotations={"springtide.dev/reclaim-at": "2026-11-16T08:00:00Z"}),
        a_node(annotations={"springtide.dev/reclaim-at": "soon"}),
    ],
)
def test_a_node_leaves_whoever_says_so(node: NodeView) -> None:
    assert leaving([node]) == {"a"}


@pytest.mark.parametrize(
    "node",
    [
        a_node(),
        a_node(unschedulable=True),
        a_node(annotations={"springtide.dev/drain": "2026-11-16T08:00:00Z"}),
        a_node("nvidia.com/gpu"),
        a_node("node.kubernetes.io/not-ready"),
    ],
)
def test_others_stay(node: NodeView) -> None:
    assert leaving([node]) == frozenset()


def test_silence_is_no_leave() -> None:
    node = a_node("node.kubernetes.io/unreachable")
    assert silent([node]) == {"a"}
    assert leaving([node]) == frozenset()


@pytest.mark.parametrize(
    ("said", "at"),
    [
        ("2026-11-16T08:00:00Z", datetime(2026, 11, 16, 8, tzinfo=UTC)),
        ("2026-11-16T08:00:00", None),
        ("soon", None),
    ],
)
def test_when_it_goes_is_known_only_if_it_is_said_clearly(said: str, at: datetime | None) -> None:
    found = reclaims([a_node(annotations={"springtide.dev/reclaim-at": said})])
    assert found == ({} if at is None else {"a": at})


# Taints that evict

ADDED = datetime(2026, 11, 16, 8, tzinfo=UTC)
TEAM = Taint("team", "vision", "NoExecute", ADDED)
EXISTS = {"key": "team", "operator": "Exists"}


def moved(*tolerations: Any, taints: tuple[Taint, ...] = (TEAM,)) -> dict[str, datetime | None]:
    node = NodeView(Metadata(name="a"), NodeSpec(taints=taints))
    return evicted_by_taints(facts([node]), tolerations)


@pytest.mark.parametrize(
    "toleration",
    [
        EXISTS,
        {"operator": "Exists"},
        {"key": "team", "value": "vision"},
        {"key": "team", "operator": "Equal", "value": "vision", "effect": "NoExecute"},
    ],
)
def test_who_tolerates_a_taint_stays(toleration: Any) -> None:
    assert moved(toleration) == {}


@pytest.mark.parametrize(
    "toleration",
    [
        {"key": "team", "value": "audio"},
        {**EXISTS, "effect": "NoSchedule"},
        {"key": "other", "operator": "Exists"},
        "odd",
        {},
    ],
)
def test_who_does_not_has_to_go(toleration: Any) -> None:
    assert moved(toleration) == {"a": None}
    assert moved() == {"a": None}


def test_who_tolerates_it_for_a_time_goes_when_that_is_over() -> None:
    assert moved({**EXISTS, "tolerationSeconds": 60}) == {"a": ADDED + timedelta(seconds=60)}
    assert moved({**EXISTS, "tolerationSeconds": -5}) == {"a": ADDED}
    assert moved(EXISTS, {**EXISTS, "tolerationSeconds": 60}) == {"a": ADDED + timedelta(seconds=60)}


@pytest.mark.parametrize(
    "taint",
    [
        Taint("team", "vision", "NoSchedule"),
        Taint("node.kubernetes.io/not-ready", "", "NoExecute"),
        Taint("node.kubernetes.io/unreachable", "", "NoExecute"),
    ],
)
def test_other_taints_evict_nobody_or_are_known_otherwise(taint: Taint) -> None:
    assert moved(taints=(taint,)) == {}
