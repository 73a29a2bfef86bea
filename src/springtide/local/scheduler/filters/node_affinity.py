# SPDX-License-Identifier: Apache-2.0
"""The node selector and the required node affinity of a pod."""

from __future__ import annotations

from typing import Final

from springtide.local.scheduler.filters.refusal import Check, Refusal, never
from springtide.local.scheduler.state.nodes import NodeState
from springtide.local.scheduler.state.pods import ANYWHERE, Pod
from springtide.local.scheduler.state.snapshot import Snapshot

MISMATCH: Final = never("node(s) didn't match Pod's node affinity/selector")


def check(pod: Pod, _snapshot: Snapshot) -> Check | None:
    demand = pod.wishes.nodes
    if demand == ANYWHERE:
        return None

    def on_node(state: NodeState) -> Refusal | None:
        return None if demand.matches(state.node.name, state.node.labels) else MISMATCH

    return on_node
