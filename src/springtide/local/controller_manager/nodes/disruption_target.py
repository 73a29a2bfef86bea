# SPDX-License-Identifier: Apache-2.0
"""The condition by which a pod says that it did not fail by itself: job controllers read it."""

from __future__ import annotations

from datetime import datetime

from springtide.kube.resources import Obj
from springtide.local.controller_manager import conditions
from springtide.local.controller_manager.timestamps import stamp

KIND = "DisruptionTarget"


def disrupted(pod: Obj, reason: str, message: str, now: datetime) -> Obj:
    """What to patch strategically into the pod's status; empty when it says so already."""
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
