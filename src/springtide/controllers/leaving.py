# SPDX-License-Identifier: Apache-2.0
"""Which nodes are going away, and which are unresponsive. Pure.

    cordoned    takes no new pods; no worker is moved, as usual in Kubernetes, but a job that shrinks leaves it first
    leaving     is reclaimed, drained or deleted soon: workers are replaced before it is gone
    silent      unresponsive: pod statuses are stale

A drain is distinguished from a cordon by the annotation that `tide node drain` sets, or by the first pod that is
evicted from a cordoned node: `kubectl drain` only evicts pods. A NoExecute taint evicts the pods that do not tolerate
it, and those that tolerate it for a limited time once that is over.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from springtide.controllers.views import NodeView, PodView, Taint

RECLAIM_AT: Final = "springtide.dev/reclaim-at"
DRAIN: Final = "springtide.dev/drain"
"""Annotation of a node that is being drained; it counts while the node is cordoned."""
_NOTICES: Final = (
    "springtide.dev/reclaim",
    "ToBeDeletedByClusterAutoscaler",
    "DeletionCandidateOfClusterAutoscaler",
    "karpenter.sh/disrupted",
    "aws-node-termination-handler/",
    "cloud.google.com/impending-node-termination",
)
"""Taints, or prefixes of taints, that announce that a node is going away."""
_SILENT: Final = ("node.kubernetes.io/unreachable", "node.kubernetes.io/out-of-service")
_OF_KUBERNETES: Final = "node.kubernetes.io/"
"""Taints that describe a node's condition, not that it is going away."""
_EVICTED: Final = "EvictionByEvictionAPI"
_LONGEST: Final = timedelta(days=365)


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """The facts about nodes that plans need."""

    leaving: frozenset[str] = frozenset()
    cordoned: frozenset[str] = frozenset()
    silent: frozenset[str] = frozenset()
    reclaims: Mapping[str, datetime] = field(default_factory=dict)
    """The reclaim times of nodes that announce one."""
    evicting: Mapping[str, tuple[Taint, ...]] = field(default_factory=dict)
    """NoExecute taints, by node."""

    def news(self) -> frozenset[tuple[str, str]]:
        """The facts by node whose change triggers a reconcile of the jobs there. A cordon is not one of them."""
        leaves = {(node, "leaves") for node in self.leaving}
        times = {(node, at.isoformat()) for node, at in self.reclaims.items()}
        taints = {(node, taint.key) for node, found in self.evicting.items() for taint in found}
        return frozenset(leaves | times | taints | {(node, "silent") for node in self.silent})


def facts(nodes: Iterable[NodeView]) -> NodeFacts:
    everyone = tuple(nodes)
    evicting = {node.metadata.name: found for node in everyone if (found := _evicting(node))}
    return NodeFacts(leaving(everyone), cordoned(everyone), silent(everyone), reclaims(everyone), evicting)


def leaving(nodes: Iterable[NodeView]) -> frozenset[str]:
    return frozenset(node.metadata.name for node in nodes if _leaves(node))


def cordoned(nodes: Iterable[NodeView]) -> frozenset[str]:
    return frozenset(node.metadata.name for node in nodes if node.spec.unschedulable)


def silent(nodes: Iterable[NodeView]) -> frozenset[str]:
    """Unresponsive nodes: pod statuses on such a node are stale."""
    return frozenset(node.metadata.name for node in nodes if any(taint.key in _SILENT for taint in node.spec.taints))


def reclaims(nodes: Iterable[NodeView]) -> dict[str, datetime]:
    """The reclaim times of nodes that announce a valid one."""
    found = ((node.metadata.name, _moment(node.metadata.annotations.get(RECLAIM_AT, ""))) for node in nodes)
    return {name: at for name, at in found if at is not None}


def is_evicted(pod: PodView) -> bool:
    """The pod is being evicted through the Eviction API, by a drain for instance."""
    conditions = pod.status.conditions
    evicted = any(
        (each.type, each.status, each.reason) == ("DisruptionTarget", "True", _EVICTED) for each in conditions
    )
    return evicted and pod.metadata.deletion_timestamp is not None


def evicted_by_taints(found: NodeFacts, tolerations: Sequence[Any]) -> dict[str, datetime | None]:
    """Nodes that pods with these tolerations have to leave, and when; None: at once."""
    result: dict[str, datetime | None] = {}
    for node, taints in found.evicting.items():
        untolerated = [taint for taint in taints if not any(_tolerates(each, taint) for each in tolerations)]
        times = [at for taint in taints if (at := _until(taint, tolerations)) is not None]
        if untolerated or times:
            result[node] = None if untolerated else min(times)
    return result


def _until(taint: Taint, tolerations: Sequence[Any]) -> datetime | None:
    """When a taint is no longer tolerated: the shortest of all matching tolerations counts."""
    given = [each.get("tolerationSeconds") for each in tolerations if _tolerates(each, taint)]
    seconds = [each for each in given if isinstance(each, int)]
    if not seconds or taint.time_added is None:
        return None
    return taint.time_added + min(timedelta(seconds=max(min(seconds), 0)), _LONGEST)


def _tolerates(toleration: Any, taint: Taint) -> bool:
    if not isinstance(toleration, Mapping) or toleration.get("effect") not in (None, "", taint.effect):
        return False
    key, operator = toleration.get("key") or "", toleration.get("operator") or "Equal"
    if operator == "Exists":
        return not key or key == taint.key
    return bool(key == taint.key and (toleration.get("value") or "") == taint.value)


def _evicting(node: NodeView) -> tuple[Taint, ...]:
    known = (*_NOTICES, _OF_KUBERNETES)
    return tuple(taint for taint in node.spec.taints if taint.effect == "NoExecute" and not taint.key.startswith(known))


def _moment(given: str) -> datetime | None:
    try:
        at = datetime.fromisoformat(given)
    except ValueError:
        return None
    return at if at.tzinfo else None


def _leaves(node: NodeView) -> bool:
    noticed = any(taint.key.startswith(_NOTICES) for taint in node.spec.taints)
    drained = node.spec.unschedulable and DRAIN in node.metadata.annotations
    return noticed or drained or RECLAIM_AT in node.metadata.annotations
