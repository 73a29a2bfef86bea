# SPDX-License-Identifier: Apache-2.0
"""Host ports: at most one pod for each port of a node."""

from __future__ import annotations

from typing import Final

from springtide.local.scheduler.filters.refusal import Check, Refusal, not_now
from springtide.local.scheduler.state.nodes import NodeState
from springtide.local.scheduler.state.pods import Pod
from springtide.local.scheduler.state.snapshot import Snapshot

TAKEN: Final = not_now("node(s) didn't have free ports for the requested pod ports")


def check(pod: Pod, _snapshot: Snapshot) -> Check | None:
    if not pod.ports:
        return None

    def on_node(state: NodeState) -> Refusal | None:
        return TAKEN if any(map(state.has_taken, pod.ports)) else None

    return on_node
