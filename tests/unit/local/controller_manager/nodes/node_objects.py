# SPDX-License-Identifier: Apache-2.0
"""Nodes and pods as the controllers of nodes see them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from springtide.kube.resources import Obj
from springtide.local.controller_manager.views import Metadata, PodView, Spec, Status

NOW = datetime(2026, 11, 16, 12, 0, 0, tzinfo=UTC)
STAMP = "2026-11-16T12:00:00Z"
EARLIER = "2026-11-16T11:00:00Z"


def a_condition(kind: str, status: str, reason: str = "R", message: str = "m") -> Obj:
    times = {"lastHeartbeatTime": EARLIER, "lastTransitionTime": EARLIER}
    return {"type": kind, "status": status, "reason": reason, "message": message, **times}


def a_taint(key: str, effect: str, **more: str) -> Obj:
    return {"key": key, "effect": effect, **more}


def a_node(ready: str = "True", *taints: Obj, **spec: Any) -> Obj:
    conditions = [a_condition("MemoryPressure", "False"), a_condition("Ready", ready)] if ready else []
    return {
        "metadata": {"name": "n", "uid": "u", "creationTimestamp": EARLIER},
        "spec": {"taints": list(taints), **spec},
        "status": {"conditions": conditions},
    }


def a_pod(name: str = "p", node: str = "n", phase: str = "Running", reason: str = "", **metadata: Any) -> PodView:
    return PodView(
        Metadata(name, namespace="ns", uid=f"uid-{name}", **metadata),
        Spec(node_name=node),
        Status(phase=phase, reason=reason),
    )
