# SPDX-License-Identifier: Apache-2.0
"""Placement of one pod in a snapshot: the best node, or why there is none."""

from __future__ import annotations

from springtide.local.scheduler import filters, scores
from springtide.local.scheduler.filters.refusal import Check, Refusal
from springtide.local.scheduler.reasons import Unfit
from springtide.local.scheduler.scores import Taste
from springtide.local.scheduler.state.nodes import NodeState
from springtide.local.scheduler.state.pods import Pod
from springtide.local.scheduler.state.snapshot import Snapshot


def place(pod: Pod, snapshot: Snapshot, taste: Taste = Taste.SPREAD) -> NodeState | Unfit:
    """The node for the pod. The snapshot is not changed: the caller adds the pod."""
    nodes = snapshot.nodes
    checks = filters.checks(pod, snapshot)
    if isinstance(checks, Refusal):
        return Unfit(len(nodes), {}, ", ".join(checks.reasons))
    promised = snapshot.node(pod.nominated) if pod.nominated else None
    if promised is not None and refusal(pod, promised, snapshot, checks) is None:
        return promised
    fitting: list[NodeState] = []
    refusals: dict[str, Refusal] = {}
    for state in nodes:
        why = refusal(pod, state, snapshot, checks)
        if why is None:
            fitting.append(state)
        else:
            refusals[state.node.name] = why
    if not fitting:
        return Unfit(len(nodes), refusals)
    return fitting[0] if len(fitting) == 1 else scores.best(pod, fitting, snapshot, taste)


def refusal(pod: Pod, state: NodeState, snapshot: Snapshot, checks: list[Check]) -> Refusal | None:
    """Why the pod does not fit this node, given the pods that the node is promised to."""
    others = snapshot.promised(state.node.name, pod)
    if others:
        with snapshot.trying():
            for other in others:
                if not snapshot.where(other.uid):
                    snapshot.add(other, state.node.name)
            again = filters.checks(pod, snapshot)
            why = again if isinstance(again, Refusal) else filters.first_refusal(again, state)
        if why is not None:
            return why
    return filters.first_refusal(checks, state)
