# SPDX-License-Identifier: Apache-2.0
"""A launcher's node preference: nodes that are not spot.

Losing the launcher ends the training; losing a worker costs little.
"""

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
"""Labels of nodes that may be reclaimed at short notice, on the embedded cluster and on clouds."""
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


def preferring_nodes_that_stay(affinity: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """The affinity of a launcher. A template with a node preference, even an empty one, is left as it is. Nodes with a
    reclaim notice need no rule here: they are tainted or cordoned already."""
    given = affinity or {}
    of_nodes = given.get("nodeAffinity") or {}
    if _PREFERRED in of_nodes:
        return given
    stays = [{"key": key, "operator": "NotIn", "values": [value]} for key, value in SPOT_LABELS.items()]
    preference = {"weight": 100, "preference": {"matchExpressions": stays}}
    return {**given, "nodeAffinity": {**of_nodes, _PREFERRED: [preference]}}
