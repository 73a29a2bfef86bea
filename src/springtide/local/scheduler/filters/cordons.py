# SPDX-License-Identifier: Apache-2.0
"""Keeps pods off cordoned nodes unless they tolerate the taint."""

from __future__ import annotations

from typing import Final

from springtide.local.scheduler.filters.refusal import Check, Refusal, never
from springtide.local.scheduler.state.nodes import NodeState
from springtide.local.scheduler.state.pods import Pod
from springtide.local.scheduler.state.snapshot import Snapshot
from springtide.local.scheduler.state.views import Taint

CORDONED: Final = never("node(s) were unschedulable")
_TAINT: Final = Taint("node.kubernetes.io/unschedulable", "NoSchedule")


def check(pod: Pod, _snapshot: Snapshot) -> Check | None:
    if pod.tolerations.tolerate(_TAINT):
        return None

    def on_node(state: NodeState) -> Refusal | None:
        return CORDONED if state.node.unschedulable else None

    return on_node
