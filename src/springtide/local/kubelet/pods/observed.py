# SPDX-License-Identifier: Apache-2.0
"""What is seen of a pod, at one moment: all that its plan and its status are made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from springtide.local.kubelet.pods import restarts
from springtide.local.kubelet.pods.restarts import BackOff
from springtide.local.runtime.contract import ContainerState


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a running attempt's probes say; None as long as they have said nothing."""

    startup: bool | None = None
    liveness: bool | None = None
    readiness: bool | None = None


@dataclass(frozen=True, slots=True)
class Stop:
    """A stop under way."""

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
    """Why a container is not running although it should be, and when it may be tried again."""

    reason: str
    message: str
    until: float = 0.0

    def pause(self, now: float) -> float:
        """Seconds until then; none where it is so far away that somebody has set the clock back."""
        left = self.until - now
        return left if 0 < left <= restarts.LONGEST_DELAY else 0.0


@dataclass(frozen=True, slots=True)
class Observed:
    sandbox: bool = False
    """Whether the pod's shim lives."""
    states: Mapping[str, ContainerState] = field(default_factory=dict)
    """The newest attempt of each container."""
    previous: Mapping[str, ContainerState] = field(default_factory=dict)
    """The attempts before those."""
    images: Mapping[str, str] = field(default_factory=dict)
    """What the newest attempts were started with."""
    earlier: Mapping[str, int] = field(default_factory=dict)
    """The newest attempts that belong to a sandbox before this one."""
    reset: Mapping[str, int] = field(default_factory=dict)
    """The newest attempts when all containers were last made to start over: as if they had never been."""
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    stops: Mapping[str, Stop] = field(default_factory=dict)
    starting: frozenset[str] = frozenset()
    """Containers whose postStart hook runs."""
    back_offs: Mapping[str, BackOff] = field(default_factory=dict)
    failures: Mapping[str, Failure] = field(default_factory=dict)
    sandbox_failure: Failure | None = None
    start: float | None = None
    """When the pod was first seen here."""
    phase: str = ""
    """As last reported."""
    removed: bool = False
    """The object is gone from the API."""
    closing: bool = False
    """The agent was told to end its pods and to leave their objects alone."""
    interrupted: Mapping[str, int] = field(default_factory=dict)
    """Attempts that ended with the node; see `interruptions`."""
    finished: bool = False
    """All containers ended for good, and that is reported."""
