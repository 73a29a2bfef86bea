# SPDX-License-Identifier: Apache-2.0
"""Resource fit: cpu and memory only with strict resources, all others always."""

from __future__ import annotations

from typing import Final

from springtide.local.scheduler.filters.refusal import Check, Refusal
from springtide.local.scheduler.state.amounts import ADVISORY, Amounts
from springtide.local.scheduler.state.nodes import NodeState
from springtide.local.scheduler.state.pods import Pod
from springtide.local.scheduler.state.snapshot import Snapshot

_MOST_REASONS: Final = 50
"""A pod may request tens of thousands of resources, and each reason becomes part of a message."""


def counted(requests: Amounts, strict: bool) -> Amounts:
    """The part of a request that the filter checks."""
    return {name: amount for name, amount in requests.items() if amount and (strict or name not in ADVISORY)}


def check(pod: Pod, snapshot: Snapshot) -> Check:
    wanted = counted(pod.requests, snapshot.strict_resources)

    def on_node(state: NodeState) -> Refusal | None:
        allocatable, used = state.node.allocatable, state.used
        reasons: list[str] = []
        hopeless = False
        if len(state.pods) + 1 > allocatable.get("pods", 0):
            reasons.append("Too many pods")
        for name, amount in wanted.items():
            there = allocatable.get(name, 0)
            if len(reasons) >= _MOST_REASONS and hopeless:
                break
            if amount > there - used.get(name, 0):
                reasons.append(f"Insufficient {name}")
                hopeless = hopeless or amount > there
        return Refusal(tuple(reasons), curable=not hopeless) if reasons else None

    return on_node
