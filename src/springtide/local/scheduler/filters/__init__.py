# SPDX-License-Identifier: Apache-2.0
"""The filters a node must pass: one module for each plugin of kube-scheduler, in its order.

The order is visible to users: a node is rejected for the first reason only.
"""

from __future__ import annotations

from typing import Final

from springtide.local.scheduler.filters import (
    cordons,
    named_nodes,
    node_affinity,
    other_pods,
    ports,
    resources,
    spreading,
    taints,
    volumes,
)
from springtide.local.scheduler.filters.refusal import Check, Filter, Refusal
from springtide.local.scheduler.state.nodes import NodeState
from springtide.local.scheduler.state.pods import Pod
from springtide.local.scheduler.state.snapshot import Snapshot

FILTERS: Final[tuple[Filter, ...]] = (
    named_nodes.check,
    cordons.check,
    taints.check,
    node_affinity.check,
    ports.check,
    resources.check,
    volumes.check,
    spreading.check,
    other_pods.check,
)


def checks(pod: Pod, snapshot: Snapshot) -> list[Check] | Refusal:
    """All checks for this pod in the current snapshot; they are invalid once pods were added or removed."""
    found: list[Check] = []
    for prepare in FILTERS:
        check = prepare(pod, snapshot)
        if isinstance(check, Refusal):
            return check
        if check is not None:
            found.append(check)
    return found


def first_refusal(checked: list[Check], state: NodeState) -> Refusal | None:
    for check in checked:
        refusal = check(state)
        if refusal is not None:
            return refusal
    return None
