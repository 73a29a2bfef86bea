# SPDX-License-Identifier: Apache-2.0
"""What is written about a node that is heard or not. Words were read off kube-controller-manager."""

from __future__ import annotations

import pytest
from tests.unit.local.controller_manager.nodes.node_objects import EARLIER, NOW, STAMP, a_node, a_taint

from springtide.local.controller_manager.nodes.health import NodePlan, plan
from springtide.local.controller_manager.nodes.taints import Disruption

UNREACHABLE = "node.kubernetes.io/unreachable"


def test_a_node_that_is_heard_and_well_is_left_alone() -> None:
    assert plan(a_node("True"), False, Disruption.NONE, NOW) == NodePlan()


def test_a_silent_node_is_unknown_in_all_that_it_reported() -> None:
    decided = plan(a_node("True"), True, Disruption.NONE, NOW)
    assert decided.lost
    assert decided.pods_unready
    assert decided.conditions is not None
    stopped = {
        "status": "Unknown",
        "lastHeartbeatTime": EARLIER,
        "lastTransitionTime": STAMP,
        "reason": "NodeStatusUnknown",
        "message": "Kubelet stopped posting node status.",
    }
    never = stopped | {"reason": "NodeStatusNeverUpdated", "message": "Kubelet never posted node status."}
    assert decided.conditions == [
        {"type": "MemoryPressure", **stopped},
        {"type": "Ready", **stopped},
        {"type": "DiskPressure", **never},
        {"type": "PIDPressure", **never},
    ]
    assert decided.taints == [
        a_taint(UNREACHABLE, "NoSchedule", timeAdded=STAMP),
        a_taint(UNREACHABLE, "NoExecute", timeAdded=STAMP),
    ]


def test_a_node_that_never_spoke_is_unknown_but_was_never_lost() -> None:
    decided = plan(a_node(""), True, Disruption.NONE, NOW)
    assert not decided.lost
    assert [condition["type"] for condition in decided.conditions or ()] == [
        "Ready",
        "MemoryPressure",
        "DiskPressure",
        "PIDPressure",
    ]


def test_what_is_known_is_not_written_again() -> None:
    node = a_node("True")
    first = plan(node, True, Disruption.NONE, NOW)
    node["status"]["conditions"], node["spec"]["taints"] = first.conditions, first.taints
    assert plan(node, True, Disruption.NONE, NOW) == NodePlan(pods_unready=True)


@pytest.mark.parametrize("ready", ["False", "Unknown"])
def test_a_node_that_is_heard_speaks_for_itself_and_its_pods(ready: str) -> None:
    decided = plan(a_node(ready), False, Disruption.NONE, NOW)
    assert decided.conditions is None
    assert not decided.lost
    assert not decided.pods_unready
