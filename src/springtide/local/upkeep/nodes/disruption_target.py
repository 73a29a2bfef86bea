# SPDX-License-Identifier: Apache-2.0
"""The condition by which a pod says that it did not fail by itself: job controllers read it."""

from __future__ import annotations

from datetime import datetime

from springtide.kube.resources import Obj
from springtide.local.upkeep import conditions
from springtide.local.upkeep.timestamps import stamp

KIND = "DisruptionTarget"


def disrupted(pod: Obj, reason: str, message: str, now: datetime) -> Obj | None:
    """The condition to be written, for a strategic patch; None when the pod has it."""
    present = conditions.find((pod.get("status") or {}).get("conditions") or (), KIND)
    wanted = {"type": KIND, "status": "True", "reason": reason, "message": message}
    if generation := pod["metadata"].get("generation"):
        wanted["observedGeneration"] = generation
    if present is not None and present.items() >= wanted.items():
        return None
    kept = present is not None and present["status"] == "True"
    return wanted if kept else wanted | {"lastTransitionTime": stamp(now)}
