# SPDX-License-Identifier: Apache-2.0
"""lastPhaseTransitionTime of a volume: set by the server unless the writer sets it."""

from __future__ import annotations

from springtide.local.apiserver.context import now
from springtide.local.kinds.strategy import Obj

_TIME = "lastPhaseTransitionTime"


def stamp_phase(volume: Obj, old: Obj | None) -> None:
    status, before = volume.get("status") or {}, (old or {}).get("status") or {}
    if (
        old is not None
        and status.get("phase") != before.get("phase")
        and status.get(_TIME) in (None, before.get(_TIME))
    ):
        status[_TIME] = now()
