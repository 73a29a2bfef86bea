# SPDX-License-Identifier: Apache-2.0
"""The taints of a node by its conditions: they control scheduling and eviction.

Keys, effects and their order are those of kube-controller-manager. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import Enum

from springtide.kube.resources import Obj
from springtide.local.controller_manager import conditions
from springtide.local.controller_manager.timestamps import stamp

NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"

_BY_CONDITION = {
    ("Ready", "False"): NOT_READY,
    ("Ready", "Unknown"): UNREACHABLE,
    ("MemoryPressure", "True"): "node.kubernetes.io/memory-pressure",
    ("DiskPressure", "True"): "node.kubernetes.io/disk-pressure",
    ("NetworkUnavailable", "True"): "node.kubernetes.io/network-unavailable",
    ("PIDPressure", "True"): "node.kubernetes.io/pid-pressure",
}
_OURS = {*_BY_CONDITION.values(), UNSCHEDULABLE}
_OPPOSITE = {NOT_READY: UNREACHABLE, UNREACHABLE: NOT_READY}


class Disruption(Enum):
    """If too many nodes are unhealthy, the watcher is more likely at fault, and evictions would do harm."""

    NONE = "none"
    PARTIAL = "partial"
    """More than two nodes and at least 55 % of them: no further pods are evicted."""
    FULL = "full"
    """All nodes: no pods are evicted."""


def disruption(readiness: Iterable[bool]) -> Disruption:
    """From the readiness of every node. The cluster counts as one zone, and as a small one."""
    known = list(readiness)
    troubled = known.count(False)
    if troubled and troubled == len(known):
        return Disruption.FULL
    if troubled > 2 and troubled / len(known) >= 0.55:
        return Disruption.PARTIAL
    return Disruption.NONE


def wanted_taints(node: Obj, statuses: Sequence[Obj], trouble: Disruption, now: datetime) -> list[Obj]:
    """The complete list of taints for a node with these conditions; its other taints are kept."""
    spec = node.get("spec") or {}
    ready = conditions.find(statuses, "Ready")
    wanted = [_BY_CONDITION.get((condition["type"], condition["status"])) for condition in statuses]
    if ready is None:
        wanted.append(NOT_READY)  # created with this taint, which stays until the conditions are reported
    if spec.get("unschedulable"):
        wanted.append(UNSCHEDULABLE)
    present = list(spec.get("taints") or ())
    kept = _swapped(present, _OURS, [key for key in wanted if key], "NoSchedule", now)
    return _swapped(kept, set(_OPPOSITE), _evicting(present, ready, trouble), "NoExecute", now)


def _evicting(present: Sequence[Obj], ready: Obj | None, trouble: Disruption) -> list[str]:
    """The keys of the NoExecute taints."""
    held = [taint["key"] for taint in present if taint["effect"] == "NoExecute" and taint["key"] in _OPPOSITE]
    if ready is None:
        return held
    key = _BY_CONDITION.get(("Ready", ready["status"]))
    if key is None or trouble is Disruption.FULL:
        return []
    return [key] if trouble is Disruption.NONE or held else []


def _swapped(present: Sequence[Obj], ours: set[str], wanted: Sequence[str], effect: str, now: datetime) -> list[Obj]:
    """The taints, with those of this controller replaced by the wanted ones."""
    kept = [
        taint for taint in present if taint["effect"] != effect or taint["key"] not in ours or taint["key"] in wanted
    ]
    there = {taint["key"] for taint in kept if taint["effect"] == effect}
    added = [{"key": key, "effect": effect, "timeAdded": stamp(now)} for key in wanted if key not in there]
    return [*kept, *added]
