# SPDX-License-Identifier: Apache-2.0
"""The result of a filter: None, or a Refusal with its reasons.

A filter examines the pod and the cluster once and returns a check for single nodes; None if it does not apply to the
pod, a Refusal if no node is suitable.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from springtide.local.scheduler.state.nodes import NodeState
from springtide.local.scheduler.state.pods import Pod
from springtide.local.scheduler.state.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Refusal:
    reasons: tuple[str, ...]
    """In kube-scheduler's wording: users search the web for it."""
    curable: bool = False
    """Whether removing pods from the node could change the result."""


def never(reason: str) -> Refusal:
    return Refusal((reason,))


def not_now(reason: str) -> Refusal:
    return Refusal((reason,), curable=True)


Check = Callable[[NodeState], Refusal | None]
Filter = Callable[[Pod, Snapshot], Check | Refusal | None]
