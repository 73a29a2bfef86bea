# SPDX-License-Identifier: Apache-2.0
"""What to write about a node by its heartbeats: decided here from plain data, written by `lifecycle`.

Reasons and messages are those of kube-controller-manager.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from springtide.kube.resources import Obj
from springtide.local.controller_manager import conditions
from springtide.local.controller_manager.nodes.taints import Disruption, wanted_taints
from springtide.local.controller_manager.timestamps import stamp

REPORTED = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
"""The conditions that a node reports itself; they become unknown when the node is silent."""


@dataclass(frozen=True, slots=True)
class NodePlan:
    conditions: list[Obj] | None = None
    """The conditions to write; None when they are correct."""
    taints: list[Obj] | None = None
    lost: bool = False
    """Whether the node was ready until now."""
    pods_unready: bool = False
    """Whether the status of its pods is stale, too."""


def plan(node: Obj, silent: bool, trouble: Disruption, now: datetime) -> NodePlan:
    present = conditions_of(node)
    after = _unknown(node, present, now) if silent else list(present)
    taints = wanted_taints(node, after, trouble, now)
    unknown = has_status(after, "Unknown")
    return NodePlan(
        conditions=after if after != list(present) else None,
        taints=taints if taints != list((node.get("spec") or {}).get("taints") or ()) else None,
        lost=silent and is_ready(node) and unknown,
        pods_unready=silent and unknown,
    )


def conditions_of(node: Obj) -> Sequence[Obj]:
    return (node.get("status") or {}).get("conditions") or ()


def is_new(node: Obj) -> bool:
    """Whether the node has never reported its conditions."""
    return conditions.find(conditions_of(node), "Ready") is None


def is_ready(node: Obj) -> bool:
    return has_status(conditions_of(node), "True")


def has_status(statuses: Sequence[Obj], status: str) -> bool:
    ready = conditions.find(statuses, "Ready")
    return ready is not None and ready["status"] == status


def _unknown(node: Obj, present: Sequence[Obj], now: datetime) -> list[Obj]:
    news = {"status": "Unknown", "reason": "NodeStatusUnknown", "message": "Kubelet stopped posting node status."}
    after = [
        condition | news | {"lastTransitionTime": stamp(now)}
        if condition["type"] in REPORTED and condition["status"] != "Unknown"
        else condition
        for condition in present
    ]
    never = {
        "status": "Unknown",
        "lastHeartbeatTime": node["metadata"]["creationTimestamp"],
        "lastTransitionTime": stamp(now),
        "reason": "NodeStatusNeverUpdated",
        "message": "Kubelet never posted node status.",
    }
    missing = [kind for kind in REPORTED if conditions.find(present, kind) is None]
    return [*after, *({"type": kind} | never for kind in missing)]
