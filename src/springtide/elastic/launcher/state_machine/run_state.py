# SPDX-License-Identifier: Apache-2.0
"""A run from its first host to its exit code: which ranks are dead, which exits are failures, when the run is over.

Pure; time is a parameter. `Membership` decides which ranks train together; this module decides the rest:

    agent's connection closed, or silent for 2 s       the rank is dead
    rank's connection closed, no exit reported         the rank is dead, a second later
    rank silent for --heartbeat-timeout                the rank hangs: it is killed
    ranks lost each other, but all of them live        they return to their last commit, after three seconds
    no connection from one rank to another             the rank of the higher number is killed
    the program failed by itself on every host         the run fails
    too few ranks for --elastic-timeout                the run fails

Only `Machine` calls the handlers, one for each kind of event; they return the actions to carry out.
"""

from __future__ import annotations

import signal
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from springtide.elastic.launcher import hosts
from springtide.elastic.launcher.state_machine.membership import Membership
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
from springtide.elastic.launcher.state_machine.membership_changes import NAMED, Changes, Idle
from springtide.elastic.launcher.state_machine.policies import failures, idle_hosts
from springtide.elastic.launcher.state_machine.policies.failures import Failure
from springtide.elastic.launcher.state_machine.policies.final_checkpoint import PATIENCE, FinalCheckpoint
from springtide.elastic.launcher.state_machine.policies.host_backoff import HostBackoff
from springtide.elastic.launcher.state_machine.policies.liveness import Process, named, place
from springtide.elastic.launcher.state_machine.policies.program_failures import ProgramFailures
from springtide.elastic.launcher.state_machine.policies.quorum import Quorum, Shortage
from springtide.elastic.launcher.state_machine.run_actions import Disconnect, Kill, Log, RunAction, Send, Start
from springtide.elastic.launcher.state_machine.settings import Settings
from springtide.elastic.protocol import rank_messages
from springtide.elastic.shared.members import Address

_SIGHT_LOST: Final = 3.0
_ENDING: Final = 8.0
"""Seconds in which all processes must end when the run is over."""
_NO_MORE_COME: Final = 15.0
"""Seconds after which a run begins on the listed hosts, even with fewer than `-np` slots."""
_LONG: Final = 10.0
_AGAIN: Final = 60.0
"""Seconds until a message names the ranks that a run that is over waits for, and between two such messages."""


@dataclass(slots=True)
class _Close:
    """The run is over, and its processes end."""

    code: int
    since: float
    patient: bool
    """The processes end by themselves and have no deadline."""
    notice: float = field(init=False)
    """When to log that the run waits for them."""

    def __post_init__(self) -> None:
        self.notice = self.since + _LONG


class RunState:
    def __init__(self, settings: Settings, now: float) -> None:
        self.settings = settings
        self.membership = Membership(settings.limits)
        self.processes: dict[int, Process] = {}
        self.first_failure: Failure | None = None
        self.interrupted = False
        """A signal ended the run."""
        self.listing = 0
        """How often the host list has changed."""
        self.changes = Changes()
        self._backoff = HostBackoff(*settings.cooldown)
        self._listed: dict[str, int] = {}
        self._resting: frozenset[str] = frozenset()
        self._troubled: float | None = None
        self._regrouped = 0
        """The last generation that followed a death. Reports of trouble in earlier ones are obsolete."""
        self._program_failures = ProgramFailures()
        self._shortage = Shortage(now)
        self._newest = -1
        """The worker that was started last."""
        self._deserted = False
        """It was logged that some ranks ended while others still trained."""
        self._final_checkpoint = FinalCheckpoint()
        self._close: _Close | None = None

    # Queries

    @property
    def exit_code(self) -> int | None:
        """None while a process of the run still exists."""
        if self._close is None or not all(process.ended for process in self.processes.values()):
            return None
        return self._close.code

    @property
    def began(self) -> bool:
        return self.membership.generation > 0

    @property
    def hosts_in_use(self) -> list[str]:
        return list(dict.fromkeys(process.worker.host for process in self.processes.values() if not process.ended))

    @property
    def training_hosts(self) -> int | None:
        """The number of hosts that ranks train on; 0 while there are too few ranks. None before any rank has joined:
        ranks of programs that do not use the library never join."""
        if not self.began and not self._too_few():
            return None
        members = () if self.membership.held else self.membership.members
        return len({self.processes[id_].worker.host for id_ in members if id_ in self.processes})

    def idle(self, now: float) -> list[Idle]:
        """Why ranks do not train, or do not train on listed hosts; the first few reasons. No host is idle before ranks
        wait for others."""
        found = self._too_few()
        if not (self.began or found):
            return found
        training = {self.processes[id_].worker.host for id_ in self.membership.members if id_ in self.processes}
        youngest = {process.worker.host: process for process in self._alive()}  # later ones were started later
        most = self.membership.limits.most
        full = self.began and most is not None and len(self.membership.workers) >= most
        without = [(host, youngest.get(host)) for host in self._listed if host not in training]
        return [*found, *idle_hosts.idle(without, self._backoff.resting(now), most if full else None, now)][:NAMED]

    def _too_few(self) -> list[Idle]:
        if not self.membership.held and (self.began or not self._shortage.noticed):
            return []
        quorum = self._quorum()
        have = "has" if quorum.joined == 1 else "have"
        why = f"{quorum.joined} of {quorum.needed} required ranks {have} joined"
        return [] if quorum.enough else [Idle("", why)]

    def label(self, id_: int) -> str:
        process = self.processes.get(id_)
        return process.label if process is not None else str(id_)

    def forgettable(self, id_: int) -> bool:
        """Whether no further event or message needs this worker."""
        of_interest = self.first_failure is not None and self.first_failure.id == id_
        return not (of_interest or self._living(id_) or id_ in self.membership.workers or self.membership.done(id_))

    def life_signs(self, agents: Mapping[int, float], ranks: Mapping[int, float]) -> None:
        """The times of the workers' last heartbeats."""
        for id_, process in self.processes.items():
            process.agent_heard = max(process.agent_heard, agents.get(id_, 0.0))
            process.rank_heard = max(process.rank_heard, ranks.get(id_, 0.0))

    def agent_heard(self, id_: int, now: float) -> None:
        if (process := self.processes.get(id_)) is not None:
            process.agent_heard = now

    def rank_heard(self, id_: int, now: float) -> None:
        if (process := self.processes.get(id_)) is not None:
            process.rank_heard = now

    @property
    def by_time(self) -> tuple[object, ...]:
        """State that may change without an action when time passes or a checkpoint is written."""
        return self._resting, self._shortage.stretch, self._final_checkpoint.stage

    # Hosts

    def hosts_listed(self, slots: Mapping[str, int], now: float) -> list[RunAction]:
        if dict(slots) == self._listed:
            return []
        self._listed = dict(slots)
        self.listing += 1
        self._backoff.listed(slots, now)
        self._program_failures.listed(slots)
        return [Log(f"hosts: {hosts.described(slots)}", detail=True), *self._rehosted(now)]

    def start_failed(self, id_: int, why: str, now: float) -> list[RunAction]:
        process = self._living(id_)
        if process is None or process.called:
            return []
        self._program_failures.not_started(process.worker.host)
        return self._lost(
            process, Failure(id_, process.label, process.worker.host, f"could not be started: {why}"), now
        )

    # Agents

    def agent_connected(self, id_: int, now: float) -> list[RunAction]:
        process = self._living(id_)
        if process is None:
            return [Disconnect(id_)]
        process.called, process.agent_heard = True, now
        self._program_failures.started(process.worker.host)
        return [Log(f"[{process.label}] runs on {process.worker.host}", detail=True)]

    def started(self, id_: int) -> list[RunAction]:
        if (process := self.processes.get(id_)) is not None:
            process.started = True
        return []

    def agent_lost(self, id_: int, why: str, now: float) -> list[RunAction]:
        process = self._living(id_)
        if process is None:
            return []
        return [Disconnect(id_), *self._lost(process, Failure(id_, process.label, process.worker.host, why), now)]

    def exited(self, id_: int, code: int, number: int, now: float) -> list[RunAction]:
        """A rank's process has ended, by itself or by a signal."""
        process = self._living(id_)
        if process is None:
            return []
        well = code == 0 and number == 0
        if well:
            self.membership.left(id_)  # the rank's own message may come later
        if well and not self._leaving(id_):
            return self._ended_well(process, now)
        why, own = failures.by_exit(code, number), failures.own(number)
        failure = Failure(id_, process.label, process.worker.host, why, failures.exit_code(code, number), own)
        return self._lost(process, failure, now)

    # Ranks

    def joined(self, id_: int, addresses: Iterable[Address], now: float) -> list[RunAction]:
        process = self._living(id_)
        if process is None:
            return [Disconnect(id_)]
        process.joined, process.rank_heard, process.rank_closed = True, now, None
        return self._carry_out(self.membership.ready(id_, addresses), now)

    def at(self, id_: int, generation: int, boundary: int, commit: int, now: float) -> list[RunAction]:
        return self._carry_out(self.membership.at(id_, generation, boundary, commit), now)

    def entered(self, id_: int, generation: int, now: float) -> list[RunAction]:
        if (process := self.processes.get(id_)) is not None:
            self._program_failures.trained(process.worker.host)
        if not self.membership.held:
            self._shortage.trained()
        if len(self.membership.members) >= self.settings.limits.start:
            self.first_failure = None
        return self._carry_out(self.membership.entered(id_, generation), now)

    def troubled_by(self, id_: int, generation: int, commit: int, now: float) -> list[RunAction]:
        """A rank lost another one. Whether that one is dead is known shortly, so nothing is done yet."""
        if generation >= self._regrouped and self._troubled is None:
            self._troubled = now
        return [*self._deserters(id_), *self._carry_out(self.membership.troubled(id_, commit), now)]

    def _deserters(self, id_: int) -> list[RunAction]:
        """A program whose ranks do not all end at the same step is wrong, and the mistake is hard to find, so it is
        logged."""
        done = [process for process in self.processes.values() if self.membership.done(process.worker.id)]
        if not done or self._deserted or self.membership.done(id_):
            return []
        self._deserted = True
        return [Log(f"{named(done)} ended while others still trained")]

    def unreachable(self, id_: int, generation: int, other: int, now: float) -> list[RunAction]:
        """A member cannot connect to another, although both are connected to the launcher: they cannot be in one
        group."""
        members = self.membership.members
        known = {id_, other} <= set(members) and {id_, other} <= self.processes.keys()
        if generation != self.membership.generation or not known:
            return []
        spared, victim = sorted((id_, other), key=members.index)
        process, away = self.processes[victim], self.processes[spared].worker.host
        why = f"cannot be reached from {away}" if victim == other else f"cannot reach {away}"
        failure = Failure(victim, process.label, process.worker.host, why)
        return [Kill(victim, signal.SIGKILL), *self._lost(process, failure, now, ended=False)]

    def left(self, id_: int, now: float) -> list[RunAction]:
        if (process := self.processes.get(id_)) is not None:
            process.left = now
        return self._carry_out(self.membership.left(id_), now)

    def finished(self, id_: int, now: float) -> list[RunAction]:
        return self._carry_out(self.membership.finished(id_), now)

    def keeps_checkpoints(self) -> list[RunAction]:
        self._final_checkpoint.possible = True
        return []

    def checkpoint_written(self, now: float) -> list[RunAction]:
        self._final_checkpoint.possible = True
        return self._ended_by(signal.SIGTERM, now) if self._final_checkpoint.written() else []

    def rank_closed(self, id_: int, now: float) -> list[RunAction]:
        process = self._living(id_)
        if process is not None:
            process.rank_closed = now
        return []

    # Signals

    def signalled(self, number: int, now: float) -> list[RunAction]:
        """The first signal lets ranks end, the second kills them. SIGTERM leaves time for a checkpoint."""
        if self._close is not None and not self._close.patient:
            return [Kill(process.worker.id, signal.SIGKILL) for process in self._alive()]
        trains = self.began and self._close is None
        if number == signal.SIGTERM and trains and self._final_checkpoint.begin(now):
            text = f"SIGTERM: a checkpoint is written at the next commit, for which there are {PATIENCE:g} s"
            return [Log(text), Send(self.membership.members, rank_messages.WriteCheckpoint())]
        return self._ended_by(number, now)

    def _ended_by(self, number: int, now: float) -> list[RunAction]:
        if self._close is not None and not self._close.patient:
            return []
        self.interrupted = True
        self._close = _Close(128 + number, now, patient=False)
        return [Log(f"{signal.Signals(number).name}: ending all ranks"), *self._everybody_ends()]

    # Time

    def tick(self, stalled: float, now: float) -> list[RunAction]:
        actions: list[RunAction] = []
        for process in self._alive():
            process.agent_heard += stalled
            process.rank_heard += stalled
            actions += self._silent(process, now)
        if self._close is not None:
            return [*actions, *self._closed(self._close, now)]
        if self._final_checkpoint.overdue(now):
            text = f"no checkpoint was written in {PATIENCE:g} s: what was trained since the last one is lost"
            return [*actions, Log(text), *self._ended_by(signal.SIGTERM, now)]
        if self._resting != frozenset(self._backoff.resting(now)):
            actions += self._rehosted(now)
        return [*actions, *self._reunited(now), *self._waited(now)]

    def _silent(self, process: Process, now: float) -> list[RunAction]:
        """What follows if a worker counts as dead by its last heartbeats."""
        id_, patience = process.worker.id, self.settings.heartbeat_timeout
        if (why := process.lost(now)) is not None:
            return self.agent_lost(id_, why, now)
        if process.left is not None and now - process.left > patience:
            process.left = now
            return [Kill(id_, signal.SIGTERM)]
        if self._excused(id_) or (why := process.hung(now, patience)) is None:
            return []
        failure = Failure(id_, process.label, process.worker.host, why)
        return [Kill(id_, signal.SIGKILL), *self._lost(process, failure, now, ended=False)]

    def _reunited(self, now: float) -> list[RunAction]:
        if self._troubled is None or now - self._troubled <= _SIGHT_LOST:
            return []
        self._troubled = None
        if self.membership.finishing:
            return self.fail("ranks that still train cannot continue without those that have ended", now)
        text = "ranks lost their connections to each other, but none exited; returning to the last commit"
        return [Log(text), *self._carry_out(self.membership.disrupted(), now)]

    def _waited(self, now: float) -> list[RunAction]:
        """Whether there are enough ranks to begin, or to continue."""
        quorum = self._quorum()
        if quorum.enough or self.membership.finishing:
            self._shortage.over(now)
            return []
        timeout = self.settings.elastic_timeout
        fatal = self.settings.elastic or not quorum.waits_to_join
        if self._shortage.lasted(now) > timeout and fatal:
            return self.fail(f"after {timeout:g} s {quorum}{self._obstacles(now)}", now)
        if self._shortage.lasted(now) > _NO_MORE_COME and self._may_begin_with(quorum.joined):
            return [Log(f"{quorum}; no more hosts were listed; starting with these"), *self._settled(now)]
        notice = self._shortage.notice(quorum, now)
        return [Log(f"{notice}{self._obstacles(now)}")] if notice is not None else []

    def _may_begin_with(self, joined: int) -> bool:
        """A job may have been scaled in before its launcher was restarted: then there will never be `-np` ranks."""
        limits = self.membership.limits
        offered = sum(self._listed.values())
        return self.settings.elastic and not self.began and offered < limits.start and limits.least <= joined == offered

    def _settled(self, now: float) -> list[RunAction]:
        return self._carry_out(self.membership.settle_for_less(), now)

    def _quorum(self) -> Quorum:
        there = [process for process in self._alive() if process.called and not self._leaving(process.worker.id)]
        late = [process for process in there if not process.joined]
        limits = self.membership.limits
        needed = limits.least if self.began else limits.start
        return Quorum(needed, len(there), len(there) - len(late), named(late))

    def _obstacles(self, now: float) -> str:
        resting = self._backoff.resting(now)
        rest = [f"{host} is in back-off for {until - now:.0f} s after a failure" for host, until in resting.items()]
        return "".join(f"; {each}" for each in (f"hosts: {hosts.described(self._listed)}", *rest))

    # Decisions

    def _rehosted(self, now: float) -> list[RunAction]:
        self._resting = frozenset(self._backoff.resting(now))
        return self._carry_out(self.membership.hosts(self._backoff.preferred(self._listed), self._resting), now)

    def _ended_well(self, process: Process, now: float) -> list[RunAction]:
        id_ = process.worker.id
        if not self.began:
            process.ended = True
            return self._carry_out(self.membership.ended_apart(id_), now)
        if not process.joined and not self.membership.spent(id_):
            return self._lost(
                process, Failure(id_, process.label, process.worker.host, "ended before it joined the others"), now
            )
        process.ended = True
        gone = self.membership.spent(id_) or process.left is not None or self.membership.called_back(id_)
        done = [] if gone else self.membership.finished(id_)
        return self._carry_out([*done, *self.membership.gone(id_)], now)

    def _lost(self, process: Process, failure: Failure, now: float, *, ended: bool = True) -> list[RunAction]:
        """A worker is gone. This is not a failure if it was leaving, or if the launcher had ended it."""
        id_ = process.worker.id
        through = self.membership.done(id_)
        expected = self.membership.spent(id_) or self._leaving(id_) or self._close is not None
        process.ended = ended
        if through and failure.own:
            return self._failed_at_the_end(failure, now)
        if expected:
            gone = self._carry_out(self.membership.gone(id_), now)
            return [Log(f"{failure}, as expected", detail=True), *gone]
        return self._failed(process, failure, now)

    def _failed_at_the_end(self, failure: Failure, now: float) -> list[RunAction]:
        """A rank finished training, and failed in what its program did after that."""
        if self.first_failure is None or not self.membership.done(self.first_failure.id):
            self.first_failure = failure
        if self._close is not None:
            self._close.code = self._close.code or failure.code
            return [Log(str(failure))]
        return [Log(str(failure)), *self._carry_out(self.membership.gone(failure.id), now)]

    def _failed(self, process: Process, failure: Failure, now: float) -> list[RunAction]:
        self.first_failure = self.first_failure or failure
        self.changes.lost(failure.id, failure.host, failure.why, now)
        if process.called:
            self._program_failures.failed(failure, self._newest)
        if not self.settings.elastic:
            return self.fail(str(failure), now)
        self._resting_after(process.worker.host, now)
        rest = self._backoff.resting(now)[process.worker.host] - now
        actions: list[RunAction] = [Log(f"{failure}; nothing is started there for {rest:.0f} s")]
        actions += self._carry_out(self.membership.gone(failure.id), now)
        if self._program_failures.everywhere(self._listed.keys()) and not any(each.called for each in self._alive()):
            return [*actions, *self.fail("the program failed everywhere", now)]
        return actions

    def _resting_after(self, host: str, now: float) -> None:
        self._backoff.failed(host, now)
        self._resting = frozenset(self._backoff.resting(now))
        self.membership.rest(self._resting)

    def _carry_out(self, actions: Sequence[MembershipAction], now: float) -> list[RunAction]:
        return [done for action in actions if self._close is None for done in self._run_actions_of(action, now)]

    def _run_actions_of(self, action: MembershipAction, now: float) -> list[RunAction]:
        match action:
            case Spawn(worker):
                self._newest = worker.id
                self.processes[worker.id] = Process(worker, place(worker) if self.began else str(worker.id), since=now)
                return [Start(worker)]
            case End(id_):
                return [Kill(id_, signal.SIGTERM)]
            case Prepare(to, generation, members):
                return [Send(to, rank_messages.Prepare(generation, members))]
            case Cancel(to, generation):
                return [Send(to, rank_messages.Cancel(generation))]
            case Over():
                return self._over(action, now)
            case Switch() | Regroup():
                return self._grouped(action, now)

    def _grouped(self, action: Switch | Regroup, now: float) -> list[RunAction]:
        for process in self._alive():  # leaving and joining workers have no rank number: another worker has it
            process.label = place(process.worker)
        for rank, id_ in enumerate(self.membership.members):
            self.processes[id_].label = str(rank)
        self.changes.grouped({id_: self.processes[id_].worker.host for id_ in self.membership.members}, now)
        size = len(self.membership.members)
        log = Log(f"generation {action.generation}: {size} {'rank' if size == 1 else 'ranks'}", detail=True)
        given = (action.generation, action.source, action.hold)
        if isinstance(action, Switch):
            return [log, Send(action.to, rank_messages.Switch(*given, action.boundary))]
        self._regrouped, self._troubled = action.generation, None
        return [log, Send(action.to, rank_messages.Regroup(*given, action.members, action.fresh))]

    def _over(self, over: Over, now: float) -> list[RunAction]:
        if not over.succeeded:
            return self.fail(over.why, now)
        self._close = _Close(self._code_at_the_end(), now, patient=True)
        late = [process for process in self._alive() if not self.membership.done(process.worker.id)]
        return [Kill(process.worker.id, signal.SIGTERM) for process in late]

    def _code_at_the_end(self) -> int:
        """A rank that failed while others trained on does not count. Ranks of programs that do not train do not depend
        on each other: a failure counts unless a replacement ended with code 0."""
        failure = self.first_failure
        if failure is None:
            return 0
        if self.began:
            return failure.code if self.membership.done(failure.id) else 0
        limits, slots = self.settings.limits, hosts.total(self._listed)
        wanted = slots if limits.most is None else min(slots, limits.most)
        well = len(self.membership.workers)
        return failure.code if well < (wanted if self._program_failures.anybody else limits.start) else 0

    def fail(self, why: str, now: float) -> list[RunAction]:
        if self._close is not None:
            return []
        self._close = _Close(self.first_failure.code if self.first_failure else 1, now, patient=False)
        return [Log(why), *self._everybody_ends()]

    def _everybody_ends(self) -> list[RunAction]:
        return [Kill(process.worker.id, signal.SIGTERM) for process in self._alive()]

    def _closed(self, close: _Close, now: float) -> list[RunAction]:
        """Stopping processes have a deadline; waiting for the others is logged."""
        left = self._alive()
        if close.patient and left and now >= close.notice:
            close.notice = now + _AGAIN
            return [Log(f"waiting for {named(left)} to end")]
        if close.patient or now - close.since < _ENDING:
            return []
        for process in left:
            process.ended = True
        return [Disconnect(process.worker.id) for process in left]

    def start_given_up(self, id_: int) -> list[RunAction]:
        if (process := self.processes.get(id_)) is not None:
            process.ended = True
        return []

    def forgotten(self, id_: int) -> list[RunAction]:
        self.processes.pop(id_, None)
        return []

    def _alive(self) -> list[Process]:
        return [process for process in self.processes.values() if not process.ended]

    def _living(self, id_: int) -> Process | None:
        process = self.processes.get(id_)
        return None if process is None or process.ended else process

    def _excused(self, id_: int) -> bool:
        """Whether no other rank waits for this one any more."""
        return id_ not in self.membership.workers or self.membership.done(id_)

    def _leaving(self, id_: int) -> bool:
        worker = self.membership.workers.get(id_)
        return worker is None or worker.leaving
