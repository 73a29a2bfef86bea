# SPDX-License-Identifier: Apache-2.0
"""How long a pod may stay on a node with given taints. Pure; the rules are those of the Kubernetes API."""

from __future__ import annotations

import math
from collections.abc import Sequence

from springtide.kube.resources import Obj
from springtide.local.controller_manager.views import Toleration

FOREVER = math.inf


def evicting_taints(node: Obj | None) -> list[Obj]:
    taints = ((node or {}).get("spec") or {}).get("taints") or ()
    return [taint for taint in taints if taint["effect"] == "NoExecute"]


def stay(taints: Sequence[Obj], tolerations: Sequence[Toleration]) -> float:
    """Seconds; 0 when a taint is not tolerated, FOREVER when all are tolerated without limit."""
    shortest = FOREVER
    for taint in taints:
        used = next((toleration for toleration in tolerations if tolerates(toleration, taint)), None)
        if used is None:
            return 0.0
        if used.toleration_seconds is not None:
            shortest = min(shortest, max(0, used.toleration_seconds))
    return shortest


def tolerates(toleration: Toleration, taint: Obj) -> bool:
    if toleration.effect and toleration.effect != taint["effect"]:
        return False
    if toleration.key and toleration.key != taint["key"]:
        return False
    if toleration.operator == "Exists":
        return True
    return toleration.operator in ("", "Equal") and toleration.value == taint.get("value", "")
