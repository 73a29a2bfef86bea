# SPDX-License-Identifier: Apache-2.0
"""Pod groups: at least the minimum number of members is bound at once, or none.

A gang is a PodGroup with its members. A waiting gang reserves nothing: its members are placed together in the snapshot
and bound only if enough of them fit. Two gangs that each fit half therefore never block each other, and a
`scheduleTimeoutSeconds` has no effect. Members beyond the minimum are placed one by one, as there is room.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from springtide.kube.resources import Key
from springtide.local.scheduler import filters, placing, preemption
from springtide.local.scheduler.filters.refusal import Refusal
from springtide.local.scheduler.filters.resources import counted
from springtide.local.scheduler.reasons import Unfit
from springtide.local.scheduler.scores import Taste
from springtide.local.scheduler.state import amounts
from springtide.local.scheduler.state.amounts import Amounts
from springtide.local.scheduler.state.pods import EPOCH, Pod
from springtide.local.scheduler.state.snapshot import Snapshot

NOT_READY: Final = "pod group is not ready"


@dataclass(frozen=True, slots=True)
class Queue:
    """A Volcano queue: `capability` caps the resources its gangs hold together; `used` is what they hold now."""

    name: str
    weight: int = 1
    capability: Amounts = field(default_factory=dict)
    used: Amounts = field(default_factory=dict)
    exists: bool = True


ANY_QUEUE: Final = Queue("")


@dataclass(frozen=True, slots=True)
class Gang:
    key: Key
    least: int
    """minMember"""
    priority: int
    members: Sequence[Pod]
    """All existing members, including finished and terminating ones."""
    created: datetime = EPOCH
    wanted: Amounts = field(default_factory=dict)
    """minResources"""
    queue: Queue = ANY_QUEUE
    schedulers: frozenset[str] = frozenset()
    """Only members with these scheduler names are placed here; empty means all."""

    def holding(self, snapshot: Snapshot) -> int:
        """How many members count as started: those on a node and those that succeeded."""
        return sum(
            pod.phase == "Succeeded" or (not pod.finished and not pod.deleting and bool(snapshot.where(pod.uid)))
            for pod in self.members
        )

    def waiting(self, snapshot: Snapshot) -> list[Pod]:
        """The members that need a node, large ones first, so that small ones do not take the only fitting node."""
        ours = self.schedulers
        found = [
            pod
            for pod in self.members
            if pod.waiting and not snapshot.where(pod.uid) and (not ours or pod.scheduler in ours)
        ]
        return sorted(found, key=lambda pod: (-pod.priority, -_size(pod), pod.created, pod.key))


def _size(pod: Pod) -> int:
    return sum(amount for name, amount in pod.requests.items() if name not in amounts.ADVISORY)


@dataclass(frozen=True, slots=True)
class Placed:
    """Bind all of these pods."""

    nodes: tuple[tuple[Pod, str], ...]
    left_out: tuple[tuple[Pod, Unfit], ...] = ()
    """Members beyond the minimum that do not fit now."""


@dataclass(frozen=True, slots=True)
class Waits:
    """Bind no member. `message` is for the PodGroup, `why` for members that do not fit individually."""

    message: str
    why: tuple[tuple[Pod, Unfit], ...] = ()
    enqueued: bool = True
    """Whether only members or nodes are missing; otherwise its queue or minResources hold the gang back."""
    room_is_coming: bool = False
    """Whether earlier victims are still terminating on the nodes promised to members."""


@dataclass(frozen=True, slots=True)
class MakeRoom:
    """Members fit once the victims are gone: promise them the nodes."""

    nodes: tuple[tuple[Pod, str], ...]
    victims: tuple[Pod, ...]
    waits: Waits


def plan(gang: Gang, snapshot: Snapshot) -> Placed | Waits | MakeRoom:
    waiting = gang.waiting(snapshot)
    needed = gang.least - gang.holding(snapshot)
    if needed <= 0:
        placed, left_out = _attempt(gang, waiting, snapshot, Taste.SPREAD)
        return Placed(tuple(placed), tuple(left_out.items()))
    if why := kept_back(gang, snapshot):
        return Waits(f"{_message(gang, snapshot, {})}; {why}", enqueued=False)
    if needed > len(waiting):
        return Waits(_message(gang, snapshot, {}))
    found = _together(gang, waiting, needed, snapshot)
    if isinstance(found, Placed):
        short = _short(gang, snapshot, {})
        return Waits(f"{_message(gang, snapshot, {})}; {short}", enqueued=False) if short else found
    coming = _room_is_coming(waiting, gang, snapshot)
    waits = Waits(_message(gang, snapshot, found), tuple(found.items()), room_is_coming=coming)
    return waits if coming else _room(gang, waiting[:needed], snapshot, waits) or waits


def _together(gang: Gang, waiting: Sequence[Pod], needed: int, snapshot: Snapshot) -> Placed | dict[Pod, Unfit]:
    """A placement of enough members, or the reasons of the members that did not fit at the first attempt."""
    first: dict[Pod, Unfit] | None = None
    for taste in Taste:
        placed, unfit = _attempt(gang, waiting, snapshot, taste)
        if len(placed) >= needed:
            return Placed(tuple(placed), tuple(unfit.items()))
        first = unfit if first is None else first
    return first or {}


def _attempt(
    gang: Gang, waiting: Sequence[Pod], snapshot: Snapshot, taste: Taste
) -> tuple[list[tuple[Pod, str]], dict[Pod, Unfit]]:
    placed: list[tuple[Pod, str]] = []
    unfit: dict[Pod, Unfit] = {}
    used = dict(gang.queue.used)
    with snapshot.trying():
        for pod in waiting:
            if _over(used, pod.requests, gang.queue.capability):
                unfit[pod] = Unfit(len(snapshot.nodes), {}, f'queue "{gang.queue.name}" is at its capability')
                continue
            found = placing.place(pod, snapshot, taste)
            if isinstance(found, Unfit):
                unfit[pod] = found
                continue
            snapshot.add(pod, found.node.name)
            amounts.add(used, pod.requests)
            placed.append((pod, found.node.name))
    return placed, unfit


def kept_back(gang: Gang, snapshot: Snapshot) -> str:
    """Why the queue or minResources hold the gang back, or ""."""
    queue = gang.queue
    if not queue.exists:
        return f'queue "{queue.name}" not found'
    needed = max(0, gang.least - gang.holding(snapshot))
    first = gang.waiting(snapshot)[:needed]
    if missing := _over(queue.used, amounts.summed(pod.requests for pod in first), queue.capability):
        return f'queue "{queue.name}" is at its capability: {", ".join(missing)}'
    lesser = (pod for state in snapshot.nodes for pod in state.pods.values() if pod.priority < gang.priority)
    return _short(gang, snapshot, amounts.summed(pod.requests for pod in lesser) if gang.wanted else {})


def _short(gang: Gang, snapshot: Snapshot, might_go: Amounts) -> str:
    """The resources short of minResources even if all lower-priority pods were removed, or ""."""
    held = amounts.summed(pod.requests for pod in gang.members if snapshot.where(pod.uid))
    countable = {name for state in snapshot.nodes for name in state.node.allocatable} - {"pods"}
    short = [
        name
        for name, amount in counted(gang.wanted, snapshot.strict_resources).items()
        # Volcano also writes names such as `requests.cpu` and `count/pods` into minResources; these are not resources.
        if name in countable and amount - held.get(name, 0) > _free(name, snapshot) + might_go.get(name, 0)
    ]
    return f"not enough for minResources: {', '.join(sorted(short))}" if short else ""


def _over(used: Amounts, more: Amounts, cap: Amounts) -> list[str]:
    return sorted(name for name, limit in cap.items() if more.get(name) and used.get(name, 0) + more[name] > limit)


def _free(name: str, snapshot: Snapshot) -> int:
    return sum(max(0, state.free(name)) for state in snapshot.nodes)


# ------------------------------------------------------------------------------------------------------- preemption


def _room(gang: Gang, least: Sequence[Pod], snapshot: Snapshot, waits: Waits) -> MakeRoom | None:
    """Makes room for one member after the other, as for single pods; None unless there is room for all."""
    victims: dict[Pod, str] = {}
    nodes: list[str] = []
    members = [replace(pod, priority=gang.priority) for pod in least]
    with snapshot.trying():
        for member in members:
            found = placing.place(member, snapshot)
            if isinstance(found, Unfit):
                candidate = preemption.preempt(member, found, snapshot)
                if isinstance(candidate, str):
                    return None
                for victim in candidate.victims:
                    snapshot.remove(victim)
                    victims[victim] = candidate.node
                nodes.append(candidate.node)
            else:
                nodes.append(found.node.name)
            snapshot.add(member, nodes[-1])
        placed = dict(zip(members, nodes, strict=True))
        for victim in preemption.most_important_first(victims):
            if _may_stay(victim, victims[victim], placed, snapshot):
                del victims[victim]
    if not victims:
        return None
    gone = tuple(preemption.most_important_first(victims))
    return MakeRoom(tuple(zip(least, nodes, strict=True)), gone, waits)


def _may_stay(victim: Pod, home: str, placed: dict[Pod, str], snapshot: Snapshot) -> bool:
    """Puts a victim back if the members still fit, since other victims were removed too; whether it could."""
    snapshot.add(victim, home)
    if all(_fits(member, node, snapshot) for member, node in placed.items() if node == home or member.sociable):
        return True
    snapshot.remove(victim)
    return False


def _fits(member: Pod, node: str, snapshot: Snapshot) -> bool:
    """Whether a member placed on a node in the snapshot would still pass the filters there."""
    state = snapshot.node(node)
    snapshot.remove(member)
    checks = filters.checks(member, snapshot)
    fits = state is not None and not isinstance(checks, Refusal) and filters.first_refusal(checks, state) is None
    snapshot.add(member, node)
    return fits


def _room_is_coming(waiting: Sequence[Pod], gang: Gang, snapshot: Snapshot) -> bool:
    promised = {pod.nominated for pod in waiting if pod.nominated}
    states = [state for name in promised if (state := snapshot.node(name)) is not None]
    return any(
        pod.deleting and pod.preempted and pod.priority < gang.priority
        for state in states
        for pod in state.pods.values()
    )


# ---------------------------------------------------------------------------------------------------------- messages


def _message(gang: Gang, snapshot: Snapshot, unfit: dict[Pod, Unfit]) -> str:
    """As in Volcano: `2/3 tasks in gang unschedulable: pod group is not ready, 3 Pending, 3 minAvailable; ...`."""
    short = gang.least - gang.holding(snapshot)
    if unfit:
        short = max(1, short - (len(gang.waiting(snapshot)) - len(unfit)))
    states = Counter(_state(pod, snapshot) for pod in gang.members)
    states["minAvailable"] = gang.least
    text = f"{short}/{len(gang.members)} tasks in gang unschedulable: {NOT_READY}, {_listed(states)}"
    pending = Counter(
        "Unschedulable" if pod in unfit else "Schedulable" for pod in gang.members if _state(pod, snapshot) == "Pending"
    )
    return f"{text}; Pending: {_listed(pending)}" if unfit and pending else text


def _state(pod: Pod, snapshot: Snapshot) -> str:
    if pod.finished:
        return pod.phase
    if pod.deleting:
        return "Releasing"
    if not snapshot.where(pod.uid):
        return "Pending"
    return "Running" if pod.phase == "Running" else "Bound"


def _listed(counts: Counter[str]) -> str:
    return ", ".join(sorted(f"{count} {what}" for what, count in counts.items() if count))
