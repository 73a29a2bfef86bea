# SPDX-License-Identifier: Apache-2.0
"""How long a pod may stay."""

from __future__ import annotations

import pytest
from tests.unit.local.controller_manager.nodes.node_objects import a_node, a_taint

from springtide.kube.resources import Obj
from springtide.local.controller_manager.nodes.tolerations import FOREVER, evicting_taints, stay, tolerates
from springtide.local.controller_manager.views import Toleration

TAINT = a_taint("k", "NoExecute", value="v")
OTHER = a_taint("x", "NoExecute")


def test_only_taints_that_drive_away_count() -> None:
    assert evicting_taints(a_node("True", TAINT, a_taint("k", "NoSchedule"))) == [TAINT]
    assert evicting_taints(None) == []


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        (Toleration(key="k", value="v"), True),
        (Toleration(key="k", operator="Equal", value="v", effect="NoExecute"), True),
        (Toleration(key="k", value="w"), False),
        (Toleration(key="k", operator="Exists"), True),
        (Toleration(operator="Exists"), True),
        (Toleration(key="x", operator="Exists"), False),
        (Toleration(key="k", operator="Exists", effect="NoSchedule"), False),
        (Toleration(key="k", operator="Gt", value="1"), False),
    ],
)
def test_tolerates(toleration: Toleration, expected: bool) -> None:
    assert tolerates(toleration, TAINT) is expected


def exists(key: str, seconds: int | None = None) -> Toleration:
    return Toleration(key=key, operator="Exists", toleration_seconds=seconds)


@pytest.mark.parametrize(
    ("taints", "tolerations", "expected"),
    [
        pytest.param([], [], FOREVER, id="no taint"),
        pytest.param([TAINT], [], 0, id="not tolerated"),
        pytest.param([TAINT, OTHER], [exists("k")], 0, id="one of two not tolerated"),
        pytest.param([TAINT], [exists("k")], FOREVER, id="without limit"),
        pytest.param([TAINT], [exists("k", 300)], 300, id="for a while"),
        pytest.param([TAINT, OTHER], [exists("k", 300), exists("x", 20)], 20, id="the shortest counts"),
        pytest.param([TAINT], [exists("k", -5)], 0, id="negative is none"),
        pytest.param([TAINT], [exists("k", 9), exists("k")], 9, id="the first that fits counts"),
    ],
)
def test_stay(taints: list[Obj], tolerations: list[Toleration], expected: float) -> None:
    assert stay(taints, tolerations) == expected
