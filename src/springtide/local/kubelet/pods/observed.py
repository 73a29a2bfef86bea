# SPDX-License-Identifier: Apache-2.0
"""The observed state of a pod at one moment, from which its plan and its status are derived."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from springtide.local.kubelet.pods import restarts
from springtide.local.kubelet.pods.restarts import BackOff
from springtide.local.runtime.contract import ContainerState


@dataclass(frozen=True, slots=True)
class Verdict:
    """Results of a running attempt's probes; None for a probe without a result so far."""

    startup: bool | None = None
    liveness: bool | None = None
    readiness: bool | None = None


@dataclass(frozen=True, slots=True)
class Stop:
    """A stop in progress."""

    attempt: int
    began: float
    grace: float
    hook_running: bool = False
    signalled: bool = False

    @property
    def deadline(self) -> float:
        return self.began + self.grace


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a container is not running although it should be, and when the next attempt is due."""

    reason: str
    message: str
    until: float = 0.0

    def pause(self, now: float) -> float:
        """Seconds until the next attempt; 0 where `until` is so far away that the clock must have been set back."""
        left = self.until - now
        return left if 0 < left <= restarts.LONGEST_DELAY else 0.0


@dataclass(frozen=True, slots=True)
class Observed:
    sandbox: bool = False
    """Whether the pod's shim lives."""
    states: Mapping[str, ContainerState] = field(default_factory=dict)
    """The newest attempt of each container."""
    previous: Mapping[str, ContainerState] = field(default_factory=dict)
    """The attempt before the newest one of each container."""
    images: Mapping[str, str] = field(default_factory=dict)
    """The images of the newest attempts."""
    earlier: Mapping[str, int] = field(default_factory=dict)
    """The newest attempts that belong to an earlier sandbox."""
    reset: Mapping[str, int] = field(default_factory=dict)
    """The newest attempts when all containers last started over; they and all earlier ones are ignored."""
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    stops: Mapping[str, Stop] = field(default_factory=dict)
    starting: frozenset[str] = frozenset()
    """Containers whose postStart hook is running."""
    back_offs: Mapping[str, BackOff] = field(default_factory=dict)
    failures: Mapping[str, Failure] = field(default_factory=dict)
    sandbox_failure: Failure | None = None
    start: float | None = None
    """When the pod was first seen on this node."""
    phase: str = ""
    """As last reported."""
    removed: bool = False
    """The object is deleted from the API."""
    closing: bool = False
    """The agent is ending its pods and leaves their objects unchanged."""
    interrupted: Mapping[str, int] = field(default_factory=dict)
    """Attempts that ended with the node; see `interruptions`."""
    finished: bool = False
    """All containers ended for good, and that is reported."""
