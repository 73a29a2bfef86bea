# SPDX-License-Identifier: Apache-2.0
"""A run from its first host to its exit code: what is heard of hosts, agents and ranks, and what is done about it.

Pure; time is a parameter. `Membership` decides who trains together. Here is decided who counts as dead, which ends are
failures, which hosts rest after them, and when the run is over:

    agent's connection closed, or silent for 2 s      dead
    rank's connection closed, and its end not told    dead, a second later
    rank silent for --heartbeat-timeout               hung: killed
    ranks lost sight of each other, nobody dead       they start over, after three seconds
    no way from one rank to another                   the younger of them is killed
    the program failed by itself on every host        no use in trying again: the run fails
    fewer ranks than it takes for --elastic-timeout   the run fails
"""

from __future__ import annotations

import signal
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from springtide.elastic.launcher import hosts
from springtide.elastic.launcher.state_machine import failures
from springtide.elastic.launcher.state_machine.failures import Failure
from springtide.elastic.launcher.state_machine.final_checkpoint import PATIENCE, Saving
from springtide.elastic.launcher.state_machine.host_backoff import Cooling
from springtide.elastic.launcher.state_machine.liveness import Seat, named, place
from springtide.elastic.launcher.state_machine.membership import Membership
from springtide.elastic.launcher.state_machine.membership_actions import (
    Cancel,
    End,
    Order,
    Over,
    Prepare,
    Regroup,
    Spawn,
    Switch,
)
from springtide.elastic.launcher.state_machine.membership_changes import NAMED, Changes, Idle
from springtide.elastic.launcher.state_machine.program_failures import Blame
from springtide.elastic.launcher.state_machine.quorum import Muster, Shortage
from springtide.elastic.launcher.state_machine.run_actions import Deed, Drop, Kill, Say, Start, Tell
from springtide.elastic.launcher.state_machine.workers import Limits
from springtide.elastic.shared.members import Address, Member

_SIGHT_LOST: Final = 3.0
_STALLED: Final = 1.0
"""A launcher that did not run itself for so long cannot blame others for silence."""
_ENDING: Final = 8.0
"""Seconds for everybody to end when the run is over."""
_NO_MORE_COME: Final = 15.0
"""Seconds after which a list of hosts that is too short to begin with is taken for what is meant."""
_LATE: Final = 5.0
"""Seconds after which a host whose ranks have not joined is said to have none that train."""
_LONG: Final = 10.0
_AGAIN: Final = 60.0
"""Seconds until it is said whom a run waits for that is over, and until it is said again."""


@dataclass(frozen=True, slots=True)
class Settings:
    limits: Limits
    elastic: bool
    cooldown: tuple[float, float]
    elastic_timeout: float
    heartbeat_timeout: float


@dataclass(slots=True)
class _Close:
    """The run is over; its processes end."""

    code: int
    since: float
    patient: bool
    """They end by themselves, and may take their time."""
    notice: float = field(init=False)
    """When to say that they do."""

    def __post_init__(self) -> None:
        self.notice = self.since + _LONG


class Course:
    def __init__(self, settings: Settings, now: float) -> None:
        self.settings = settings
        self.membership = Membership(settings.limits)
        self.seats: dict[int, Seat] = {}
        self.first_failure: Failure | None = None
        self.listing = 0
        """How often the hosts that are listed have changed."""
        self.changes = Changes()
        self._cooling = Cooling(*settings.cooldown)
        self._listed: dict[str, int] = {}
        self._resting: frozenset[str] = frozenset()
        self._troubled: float | None = None
        self._regrouped = 0
        """The last generation that was not entered gracefully: what was wrong before has been dealt with."""
        self._blame = Blame()
        self._shortage = Shortage(now)
        self._newest = -1
        """The worker that was started last."""
        self._deserted = False
        """It was told that some ended while others still trained."""
        self._ticked = now
        self._saving = Saving()
        self._close: _Close | None = None

    # What is known

    @property
    def exit_code(self) -> int | None:
        """None as long as there is something to wait for."""
        if self._close is None or not all(seat.ended for seat in self.seats.values()):
            return None
        return self._close.code

    @property
    def began(self) -> bool:
        return self.membership.generation > 0

    @property
    def hosts_in_use(self) -> list[str]:
        return list(dict.fromkeys(seat.worker.host for seat in self.seats.values() if not seat.ended))

    @property
    def training_hosts(self) -> int | None:
        """Hosts that ranks train on; none while there are too few ranks. None as long as nobody has joined: programs
        that do not use the library never do."""
        if not self.began and not self._too_few():
            return None
        members = () if self.membership.held else self.membership.members
        return len({self.seats[id_].worker.host for id_ in members if id_ in self.seats})

    def idle(self, now: float) -> list[Idle]:
        """Listed hosts without a rank that trains, and why; the first few. One that has just been listed, or whose
        rank is being started, is not idle yet; nor is any before ranks have begun to wait for others."""
        training = {self.seats[id_].worker.host for id_ in self.membership.members if id_ in self.seats}
        without = [host for host in self._listed if host not in training]
        found = self._too_few()
        if not without or not (self.began or found):
            return found
        resting, youngest = self._cooling.resting(now), dict[str, Seat]()
        for seat in self._alive():
            youngest[seat.worker.host] = seat  # later ones were started later
        for host in without:
            if len(found) >= NAMED:
                break
            if (why := self._idle_because(host, youngest.get(host), resting, now)) is not None:
                found.append(Idle(host, why, resting.get(host)))
        return found

    def _too_few(self) -> list[Idle]:
        if not self.membership.held and (self.began or not self._shortage.noticed):
            return []
        muster = self._muster()
        have = "has" if muster.joined == 1 else "have"
        return (
            [Idle("", f"{muster.joined} of {muster.needed} required ranks {have} joined")] if not muster.enough else []
        )

    def _idle_because(self, host: str, seat: Seat | None, resting: Mapping[str, float], now: float) -> str | None:
        most = self.membership.limits.most
        if host in resting:
            return "rests after a failure"
        if seat is None:
            full = self.began and most is not None and len(self.membership.workers) >= most
            return f"is not needed with --max-np {most}" if full else None
        if now - seat.since < _LATE:
            return None
        return "runs a rank that has not joined" if seat.called else "does not answer"

    def label(self, id_: int) -> str:
        seat = self.seats.get(id_)
        return seat.label if seat is not None else str(id_)

    # What is heard of hosts

    def listed(self, slots: Mapping[str, int], now: float) -> list[Deed]:
        if dict(slots) == self._listed:
            return []
        self._listed = dict(slots)
        self.listing += 1
        self._cooling.listed(slots, now)
        self._blame.listed(slots)
        return [Tell(f"hosts: {hosts.described(slots)}", detail=True), *self._rehosted(now)]

    def start_failed(self, id_: int, why: str, now: float) -> list[Deed]:
        seat = self._living(id_)
        if seat is None or seat.called:
            return []
        self._blame.not_started(seat.worker.host)
        return self._lost(seat, Failure(id_, seat.label, seat.worker.host, f"could not be started: {why}"), now)

    # What is heard of agents

    def called(self, id_: int, now: float) -> list[Deed]:
        seat = self._living(id_)
        if seat is None:
            return [Drop(id_)]
        seat.called, seat.agent_heard = True, now
        self._blame.started(seat.worker.host)
        return [Tell(f"[{seat.label}] runs on {seat.worker.host}", detail=True)]

    def started(self, id_: int) -> None:
        if (seat := self.seats.get(id_)) is not None:
            seat.started = True

    def agent_heard(self, id_: int, now: float) -> None:
        if (seat := self.seats.get(id_)) is not None:
            seat.agent_heard = now

    def agent_lost(self, id_: int, why: str, now: float) -> list[Deed]:
        seat = self._living(id_)
        if seat is None:
            return []
        return [Drop(id_), *self._lost(seat, Failure(id_, seat.label, seat.worker.host, why), now)]

    def exited(self, id_: int, code: int, number: int, now: float) -> list[Deed]:
        """Its process has ended, by itself or by a signal."""
        seat = self._living(id_)
        if seat is None:
            return []
        well = code == 0 and number == 0
        if well:
            self.membership.left(id_)  # its own word may come later
        if well and not self._leaving(id_):
            return self._ended_well(seat, now)
        why, own = failures.by_exit(code, number), failures.own(number)
        failure = Failure(id_, seat.label, seat.worker.host, why, failures.exit_code(code, number), own)
        return self._lost(seat, failure, now)

    # What is heard of ranks

    def rank_heard(self, id_: int, now: float) -> None:
        if (seat := self.seats.get(id_)) is not None:
            seat.rank_heard = now

    def joined(self, id_: int, addresses: Iterable[Address], now: float) -> list[Deed]:
        seat = self._living(id_)
        if seat is None:
            return [Drop(id_)]
        seat.joined, seat.rank_heard, seat.rank_closed = True, now, None
        return self._carry_out(self.membership.ready(id_, addresses), now)

    def at(self, id_: int, generation: int, boundary: int, commit: int, now: float) -> list[Deed]:
        return self._carry_out(self.membership.at(id_, generation, boundary, commit), now)

    def entered(self, id_: int, generation: int, now: float) -> list[Deed]:
        if (seat := self.seats.get(id_)) is not None:
            self._blame.trained(seat.worker.host)
        if not self.membership.held:
            self._shortage.trained()
        if len(self.membership.members) >= self.settings.limits.start:
            self.first_failure = None
        return self._carry_out(self.membership.entered(id_, generation), now)

    def troubled(self, id_: int, generation: int, commit: int, now: float) -> list[Deed]:
        """Whose death it was is heard in a moment, if it was one. It waits until all start over."""
        if generation >= self._regrouped and self._troubled is None:
            self._troubled = now
        return [*self._deserters(id_), *self._carry_out(self.membership.troubled(id_, commit), now)]

    def _deserters(self, id_: int) -> list[Deed]:
        """A program whose ranks do not all come to their end together is wrong, and hard to see through."""
        done = [seat for seat in self.seats.values() if self.membership.done(seat.worker.id)]
        if not done or self._deserted or self.membership.done(id_):
            return []
        self._deserted = True
        return [Tell(f"{named(done)} ended while others still trained")]

    def unreachable(self, id_: int, generation: int, other: int, now: float) -> list[Deed]:
        """A member finds no way to another one, though both are heard of here: they cannot be in one group."""
        members = self.membership.members
        if generation != self.membership.generation or not {id_, other} <= set(members):
            return []
        spared, victim = sorted((id_, other), key=members.index)
        seat, away = self.seats[victim], self.seats[spared].worker.host
        why = f"cannot be reached from {away}" if victim == other else f"cannot reach {away}"
        failure = Failure(victim, seat.label, seat.worker.host, why)
        return [Kill(victim, signal.SIGKILL), *self._lost(seat, failure, now, ended=False)]

    def left(self, id_: int, now: float) -> list[Deed]:
        if (seat := self.seats.get(id_)) is not None:
            seat.left = now
        return self._carry_out(self.membership.left(id_), now)

    def finished(self, id_: int, now: float) -> list[Deed]:
        return self._carry_out(self.membership.finished(id_), now)

    def keeps_checkpoints(self) -> None:
        self._saving.possible = True

    def checkpoint_written(self, now: float) -> list[Deed]:
        self._saving.possible = True
        return self._ended_by(signal.SIGTERM, now) if self._saving.written() else []

    def rank_lost(self, id_: int, now: float) -> None:
        """Its connection closed. How it ended is heard from its agent in a moment."""
        seat = self._living(id_)
        if seat is not None:
            seat.rank_closed = now

    # What the user says

    def interrupted(self, number: int, now: float) -> list[Deed]:
        """Once it is a request; twice it is an order. SIGTERM leaves time for a checkpoint."""
        if self._close is not None and not self._close.patient:
            return [Kill(seat.worker.id, signal.SIGKILL) for seat in self._alive()]
        trains = self.began and self._close is None
        if number == signal.SIGTERM and trains and self._saving.begin(now):
            text = f"SIGTERM: a checkpoint is written at the next commit, for which there are {PATIENCE:g} s"
            return [Tell(text), Say(self.membership.members, "keep", {})]
        return self._ended_by(number, now)

    def _ended_by(self, number: int, now: float) -> list[Deed]:
        if self._close is not None and not self._close.patient:
            return []
        self._close = _Close(128 + number, now, patient=False)
        return [Tell(f"{signal.Signals(number).name}: everybody is told to end"), *self._everybody_ends()]

    def fail(self, why: str, now: float) -> list[Deed]:
        """For a reason that lies outside."""
        return self._fail(why, now)

    # What time brings

    def tick(self, now: float) -> list[Deed]:
        stalled = max(now - self._ticked - _STALLED, 0.0)
        self._ticked = now
        deeds: list[Deed] = []
        for seat in self._alive():
            seat.agent_heard += stalled
            seat.rank_heard += stalled
            deeds += self._judged(seat, now)
        if self._close is not None:
            return [*deeds, *self._closed(self._close, now)]
        if self._saving.overdue(now):
            text = f"no checkpoint was written in {PATIENCE:g} s: what was trained since the last one is lost"
            return [*deeds, Tell(text), *self._ended_by(signal.SIGTERM, now)]
        if self._resting != frozenset(self._cooling.resting(now)):
            deeds += self._rehosted(now)
        return [*deeds, *self._reunited(now), *self._waited(now)]

    def _judged(self, seat: Seat, now: float) -> list[Deed]:
        """Whether it is still alive, by what was heard of it."""
        id_, patience = seat.worker.id, self.settings.heartbeat_timeout
        if (why := seat.lost(now)) is not None:
            return self.agent_lost(id_, why, now)
        if seat.left is not None and now - seat.left > patience:
            seat.left = now
            return [Kill(id_, signal.SIGTERM)]
        if self._excused(id_) or (why := seat.hung(now, patience)) is None:
            return []
        failure = Failure(id_, seat.label, seat.worker.host, why)
        return [Kill(id_, signal.SIGKILL), *self._lost(seat, failure, now, ended=False)]

    def _reunited(self, now: float) -> list[Deed]:
        if self._troubled is None or now - self._troubled <= _SIGHT_LOST:
            return []
        self._troubled = None
        if self.membership.finishing:
            return self._fail("ranks that still train cannot go on without those that have ended", now)
        text = "ranks lost sight of each other, and nobody is found dead: they start over from their last commit"
        return [Tell(text), *self._carry_out(self.membership.disrupted(), now)]

    def _waited(self, now: float) -> list[Deed]:
        """Whether there are enough to begin, or to go on."""
        muster = self._muster()
        if muster.enough or self.membership.finishing:
            self._shortage.over(now)
            return []
        timeout = self.settings.elastic_timeout
        fatal = self.settings.elastic or not muster.waits_to_join
        if self._shortage.lasted(now) > timeout and fatal:
            return self._fail(f"after {timeout:g} s {muster}{self._obstacles(now)}", now)
        if self._shortage.lasted(now) > _NO_MORE_COME and self._may_begin_with(muster.joined):
            return [Tell(f"{muster}; no more hosts came: it begins so"), *self._settled(now)]
        notice = self._shortage.notice(muster, now)
        return [Tell(f"{notice}{self._obstacles(now)}")] if notice is not None else []

    def _may_begin_with(self, joined: int) -> bool:
        """A job that was made smaller and whose launcher began anew would wait for `-np` workers in vain."""
        limits = self.membership.limits
        offered = sum(self._listed.values())
        return self.settings.elastic and not self.began and offered < limits.start and limits.least <= joined == offered

    def _settled(self, now: float) -> list[Deed]:
        return self._carry_out(self.membership.settle_for_less(), now)

    def _muster(self) -> Muster:
        there = [seat for seat in self._alive() if seat.called and not self._leaving(seat.worker.id)]
        late = [seat for seat in there if not seat.joined]
        limits = self.membership.limits
        needed = limits.least if self.began else limits.start
        return Muster(needed, len(there), len(there) - len(late), named(late))

    def _obstacles(self, now: float) -> str:
        resting = self._cooling.resting(now)
        rest = [f"{host} rests for {until - now:.0f} s after a failure" for host, until in resting.items()]
        return "".join(f"; {each}" for each in (f"hosts: {hosts.described(self._listed)}", *rest))

    # What is decided

    def _rehosted(self, now: float) -> list[Deed]:
        self._resting = frozenset(self._cooling.resting(now))
        return self._carry_out(self.membership.hosts(self._cooling.preferred(self._listed), self._resting), now)

    def _ended_well(self, seat: Seat, now: float) -> list[Deed]:
        id_ = seat.worker.id
        if not self.began:
            seat.ended = True
            return self._carry_out(self.membership.ended_apart(id_), now)
        if not seat.joined and not self.membership.spent(id_):
            return self._lost(
                seat, Failure(id_, seat.label, seat.worker.host, "ended before it joined the others"), now
            )
        seat.ended = True
        gone = self.membership.spent(id_) or seat.left is not None or self.membership.called_back(id_)
        done = [] if gone else self.membership.finished(id_)
        return self._carry_out([*done, *self.membership.gone(id_)], now)

    def _lost(self, seat: Seat, failure: Failure, now: float, *, ended: bool = True) -> list[Deed]:
        """A worker is no more. That it was on its way out, or had been told to go, makes it no failure."""
        id_ = seat.worker.id
        through = self.membership.done(id_)
        expected = self.membership.spent(id_) or self._leaving(id_) or self._close is not None
        seat.ended = ended
        if through and failure.own:
            return self._failed_at_the_end(failure, now)
        if expected:
            gone = self._carry_out(self.membership.gone(id_), now)
            return [Tell(f"{failure}, as it was to go", detail=True), *gone]
        return self._failed(seat, failure, now)

    def _failed_at_the_end(self, failure: Failure, now: float) -> list[Deed]:
        """It had trained to the end, and failed in what came after."""
        if self.first_failure is None or not self.membership.done(self.first_failure.id):
            self.first_failure = failure
        if self._close is not None:
            self._close.code = self._close.code or failure.code
            return [Tell(str(failure))]
        return [Tell(str(failure)), *self._carry_out(self.membership.gone(failure.id), now)]

    def _failed(self, seat: Seat, failure: Failure, now: float) -> list[Deed]:
        self.first_failure = self.first_failure or failure
        self.changes.lost(failure.id, failure.host, failure.why, now)
        if seat.called:
            self._blame.failed(failure, self._newest)
        if not self.settings.elastic:
            return self._fail(str(failure), now)
        self._resting_after(seat.worker.host, now)
        rest = self._cooling.resting(now)[seat.worker.host] - now
        deeds: list[Deed] = [Tell(f"{failure}; nothing is started there for {rest:.0f} s")]
        deeds += self._carry_out(self.membership.gone(failure.id), now)
        if self._blame.everywhere(self._listed.keys()) and not any(each.called for each in self._alive()):
            return [*deeds, *self._fail("the program failed everywhere", now)]
        return deeds

    def _resting_after(self, host: str, now: float) -> None:
        self._cooling.failed(host, now)
        self._resting = frozenset(self._cooling.resting(now))
        self.membership.rest(self._resting)

    def _carry_out(self, orders: Sequence[Order], now: float) -> list[Deed]:
        return [deed for order in orders if self._close is None for deed in self._carried_out(order, now)]

    def _carried_out(self, order: Order, now: float) -> list[Deed]:
        match order:
            case Spawn(worker):
                self._newest = worker.id
                self.seats[worker.id] = Seat(worker, place(worker) if self.began else str(worker.id), since=now)
                return [Start(worker)]
            case End(id_):
                return [Kill(id_, signal.SIGTERM)]
            case Prepare(to, generation, members):
                return [Say(to, "prepare", {"generation": generation, "members": _written(members)})]
            case Cancel(to, generation):
                return [Say(to, "cancel", {"generation": generation})]
            case Over():
                return self._over(order, now)
            case Switch() | Regroup():
                return self._grouped(order, now)

    def _grouped(self, order: Switch | Regroup, now: float) -> list[Deed]:
        for seat in self._alive():  # those that leave and those that come bear no number, which is another's now
            seat.label = place(seat.worker)
        for rank, id_ in enumerate(self.membership.members):
            self.seats[id_].label = str(rank)
        self.changes.grouped({id_: self.seats[id_].worker.host for id_ in self.membership.members}, now)
        words: dict[str, Any] = {"generation": order.generation, "source": order.source, "hold": order.hold}
        size = len(self.membership.members)
        tell = Tell(f"generation {order.generation}: {size} {'rank' if size == 1 else 'ranks'}", detail=True)
        if isinstance(order, Regroup):
            self._regrouped, self._troubled = order.generation, None
        if isinstance(order, Switch):
            return [tell, Say(order.to, "switch", words | {"boundary": order.boundary})]
        return [tell, Say(order.to, "regroup", words | {"members": _written(order.members), "fresh": order.fresh})]

    def _over(self, over: Over, now: float) -> list[Deed]:
        if not over.succeeded:
            return self._fail(over.why, now)
        self._close = _Close(self._code_at_the_end(), now, patient=True)
        late = [seat for seat in self._alive() if not self.membership.done(seat.worker.id)]
        return [Kill(seat.worker.id, signal.SIGTERM) for seat in late]

    def _code_at_the_end(self) -> int:
        """Who failed while others trained on is forgotten. Programs that do not train do nothing for each other: one
        that failed is made good only by another in its place that ended well."""
        failure = self.first_failure
        if failure is None:
            return 0
        if self.began:
            return failure.code if self.membership.done(failure.id) else 0
        limits, slots = self.settings.limits, hosts.total(self._listed)
        wanted = slots if limits.most is None else min(slots, limits.most)
        well = len(self.membership.workers)
        return failure.code if well < (wanted if self._blame.anybody else limits.start) else 0

    def _fail(self, why: str, now: float) -> list[Deed]:
        if self._close is not None:
            return []
        self._close = _Close(self.first_failure.code if self.first_failure else 1, now, patient=False)
        return [Tell(why), *self._everybody_ends()]

    def _everybody_ends(self) -> list[Deed]:
        return [Kill(seat.worker.id, signal.SIGTERM) for seat in self._alive()]

    def _closed(self, close: _Close, now: float) -> list[Deed]:
        """Nobody is waited for for ever who was told to end; nobody in silence who is to end by itself."""
        left = self._alive()
        if close.patient and left and now >= close.notice:
            close.notice = now + _AGAIN
            return [Tell(f"waiting for {named(left)} to end")]
        if close.patient or now - close.since < _ENDING:
            return []
        for seat in left:
            seat.ended = True
        return [Drop(seat.worker.id) for seat in left]

    def given_up(self, id_: int) -> None:
        """Its start was given up, as was ordered."""
        if (seat := self.seats.get(id_)) is not None:
            seat.ended = True

    def forgotten(self, id_: int) -> bool:
        """Whether it is of no interest any more, and not known from now on."""
        of_interest = self.first_failure is not None and self.first_failure.id == id_
        if of_interest or self._living(id_) or id_ in self.membership.workers or self.membership.done(id_):
            return False
        self.seats.pop(id_, None)
        return True

    def _alive(self) -> list[Seat]:
        return [seat for seat in self.seats.values() if not seat.ended]

    def _living(self, id_: int) -> Seat | None:
        seat = self.seats.get(id_)
        return None if seat is None or seat.ended else seat

    def _excused(self, id_: int) -> bool:
        """Whether nobody waits for it any more."""
        return id_ not in self.membership.workers or self.membership.done(id_)

    def _leaving(self, id_: int) -> bool:
        worker = self.membership.workers.get(id_)
        return worker is None or worker.leaving


def _written(members: Iterable[Member]) -> list[list[Any]]:
    return [
        [member.id, member.rank, member.host, member.local_rank, [list(address) for address in member.addresses]]
        for member in members
    ]
