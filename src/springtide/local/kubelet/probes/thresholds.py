# SPDX-License-Identifier: Apache-2.0
"""When probe results become a verdict: after so many failures, or successes, in a row. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Streak:
    """The number of equal results in a row."""

    healthy: bool = True
    length: int = 0

    def then(self, healthy: bool) -> Streak:
        return Streak(healthy, self.length + 1 if self.healthy == healthy else 1)

    def verdict(self, probe: Mapping[str, Any]) -> bool | None:
        """None while the streak is shorter than the threshold."""
        threshold = probe.get("successThreshold", 1) if self.healthy else probe.get("failureThreshold", 3)
        return self.healthy if self.length >= int(threshold) else None


def delay_before(probe: Mapping[str, Any], started: float, now: float) -> float:
    """Seconds until a container that started at `started` may be probed for the first time."""
    delay = float(probe.get("initialDelaySeconds") or 0)
    return min(max(0.0, started + delay - now), delay)  # however the clock was set since


def period_of(probe: Mapping[str, Any]) -> float:
    return float(probe.get("periodSeconds") or 10)


def timeout_of(probe: Mapping[str, Any]) -> float:
    return float(probe.get("timeoutSeconds") or 1)
