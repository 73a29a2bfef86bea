# SPDX-License-Identifier: Apache-2.0
"""Keeps pods off nodes with taints of effect NoSchedule or NoExecute that they do not tolerate."""

from __future__ import annotations

from typing import Final

from springtide.local.scheduler.filters.refusal import Check, Refusal, never
from springtide.local.scheduler.state.nodes import Node, NodeState
from springtide.local.scheduler.state.pods import Pod
from springtide.local.scheduler.state.snapshot import Snapshot

TAINTED: Final = never("node(s) had untolerated taint(s)")
_FORBIDDING: Final = ("NoSchedule", "NoExecute")


def keeps_off(node: Node, pod: Pod) -> bool:
    return any(taint.effect in _FORBIDDING and not pod.tolerations.tolerate(taint) for taint in node.taints)


def check(pod: Pod, _snapshot: Snapshot) -> Check:
    def on_node(state: NodeState) -> Refusal | None:
        return TAINTED if state.node.taints and keeps_off(state.node, pod) else None

    return on_node
