# SPDX-License-Identifier: Apache-2.0
"""Where a launcher would rather be: on a node that stays. With it all of its training ends, with a worker little."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

SPOT_LABELS: Final[Mapping[str, str]] = {
    "springtide.dev/spot": "true",
    "cloud.google.com/gke-preemptible": "true",
    "cloud.google.com/gke-spot": "true",
    "eks.amazonaws.com/capacityType": "SPOT",
    "karpenter.sh/capacity-type": "spot",
    "kubernetes.azure.com/scalesetpriority": "spot",
    "node.kubernetes.io/lifecycle": "spot",
}
"""Nodes that may be taken away at short notice, as the embedded cluster and clouds label them."""
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


def preferring_nodes_that_stay(affinity: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """A template that prefers nodes by itself, even none of them, is left as it is. Nodes with a notice are tainted or
    cordoned by those who take them away."""
    given = affinity or {}
    of_nodes = given.get("nodeAffinity") or {}
    if _PREFERRED in of_nodes:
        return given
    stays = [{"key": key, "operator": "NotIn", "values": [value]} for key, value in SPOT_LABELS.items()]
    preference = {"weight": 100, "preference": {"matchExpressions": stays}}
    return {**given, "nodeAffinity": {**of_nodes, _PREFERRED: [preference]}}
