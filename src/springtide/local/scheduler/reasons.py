# SPDX-License-Identifier: Apache-2.0
"""The reason why a pod is pending, in kube-scheduler's exact wording."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from springtide.local.scheduler.filters.refusal import Refusal

NO_NODES: Final = "no nodes available to schedule pods"
NOT_HELPFUL: Final = "Preemption is not helpful for scheduling"
NO_CLAIMS: Final = "no new claims to deallocate"
"""What kube-scheduler reports on dynamic resource allocation before preemption, even for pods without claims."""


@dataclass(frozen=True, slots=True)
class Unfit:
    """No node fits: a refusal for each node, or `everywhere`, one reason for all."""

    nodes: int
    refusals: Mapping[str, Refusal] = field(default_factory=dict)
    everywhere: str = ""

    @property
    def curable(self) -> list[str]:
        """The nodes where removing pods could help."""
        return [name for name, refusal in self.refusals.items() if refusal.curable]

    def text(self, preemption: str = "") -> str:
        """The message, with the result of a failed preemption if one was tried."""
        if not self.nodes:
            return NO_NODES
        if preemption:
            preemption = f" {preemption}" if self.everywhere else f" {NO_CLAIMS}, {preemption}"
        return available(self.nodes, self.everywhere or histogram(self.refusals)) + preemption


def available(nodes: int, why: str) -> str:
    return f"0/{nodes} nodes are available:" + (f" {why}." if why else "")


def histogram(refusals: Mapping[str, Refusal]) -> str:
    """`1 Insufficient cpu, 2 node(s) had untolerated taint(s)`, sorted by text."""
    counts = Counter(reason for refusal in refusals.values() for reason in refusal.reasons)
    return ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
