# SPDX-License-Identifier: Apache-2.0
"""Which workers train together, in which generation. Pure.

A *generation* is a group of workers that train together, in the order of their ranks. Another one follows when workers
join, leave or die:

    graceful    prepare ──► every old member answers with its boundary ──► switch at the boundary after the last of them
    broken      regroup: survivors drop their step, return to their last commit and continue from there together

A boundary is a point between two steps where a rank may change groups. A rank answers `prepare` at once with the last
boundary it has passed, and passes no other until it knows where to switch. So all members can stop at the same one, and
no rank has to finish a step before it answers: that step might need a rank that already waits.

New workers start, import and connect while the members train; the death of a worker that is not a member yet changes
nothing. Survivors keep their order and come first, so rank 0 has trained before and state is sent from old members to
new ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from springtide.elastic.launcher.state_machine.membership_actions import (
    Cancel,
    End,
    MembershipAction,
    Over,
    Prepare,
    Regroup,
    Spawn,
    Switch,
)
from springtide.elastic.launcher.state_machine.workers import Limits, Phase, Worker
from springtide.elastic.shared.members import Address, Member


@dataclass(slots=True)
class _Proposal:
    generation: int
    members: tuple[int, ...]
    asked: tuple[int, ...]
    """Old members, all of whom must answer."""
    answers: dict[int, int] = field(default_factory=dict)
    switching: bool = False


class Membership:
    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.workers: dict[int, Worker] = {}
        self.generation = 0
        self.members: tuple[int, ...] = ()
        self.held = False
        self.over: Over | None = None
        self._hosts: dict[str, int] = {}
        self._resting: frozenset[str] = frozenset()
        self._next_id = 0
        self._next_generation = 1
        self._proposal: _Proposal | None = None
        self._entered: set[int] = set()
        self._finished: set[int] = set()
        self._left: set[int] = set()
        self._called_back: set[int] = set()
        self._apart: set[int] = set()

    # Events

    def hosts(self, slots: Mapping[str, int], resting: Iterable[str] = ()) -> list[MembershipAction]:
        """The hosts that may be used now, in order of preference, and their slots. Nothing is started on hosts in
        back-off; workers that run there continue."""
        self._hosts, self._resting = dict(slots), frozenset(resting)
        return self._go_on()

    def rest(self, resting: Iterable[str]) -> None:
        """Start nothing on these hosts in back-off."""
        self._resting = frozenset(resting)

    def ready(self, id_: int, addresses: Iterable[Address]) -> list[MembershipAction]:
        worker = self.workers.get(id_)
        if worker is None or worker.phase is not Phase.STARTING:
            return []
        self.workers[id_] = replace(worker, phase=Phase.READY, addresses=tuple(addresses))
        return self._go_on()

    def at(self, id_: int, generation: int, boundary: int, commit: int) -> list[MembershipAction]:
        """A member's answer to `prepare`: the last boundary it passed, and that of its newest commit."""
        self._note_commit(id_, commit)
        proposal = self._proposal
        if proposal is not None and proposal.generation == generation and id_ in proposal.asked:
            proposal.answers.setdefault(id_, boundary)
        return self._go_on()

    def entered(self, id_: int, generation: int) -> list[MembershipAction]:
        """The process may have ended before its message is read: a rank that trains for a moment only."""
        if generation == self.generation and id_ in self.members:
            self._entered.add(id_)
            if (worker := self.workers.get(id_)) is not None:
                self.workers[id_] = replace(worker, trained=True)
        return self._go_on()

    def troubled(self, id_: int, commit: int) -> list[MembershipAction]:
        """A member lost another one. Which one died is known later; its newest commit is known now."""
        self._note_commit(id_, commit)
        return []

    def left(self, id_: int) -> list[MembershipAction]:
        """A worker left at the boundary of the switch."""
        self._left.add(id_)
        return []

    def finished(self, id_: int) -> list[MembershipAction]:
        """A worker's training function has returned. The others' return shortly, so no worker joins any more."""
        self._finished.add(id_)
        proposal, self._proposal = self._proposal, None
        # Members on their way into the worker's generation enter it. If it never entered that generation, no member
        # will.
        companions = self.members if id_ in self._entered else (id_,)
        late = [worker.id for worker in self.workers.values() if not worker.trained and worker.id not in companions]
        for each in late:
            del self.workers[each]
        self.members = tuple(each for each in self.members if each in self.workers)
        waiting = [] if proposal is None else [Cancel(tuple(self.workers), proposal.generation)]
        return [*waiting, *(End(each) for each in late), *self._go_on()]

    def ended_apart(self, id_: int) -> list[MembershipAction]:
        """A worker ended with code 0 before the first generation and never joined: its program does not train. When all
        workers do this the run is over; if another has joined, it would wait for this one forever."""
        self._apart.add(id_)
        return self._go_on()

    def settle_for_less(self) -> list[MembershipAction]:
        """Begin with as many workers as a run needs to continue."""
        self.limits = replace(self.limits, start=self.limits.least)
        return self._regrouped()

    def disrupted(self) -> list[MembershipAction]:
        """Members lost their connections to each other, and none of them is dead: they regroup."""
        return self._broken() if self.members and not self.over else []

    def gone(self, id_: int) -> list[MembershipAction]:
        """A worker's process has ended, or counts as dead. If it has finished or left, no other worker waits for it."""
        worker = self.workers.pop(id_, None)
        if worker is None or self.over:
            return []
        if id_ in self._finished:
            return self._go_on()
        if self._proposal is not None and id_ in (*self._proposal.members, *self._proposal.asked):
            return self._gone_while_switching(id_)
        return self._broken() if self._missed(worker) else self._go_on()

    def _missed(self, worker: Worker) -> bool:
        """Whether other workers wait for this one: members of its generation do, and so do those that still train with
        it until they reach the boundary where it leaves."""
        if worker.id in self.members:
            return True
        arrived = worker.id in self._left or self._entered.issuperset(self.members)
        return worker.phase is Phase.LEAVING and not arrived

    def spent(self, id_: int) -> bool:
        """Whether this worker was expected to end."""
        worker = self.workers.get(id_)
        return worker is None or id_ in self._finished or worker.phase is Phase.LEAVING

    def called_back(self, id_: int) -> bool:
        """Whether a leaving worker was made a member again, and may have ended before it received that."""
        return id_ in self._called_back and id_ not in self._entered

    def done(self, id_: int) -> bool:
        """Whether the worker's program has ended, or has finished training."""
        return id_ in self._finished or id_ in self._apart

    @property
    def finishing(self) -> bool:
        return bool(self._finished or self._apart)

    # Decisions

    def _go_on(self) -> list[MembershipAction]:
        if self.over:
            return []
        if self._finished:
            return self._end(Over(succeeded=True)) if self._finished.issuperset(self.workers) else []
        if self._apart:
            return self._apart_or_together()
        return [*self._placed(), *self._regrouped()]

    def _apart_or_together(self) -> list[MembershipAction]:
        if any(worker.phase is not Phase.STARTING for worker in self.workers.values()):
            return self._end(Over(succeeded=False, why="a worker ended before it joined the others"))
        return self._end(Over(succeeded=True)) if self._apart.issuperset(self.workers) else []

    def _placed(self) -> list[MembershipAction]:
        """Starts a worker for every usable slot, and ends workers without a slot."""
        actions = [action for worker in list(self.workers.values()) for action in self._judged(worker)]
        actions += self._surplus()
        # A worker that has not left yet keeps its slot.
        occupied = {(worker.host, worker.slot) for worker in self.workers.values()}
        staying = sum(not worker.leaving for worker in self.workers.values())
        free = [place for place in self._places() if place not in occupied]
        for host, slot in free if self.limits.most is None else free[: max(self.limits.most - staying, 0)]:
            worker = Worker(self._next_id, host, slot)
            self._next_id += 1
            self.workers[worker.id] = worker
            actions.append(Spawn(worker))
        return actions

    def _surplus(self) -> list[MembershipAction]:
        """Ends new workers that were to replace a member whose host is listed again, the youngest first."""
        if self.limits.most is None:
            return []
        staying = [worker.id for worker in self.workers.values() if not worker.leaving]
        planned = (*self.members, *(self._proposal.members if self._proposal is not None else ()))
        newcomers = sorted((id_ for id_ in staying if id_ not in planned), reverse=True)
        surplus = newcomers[: max(len(staying) - self.limits.most, 0)]
        for id_ in surplus:
            del self.workers[id_]
        return [End(id_) for id_ in surplus]

    def _places(self) -> list[tuple[str, int]]:
        usable = ((host, slots) for host, slots in self._hosts.items() if host not in self._resting)
        return [(host, slot) for host, slots in usable for slot in range(slots)]

    def _judged(self, worker: Worker) -> list[MembershipAction]:
        """Whether a worker may stay. If its host is listed again before it has left, it stays."""
        fits = worker.slot < self._hosts.get(worker.host, 0)
        planned = self._proposal.members if self._proposal is not None else self.members
        if worker.phase is Phase.LEAVING:
            return []
        if not fits and worker.id not in (*self.members, *planned):
            del self.workers[worker.id]
            return [End(worker.id)]
        if not fits or worker.id in planned or worker.phase is Phase.READY:
            self.workers[worker.id] = replace(worker, leaving=not fits)
        return []

    def _regrouped(self) -> list[MembershipAction]:
        if self._proposal is not None:
            return self._advanced(self._proposal)
        if self.members and not self._entered.issuperset(self.members):
            return []
        wanted = self._wanted()
        if not self.members:
            enough = self.limits.start if self.generation == 0 else self.limits.least
            return self._form(wanted, fresh=True) if len(wanted) >= max(enough, 1) else []
        return self._propose(wanted) if wanted != self.members else []

    def _wanted(self) -> tuple[int, ...]:
        """Old members that stay, in their order, and then new ones. If no old member stays, one remains until it has
        handed over the state; without new ones all of them do."""
        stay = [id_ for id_ in self.members if not self.workers[id_].leaving]
        ready = (worker for worker in self.workers.values() if worker.phase is Phase.READY and not worker.leaving)
        newcomers = [worker.id for worker in sorted(ready, key=lambda each: each.id)]
        if not stay:
            stay = list(self.members[:1] if newcomers else self.members)
        room = None if self.limits.most is None else max(self.limits.most - len(stay), 0)
        return (*stay, *newcomers[:room])

    def _propose(self, wanted: tuple[int, ...]) -> list[MembershipAction]:
        if self._out_of_resets():
            return self._end(Over(succeeded=False, why="the limit of resets is reached"))
        self._proposal = _Proposal(self._new_generation(), wanted, self.members)
        everybody = tuple(dict.fromkeys((*self.members, *wanted)))
        return [Prepare(everybody, self._proposal.generation, self._described(wanted))]

    def _advanced(self, proposal: _Proposal) -> list[MembershipAction]:
        if proposal.switching or len(proposal.answers) < len(proposal.asked):
            return []
        proposal.switching = True
        boundary = max(proposal.answers.values()) + (0 if self.held else 1)
        hold = len(proposal.members) < self.limits.least
        everybody = tuple(dict.fromkeys((*proposal.asked, *proposal.members)))
        # At one boundary all members have the same state; the last old member is next to the first new one.
        source = max(rank for rank, id_ in enumerate(proposal.members) if id_ in self.members)
        action = Switch(everybody, proposal.generation, boundary, source, hold)
        self._proposal = None
        for id_ in proposal.asked:
            self.workers[id_] = replace(self.workers[id_], phase=Phase.LEAVING)
        self._become(proposal.generation, proposal.members, hold)
        return [action]

    def _gone_while_switching(self, id_: int) -> list[MembershipAction]:
        proposal, self._proposal = self._proposal, None
        assert proposal is not None
        if id_ in self.members:
            return self._broken()
        others = tuple(each for each in dict.fromkeys((*proposal.asked, *proposal.members)) if each in self.workers)
        return [Cancel(others, proposal.generation), *self._go_on()]

    def _broken(self) -> list[MembershipAction]:
        """A member died: the survivors return to their last commit. Leaving workers end at once; they become members
        again only if no other worker has the state."""
        self._proposal = None
        self.members = tuple(id_ for id_ in self.members if id_ in self.workers)
        leavers = [worker for worker in self.workers.values() if worker.phase is Phase.LEAVING]
        if not self.members:
            self.members, leavers = tuple(worker.id for worker in leavers), []
            self._called_back.update(self.members)
        if self._finished:
            return self._end(Over(succeeded=False, why="a worker died while others had finished"))
        if self._out_of_resets():
            return self._end(Over(succeeded=False, why="the limit of resets is reached"))
        actions: list[MembershipAction] = [End(worker.id) for worker in leavers]
        for worker in leavers:
            del self.workers[worker.id]
        actions += self._placed()
        if self.members:
            return [*actions, *self._form(self._wanted(), fresh=False)]
        self._entered.clear()
        return [*actions, *self._regrouped()]

    def _form(self, wanted: tuple[int, ...], *, fresh: bool) -> list[MembershipAction]:
        generation, hold = self._new_generation(), len(wanted) < self.limits.least
        left_out = tuple(id_ for id_ in self.members if id_ not in wanted)
        source = 0 if fresh else self._source(wanted)
        self._become(generation, wanted, hold)
        action = Regroup(wanted, generation, self._described(wanted), source, fresh, hold)
        return [action, *(End(id_) for id_ in left_out)]

    def _become(self, generation: int, members: tuple[int, ...], hold: bool) -> None:
        self.generation, self.members, self.held = generation, members, hold
        self._entered = set()
        for id_ in members:
            self.workers[id_] = replace(self.workers[id_], phase=Phase.MEMBER)

    def _source(self, wanted: tuple[int, ...]) -> int:
        """The rank that sends its state to all others: the old member with the newest commit."""
        old = [id_ for id_ in wanted if id_ in self.members]
        return wanted.index(max(old, key=lambda id_: (self.workers[id_].commit, wanted.index(id_))))

    def _described(self, wanted: tuple[int, ...]) -> tuple[Member, ...]:
        seen: dict[str, int] = {}
        found = []
        for rank, id_ in enumerate(wanted):
            worker = self.workers[id_]
            local = seen[worker.host] = seen.get(worker.host, -1) + 1
            found.append(Member(id_, rank, worker.host, local, worker.addresses))
        return tuple(found)

    def _new_generation(self) -> int:
        self._next_generation += 1
        return self._next_generation - 1

    def _out_of_resets(self) -> bool:
        return self.limits.resets is not None and self.generation > self.limits.resets

    def _note_commit(self, id_: int, commit: int) -> None:
        if id_ in self.workers:
            self.workers[id_] = replace(self.workers[id_], commit=max(commit, self.workers[id_].commit))

    def _end(self, over: Over) -> list[MembershipAction]:
        self.over = over
        return [over]
