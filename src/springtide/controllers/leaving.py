# SPDX-License-Identifier: Apache-2.0
"""Which nodes are going away: cordoned or drained, given notice, or chosen by an autoscaler."""

from __future__ import annotations

from collections.abc import Iterable
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
    "node.kubernetes.io/out-of-service",
)
"""Taints, or how they begin, by which those who take nodes away say so beforehand."""


def leaving(nodes: Iterable[NodeView]) -> frozenset[str]:
    return frozenset(node.metadata.name for node in nodes if _leaves(node))


def _leaves(node: NodeView) -> bool:
    noticed = any(taint.key.startswith(_NOTICES) for taint in node.spec.taints)
    return node.spec.unschedulable or noticed or RECLAIM_AT in node.metadata.annotations
