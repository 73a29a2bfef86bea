# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from datetime import UTC, datetime

import pytest

from springtide.kube.resources import Obj
from springtide.local.supervisor.nodes.readiness import unready

START = datetime(2026, 1, 2, 3, 4, 5, 600_000, UTC)


def a_node(*conditions: Obj) -> Obj:
    return {"metadata": {"name": "a"}, "status": {"conditions": list(conditions)}}


def ready(status: str = "True", seen: str | None = "2026-01-02T03:04:05Z") -> Obj:
    return {"type": "Ready", "status": status} | ({"lastHeartbeatTime": seen} if seen else {})


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (a_node(ready()), []),
        (a_node({"type": "MemoryPressure", "status": "False"}, ready()), []),
        (a_node(ready(seen="2026-01-02T03:04:04Z")), ["a"]),
        (a_node(ready(seen=None)), ["a"]),
        (a_node(ready("False")), ["a"]),
        (a_node(ready("Unknown")), ["a"]),
        (a_node(), ["a"]),
        ({"metadata": {"name": "a"}}, ["a"]),
    ],
    ids=["now", "among others", "in an earlier life", "never", "not", "unknown", "no word", "just made"],
)
def test_a_node_is_ready_when_an_agent_of_this_start_says_so(node: Obj, expected: list[str]) -> None:
    assert unready([node], START) == expected
