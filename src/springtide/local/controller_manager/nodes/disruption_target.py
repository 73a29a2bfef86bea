# SPDX-License-Identifier: Apache-2.0
"""The pod condition DisruptionTarget, by which job controllers recognize disruptions."""

from __future__ import annotations

from datetime import datetime

from springtide.kube.resources import Obj
from springtide.local.controller_manager import conditions
from springtide.local.controller_manager.timestamps import stamp

KIND = "DisruptionTarget"


def disrupted(pod: Obj, reason: str, message: str, now: datetime) -> Obj:
    """The strategic patch of the pod's status; empty when the condition is already set."""
    present = (pod.get("status") or {}).get("conditions") or ()
    known = conditions.find(present, KIND)
    wanted = {"type": KIND, "status": "True", "reason": reason, "message": message}
    if generation := pod["metadata"].get("generation"):
        wanted["observedGeneration"] = generation
    if known is not None and known.items() >= wanted.items():
        return {}
    if known is None or known["status"] != "True":
        wanted["lastTransitionTime"] = stamp(now)
    kinds = dict.fromkeys([*(condition["type"] for condition in present), KIND])
    return {"conditions": [wanted], "$setElementOrder/conditions": [{"type": kind} for kind in kinds]}
