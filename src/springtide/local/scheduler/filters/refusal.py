# SPDX-License-Identifier: Apache-2.0
"""What a filter says: nothing, or why not.

A filter looks at the pod and the cluster once and gives a check for the single nodes; None when it has nothing to say
about such a pod, a Refusal when no node whatever will do.
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
    """In the words of kube-scheduler: people search the web for them."""
    curable: bool = False
    """Whether fewer pods on the node could change the answer."""


def never(reason: str) -> Refusal:
    return Refusal((reason,))


def not_now(reason: str) -> Refusal:
    return Refusal((reason,), curable=True)


Check = Callable[[NodeState], Refusal | None]
Filter = Callable[[Pod, Snapshot], Check | Refusal | None]
