# SPDX-License-Identifier: Apache-2.0
"""The entry point of a run's decisions: events in, actions out, and a log of both. Pure; time is a parameter."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from springtide.elastic.launcher.state_machine.event_log import EventLog
from springtide.elastic.launcher.state_machine.events import (
    AgentConnected,
    AgentLost,
    AgentSent,
    Event,
    Failed,
    Forgotten,
    HostsListed,
    Interrupted,
    LifeSigns,
    RankLost,
    RankSent,
    StartFailed,
    StartGivenUp,
    Ticked,
)
from springtide.elastic.launcher.state_machine.run_actions import RunAction
from springtide.elastic.launcher.state_machine.run_state import RunState
from springtide.elastic.launcher.state_machine.settings import Settings
from springtide.elastic.protocol.agent_messages import Beat, Exited, Started
from springtide.elastic.protocol.rank_messages import (
    At,
    CheckpointKept,
    Entered,
    Finished,
    FromRank,
    Join,
    KeepsCheckpoints,
    Left,
    Trouble,
    Unreachable,
)

_STALLED: Final = 1.0
"""If the launcher itself did not run for so long, silence of others does not count."""
_LONGEST: Final = 2_000
"""The longest reason, in characters."""


class Machine:
    def __init__(self, settings: Settings, now: float, log: EventLog | None = None) -> None:
        self.run_state = RunState(settings, now)
        self.log = log

    def handle(self, event: Event, now: float) -> list[RunAction]:
        """The actions for an event, in order."""
        event = _cut(event)
        before = self.run_state.by_time
        actions = self._handle(event, now)
        if self.log is None:
            return actions
        if actions or not _routine(event) or self.run_state.by_time != before:
            self.log.add(now, event, actions)
        elif isinstance(event, AgentSent | RankSent):
            self.log.heard(event, now)
        return actions

    def _handle(self, event: Event, now: float) -> list[RunAction]:
        match event:
            case AgentSent(id_, message):
                self.run_state.agent_heard(id_, now)
                return self._handle_agent(id_, message, now)
            case RankSent(id_, message):
                self.run_state.rank_heard(id_, now)
                return self._handle_rank(id_, message, now)
            case AgentConnected() | AgentLost() | RankLost() | StartFailed() | StartGivenUp() | Forgotten():
                return self._handle_worker(event, now)
            case HostsListed(slots):
                return self.run_state.hosts_listed(slots, now)
            case Ticked(after):
                return self.run_state.tick(max(after - _STALLED, 0.0), now)
            case Interrupted(number):
                return self.run_state.signalled(number, now)
            case Failed(why):
                return self.run_state.fail(why, now)
            case LifeSigns(agents, ranks):
                self.run_state.life_signs(agents, ranks)
                return []

    def _handle_worker(
        self, event: AgentConnected | AgentLost | RankLost | StartFailed | StartGivenUp | Forgotten, now: float
    ) -> list[RunAction]:
        match event:
            case AgentConnected(id_):
                return self.run_state.agent_connected(id_, now)
            case AgentLost(id_, why):
                return self.run_state.agent_lost(id_, why, now)
            case RankLost(id_):
                return self.run_state.rank_closed(id_, now)
            case StartFailed(id_, why):
                return self.run_state.start_failed(id_, why, now)
            case StartGivenUp(id_):
                return self.run_state.start_given_up(id_)
            case Forgotten(id_):
                return self.run_state.forgotten(id_)

    def _handle_agent(self, id_: int, message: Beat | Started | Exited, now: float) -> list[RunAction]:
        match message:
            case Started():
                return self.run_state.started(id_)
            case Exited(code, number):
                return self.run_state.exited(id_, code, number, now)
        return []

    def _handle_rank(self, id_: int, message: FromRank, now: float) -> list[RunAction]:
        match message:
            case Join(addresses):
                return self.run_state.joined(id_, addresses, now)
            case At(generation, boundary, commit):
                return self.run_state.at(id_, generation, boundary, commit, now)
            case Entered(generation):
                return self.run_state.entered(id_, generation, now)
            case Trouble(generation, commit):
                return self.run_state.troubled_by(id_, generation, commit, now)
            case Unreachable(generation, other):
                return self.run_state.unreachable(id_, generation, other, now)
            case Left():
                return self.run_state.left(id_, now)
            case Finished():
                return self.run_state.finished(id_, now)
            case KeepsCheckpoints():
                return self.run_state.keeps_checkpoints()
            case CheckpointKept():
                return self.run_state.checkpoint_written(now)
        return []


def _cut(event: Event) -> Event:
    """Reasons come from hosts, agents and ranks, and may be of any length. They are cut before any decision, so that
    the log has the text that was decided about."""
    match event:
        case StartFailed(why=why) | AgentLost(why=why) | Failed(why=why) if len(why) > _LONGEST:
            return replace(event, why=f"{why[:_LONGEST]}…")
        case RankSent(_, Trouble(why=why) as message) if len(why) > _LONGEST:
            return replace(event, message=replace(message, why=f"{why[:_LONGEST]}…"))
    return event


def _routine(event: Event) -> bool:
    """Whether an event of this kind often has no effect; it is logged only if it has one."""
    match event:
        case AgentSent(_, message) | RankSent(_, message):
            return isinstance(message, Beat | CheckpointKept)
        case Ticked(after):
            return after <= _STALLED
    return False
