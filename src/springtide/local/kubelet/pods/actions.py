# SPDX-License-Identifier: Apache-2.0
"""The actions that a plan for a pod consists of. Plain data; `sync` performs them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StartSandbox:
    pass


@dataclass(frozen=True, slots=True)
class StartContainer:
    name: str
    attempt: int


@dataclass(frozen=True, slots=True)
class BackOffRestart:
    """Report that a container waits for its restart, and reconcile again at `until`."""

    name: str
    delay: int
    until: float


@dataclass(frozen=True, slots=True)
class BeginStop:
    """Announce the end of a container and run its preStop hook within the grace period."""

    name: str
    attempt: int
    grace: float
    message: str


@dataclass(frozen=True, slots=True)
class SignalStop:
    """Send the stop signal now, SIGKILL after the grace period."""

    name: str
    grace: float


@dataclass(frozen=True, slots=True)
class StartOver:
    """Forget all attempts so far: all containers start from the beginning, in the same sandbox."""


@dataclass(frozen=True, slots=True)
class EndSandbox:
    pass


@dataclass(frozen=True, slots=True)
class Finish:
    """Report the last state and release everything that the pod held on this node."""


@dataclass(frozen=True, slots=True)
class DeletePod:
    """Nothing of the pod is left on the node: delete its object from the API server."""


@dataclass(frozen=True, slots=True)
class Forget:
    """Remove what is left on disk; the object is deleted."""


@dataclass(frozen=True, slots=True)
class RequeueAfter:
    seconds: float


Action = (
    StartSandbox
    | StartContainer
    | BackOffRestart
    | BeginStop
    | SignalStop
    | StartOver
    | EndSandbox
    | Finish
    | DeletePod
    | Forget
    | RequeueAfter
)
