# SPDX-License-Identifier: Apache-2.0
"""Restricts a pod to nodes where its volumes are or can be provisioned."""

from __future__ import annotations

from typing import Final

from springtide.local.scheduler.filters.refusal import Check, Refusal, never
from springtide.local.scheduler.state import storage
from springtide.local.scheduler.state.nodes import NodeState
from springtide.local.scheduler.state.pods import Pod
from springtide.local.scheduler.state.snapshot import Snapshot

ELSEWHERE: Final = "node(s) didn't match PersistentVolume's node affinity"
NONE_TO_BIND: Final = "node(s) didn't find available persistent volumes to bind"
GONE: Final = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"


def check(pod: Pod, snapshot: Snapshot) -> Check | Refusal | None:
    if not pod.claims:
        return None
    known = snapshot.storage
    try:
        claims = storage.claims_of(pod, known)
    except storage.Unusable as why:
        return never(str(why))

    def on_node(state: NodeState) -> Refusal | None:
        name, labels = state.node.name, state.node.labels
        reasons: list[str] = []
        volumes = [known.volumes.get(claim.spec.volume_name) for claim in claims.bound]
        if None in volumes:
            reasons.append(GONE)
        elif not all(volume is None or storage.reachable(volume, name, labels) for volume in volumes):
            reasons.append(ELSEWHERE)
        if claims.delayed and storage.plan(claims.delayed, name, labels, known) is None:
            reasons.append(NONE_TO_BIND)
        return Refusal(tuple(reasons)) if reasons else None

    return on_node
