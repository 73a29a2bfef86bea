# SPDX-License-Identifier: Apache-2.0
"""Which nodes are going away: cordoned or drained, given notice, or chosen by an autoscaler; and which are gone."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from springtide.controllers.views import NodeView

RECLAIM_AT: Final = "springtide.dev/reclaim-at"
_NOTICES: Final = (
    "springtide.dev/reclaim",
    "ToBeDeletedByClusterAutoscaler",
    "DeletionCandidateOfClusterAutoscaler",
    "karpenter.sh/disrupted",
    "aws-node-termination-handler/",
    "cloud.google.com/impending-node-termination",
)
"""Taints, or how they begin, by which those who take nodes away say so beforehand."""
_SILENT: Final = ("node.kubernetes.io/unreachable", "node.kubernetes.io/out-of-service")


def leaving(nodes: Iterable[NodeView]) -> frozenset[str]:
    return frozenset(node.metadata.name for node in nodes if _leaves(node))


def silent(nodes: Iterable[NodeView]) -> frozenset[str]:
    """Nodes that nobody hears of any more: what is said of pods there is said by nobody."""
    return frozenset(node.metadata.name for node in nodes if any(taint.key in _SILENT for taint in node.spec.taints))


def reclaims(nodes: Iterable[NodeView]) -> dict[str, datetime]:
    """When nodes go, of those that say so. What cannot be read is not said."""
    found = ((node.metadata.name, _moment(node.metadata.annotations.get(RECLAIM_AT, ""))) for node in nodes)
    return {name: at for name, at in found if at is not None}


def _moment(given: str) -> datetime | None:
    try:
        at = datetime.fromisoformat(given)
    except ValueError:
        return None
    return at if at.tzinfo else None


def _leaves(node: NodeView) -> bool:
    noticed = any(taint.key.startswith(_NOTICES) for taint in node.spec.taints)
    return node.spec.unschedulable or noticed or RECLAIM_AT in node.metadata.annotations
