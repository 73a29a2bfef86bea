# SPDX-License-Identifier: Apache-2.0
"""A deployment's terms as plain numbers: percentages resolved, absent limits as None."""

from __future__ import annotations

from dataclasses import dataclass

from springtide.api import whole_numbers
from springtide.kube.resources import Obj
from springtide.local.controller_manager.workloads.rollout_sets import ReplicaSet, desired_replicas

_NEVER = 2**31 - 1
"""The int32 value that means "no limit"."""


@dataclass(frozen=True, slots=True)
class Terms:
    name: str
    generation: int
    replicas: int
    rolling: bool
    max_surge: int
    max_unavailable: int
    min_ready_seconds: int
    paused: bool
    progress_deadline: int | None
    history_limit: int | None

    @classmethod
    def of(cls, deployment: Obj) -> Terms:
        spec = deployment["spec"]
        replicas = spec.get("replicas", 1)
        strategy = spec.get("strategy") or {}
        rolling = strategy.get("type") == "RollingUpdate"
        surge, unavailable = fence_posts(strategy.get("rollingUpdate") or {}, replicas) if rolling else (0, 0)
        return cls(
            deployment["metadata"]["name"],
            deployment["metadata"].get("generation", 0),
            replicas,
            rolling,
            surge,
            min(unavailable, replicas),
            spec.get("minReadySeconds", 0),
            bool(spec.get("paused")),
            _limit(spec.get("progressDeadlineSeconds")),
            _limit(spec.get("revisionHistoryLimit")),
        )

    def saturated(self, new: ReplicaSet) -> bool:
        """Whether the new replica set has all its pods, and all are available."""
        return new.size == self.replicas == desired_replicas(new.obj) and new.available == self.replicas


def fence_posts(rolling: Obj, replicas: int) -> tuple[int, int]:
    """Surge and unavailability as counts. Both zero would block the rollout, so one pod may then be unavailable."""
    surge = resolved(rolling.get("maxSurge", 0), replicas, round_up=True)
    unavailable = resolved(rolling.get("maxUnavailable", 0), replicas, round_up=False)
    return (surge, 1) if not surge and not unavailable else (surge, unavailable)


def resolved(value: int | str, whole: int, *, round_up: bool) -> int:
    """A count, or a percentage of `whole`."""
    if isinstance(value, int):
        return value
    hundredfold = (whole_numbers.clamped(value.removesuffix("%")) or 0) * whole
    return -(-hundredfold // 100) if round_up else hundredfold // 100


def _limit(value: int | None) -> int | None:
    return None if value == _NEVER else value
