# SPDX-License-Identifier: Apache-2.0
"""What may have to be done about a pod: the steps that a plan is made of. Plain data; `sync` does them."""

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
    """Say that a container has to wait, and come back at `until`."""

    name: str
    delay: int
    until: float


@dataclass(frozen=True, slots=True)
class BeginStop:
    """Announce the end of a container and run its preStop hook within the grace."""

    name: str
    attempt: int
    grace: float
    message: str


@dataclass(frozen=True, slots=True)
class SignalStop:
    """TERM now, KILL after the grace."""

    name: str
    grace: float


@dataclass(frozen=True, slots=True)
class StartOver:
    """Forget all attempts so far: everything begins again, in the same sandbox."""


@dataclass(frozen=True, slots=True)
class EndSandbox:
    pass


@dataclass(frozen=True, slots=True)
class Finish:
    """Report the last state; everything that the pod held on this node is free again."""


@dataclass(frozen=True, slots=True)
class DeletePod:
    """Nothing of it is left: the API server may forget it."""


@dataclass(frozen=True, slots=True)
class Forget:
    """Remove what is left on disk; the object is gone."""


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
