# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from springtide.controllers.leaving import leaving, reclaims, silent
from springtide.controllers.views import Metadata, NodeSpec, NodeView, Taint


def a_node(*taints: str, annotations: dict[str, str] | None = None, **spec: Any) -> NodeView:
    metadata = Metadata(name="a", annotations=annotations or {})
    return NodeView(metadata, NodeSpec(taints=tuple(Taint(key) for key in taints), **spec))


@pytest.mark.parametrize(
    "node",
    [
        a_node(unschedulable=True),
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


@pytest.mark.parametrize("node", [a_node(), a_node("nvidia.com/gpu"), a_node("node.kubernetes.io/not-ready")])
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
