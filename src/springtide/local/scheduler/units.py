# SPDX-License-Identifier: Apache-2.0
"""Units of placement (a single pod, or a gang) and their order. Pure."""

from __future__ import annotations

from typing import NamedTuple

from springtide.kube.resources import Key
from springtide.local.scheduler.state.ledger import Ledger
from springtide.local.scheduler.state.pods import Pod


class Unit(NamedTuple):
    key: Key
    """The key of the pod, or of the PodGroup that its members name."""
    gang: bool = False


def unit_of(pod: Pod) -> Unit:
    return Unit(Key(pod.key.namespace, pod.group), gang=True) if pod.group else Unit(pod.key)


def waiting(unit: Unit, ledger: Ledger) -> list[Pod]:
    """The unit's pods that need a node from this scheduler."""
    if unit.gang:
        return [pod for pod in ledger.members(unit.key) if ledger.is_ours(pod)]
    pod = ledger.pods.get(unit.key)
    return [pod] if pod is not None and ledger.is_ours(pod) else []


Rank = tuple[bool, int, int, float, Unit]


def rank(unit: Unit, ledger: Ledger) -> Rank:
    """Gangs with some but too few started members first, then by priority, queue weight and age."""
    if not unit.gang:
        pod = ledger.pods[unit.key]
        return (True, -pod.priority, -1, pod.created.timestamp(), unit)
    group = ledger.group_of(unit.key)
    if group is None:
        return (True, 0, -1, 0.0, unit)
    gang = ledger.gang(group)
    holding = gang.holding(ledger.snapshot)
    begun = 0 < holding < gang.least
    return (not begun, -gang.priority, -gang.queue.weight, gang.created.timestamp(), unit)
