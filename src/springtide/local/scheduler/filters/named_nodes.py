# SPDX-License-Identifier: Apache-2.0
"""Pods that name their nodes (as those of DaemonSets do): all other nodes are rejected before any other filter."""

from __future__ import annotations

from typing import Final

from springtide.local.scheduler.filters.refusal import Check, Refusal, never
from springtide.local.scheduler.state.nodes import NodeState
from springtide.local.scheduler.state.pods import Pod
from springtide.local.scheduler.state.snapshot import Snapshot

CONFLICT: Final = never("pod affinity terms conflict")
OTHER_NODE: Final = never("node(s) didn't satisfy plugin(s) [NodeAffinity]")


def check(pod: Pod, _snapshot: Snapshot) -> Check | Refusal | None:
    names = pod.wishes.nodes.names
    if names is None:
        return None
    if not names:
        return CONFLICT

    def on_node(state: NodeState) -> Refusal | None:
        return None if state.node.name in names else OTHER_NODE

    return on_node
