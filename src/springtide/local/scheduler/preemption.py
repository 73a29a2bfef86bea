# SPDX-License-Identifier: Apache-2.0
"""The choice of victims for a pod of higher priority, as in kube-scheduler.

On each node where removing pods could help: remove all pods of lower priority; if the pod fits then, put them back one
by one, those whose disruption budget is exhausted first, then by priority; a pod that no longer fits is a victim. The
node with the least cost is chosen. Victims terminate gracefully; meanwhile the node is promised to the pod.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from springtide.local.scheduler import filters, placing, reasons
from springtide.local.scheduler.filters.refusal import Refusal, never
from springtide.local.scheduler.reasons import Unfit
from springtide.local.scheduler.state.nodes import NodeState
from springtide.local.scheduler.state.pods import EPOCH, Pod
from springtide.local.scheduler.state.snapshot import Snapshot

NO_VICTIMS: Final = never("No preemption victims found for incoming pod")
NEVER: Final = "preemption: not eligible due to preemptionPolicy=Never."
UNDER_WAY: Final = "preemption: not eligible due to a terminating pod on the nominated node."


@dataclass(frozen=True, slots=True)
class Candidate:
    node: str
    victims: tuple[Pod, ...]
    """The most important first."""
    violations: int
    """How many victims are protected by a disruption budget."""

    @property
    def cost(self) -> tuple[int, int, int, int, float]:
        """The lower the better."""
        highest = self.victims[0].priority
        longest = min((_since(pod) for pod in self.victims if pod.priority == highest), default=0.0)
        total = sum(pod.priority + 2**31 for pod in self.victims)
        return (self.violations, highest, total, len(self.victims), -longest)


def preempt(pod: Pod, unfit: Unfit, snapshot: Snapshot) -> Candidate | str:
    """The node to promise to the pod and its victims, or why preemption would not help."""
    if why := not_eligible(pod, unfit, snapshot):
        return why
    candidates: list[Candidate] = []
    refusals: dict[str, Refusal] = {}
    for name in unfit.curable:
        state = snapshot.node(name)
        if state is None:
            continue
        found = _on_node(pod, state, snapshot)
        if isinstance(found, Refusal):
            refusals[name] = found
        elif found.victims:
            candidates.append(found)
    if candidates:
        return min(candidates, key=lambda candidate: candidate.cost)
    others = {f"{index}": never(reasons.NOT_HELPFUL) for index in range(unfit.nodes - len(refusals))}
    return f"preemption: {reasons.available(unfit.nodes, reasons.histogram(refusals | others))}"


def not_eligible(pod: Pod, unfit: Unfit, snapshot: Snapshot) -> str:
    if not pod.may_preempt:
        return NEVER
    state = snapshot.node(pod.nominated) if pod.nominated else None
    if state is None:
        return ""
    refusal = unfit.refusals.get(pod.nominated)
    if refusal is None or not refusal.curable:
        return ""
    leaving = any(other.priority < pod.priority and other.deleting and other.preempted for other in state.pods.values())
    return UNDER_WAY if leaving else ""


def _on_node(pod: Pod, state: NodeState, snapshot: Snapshot) -> Candidate | Refusal:
    lesser = most_important_first(other for other in state.pods.values() if other.priority < pod.priority)
    if not lesser:
        return NO_VICTIMS
    with snapshot.trying():
        for other in lesser:
            snapshot.remove(other)
        if (refusal := _refusal(pod, state, snapshot)) is not None:
            return refusal
        protected, free = by_budget(lesser, snapshot)
        hurt = _not_fitting(pod, state, snapshot, protected)
        victims = hurt + _not_fitting(pod, state, snapshot, free)
    return Candidate(state.node.name, tuple(most_important_first(victims)), len(hurt))


def _not_fitting(pod: Pod, state: NodeState, snapshot: Snapshot, others: Iterable[Pod]) -> list[Pod]:
    """Puts the others back while the pod still fits; returns those that stay removed."""
    out = []
    for other in others:
        snapshot.add(other, state.node.name)
        if _refusal(pod, state, snapshot) is not None:
            snapshot.remove(other)
            out.append(other)
    return out


def _refusal(pod: Pod, state: NodeState, snapshot: Snapshot) -> Refusal | None:
    checks = filters.checks(pod, snapshot)
    return checks if isinstance(checks, Refusal) else placing.refusal(pod, state, snapshot, checks)


def most_important_first(pods: Iterable[Pod]) -> list[Pod]:
    """By priority, then the longest-running first."""
    return sorted(pods, key=lambda pod: (-pod.priority, _since(pod), pod.key))


def _since(pod: Pod) -> float:
    """The start time; a pod that has not started counts as the youngest."""
    return (pod.started - EPOCH).total_seconds() if pod.started else float(2**40)


def by_budget(pods: Iterable[Pod], snapshot: Snapshot) -> tuple[list[Pod], list[Pod]]:
    """The pods whose removal would break a disruption budget, and the others; both keep their order."""
    selectors = snapshot.budget_selectors
    left = [(budget, selectors.of(key, budget.spec.selector)) for key, budget in snapshot.budgets.items()]
    allowed = [budget.status.disruptions_allowed for budget, _ in left]
    protected: list[Pod] = []
    free: list[Pod] = []
    for pod in pods:
        broken = False
        for index, (budget, selector) in enumerate(left):
            if budget.metadata.namespace != pod.key.namespace or selector.empty or not pod.labels:
                continue
            if not selector.matches(pod.labels) or pod.key.name in (budget.status.disrupted_pods or {}):
                continue
            allowed[index] -= 1
            broken = broken or allowed[index] < 0
        (protected if broken else free).append(pod)
    return protected, free
