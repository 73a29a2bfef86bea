# SPDX-License-Identifier: Apache-2.0
"""The log of a run's events: short, whole where it can be, and enough to go through the same decisions again.

Every story of test_run_state is replayed, too.
"""

from __future__ import annotations

import json
import signal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.elastic.launcher.state_machine.test_run_state import ADDRESS, Story

from springtide.elastic.launcher.state_machine import event_log
from springtide.elastic.launcher.state_machine.event_log import EventLog, LogError
from springtide.elastic.launcher.state_machine.events import (
    AgentConnected,
    AgentLost,
    AgentSent,
    Event,
    Failed,
    Forgotten,
    HostsListed,
    Interrupted,
    RankLost,
    RankSent,
    StartFailed,
    StartGivenUp,
    Ticked,
)
from springtide.elastic.launcher.state_machine.machine import Machine
from springtide.elastic.launcher.state_machine.replay import replay
from springtide.elastic.launcher.state_machine.run_actions import Log, Send
from springtide.elastic.launcher.state_machine.settings import Settings
from springtide.elastic.launcher.state_machine.workers import Limits
from springtide.elastic.protocol import rank_messages
from springtide.elastic.protocol.agent_messages import Beat, Exited, Started
from springtide.elastic.shared.members import Member

SETTINGS = Settings(Limits(2, 1, 3), True, (10, 300), 60, 30)
WORKERS = st.integers(0, 5)
NUMBERS = st.integers(0, 4)
HOSTS = st.dictionaries(st.sampled_from("abc"), st.integers(0, 2))
MESSAGES = st.one_of(
    st.just(Beat()),
    st.just(rank_messages.Join(ADDRESS)),
    st.builds(rank_messages.At, NUMBERS, NUMBERS, NUMBERS),
    st.builds(rank_messages.Entered, NUMBERS),
    st.builds(rank_messages.Trouble, NUMBERS, NUMBERS),
    st.builds(rank_messages.Unreachable, NUMBERS, WORKERS),
    st.just(rank_messages.Left()),
    st.just(rank_messages.Finished()),
    st.just(rank_messages.KeepsCheckpoints()),
    st.just(rank_messages.CheckpointKept(3)),
)
EVENTS: st.SearchStrategy[Event] = st.one_of(
    st.builds(HostsListed, HOSTS),
    st.builds(AgentConnected, WORKERS),
    st.builds(AgentSent, WORKERS, st.one_of(st.just(Beat()), st.just(Started(1)), st.builds(Exited, NUMBERS, NUMBERS))),
    st.builds(AgentLost, WORKERS, st.just("was lost")),
    st.builds(RankSent, WORKERS, MESSAGES),
    st.builds(RankLost, WORKERS),
    st.builds(StartFailed, WORKERS, st.just("no route")),
    st.builds(StartGivenUp, WORKERS),
    st.builds(Forgotten, WORKERS),
    st.just(Interrupted(signal.SIGTERM)),
    st.just(Failed("no script")),
)


@given(st.lists(st.tuples(st.floats(0.0, 20.0), EVENTS), max_size=60))
def test_whatever_happens_is_decided_again_in_the_same_way(story: list[tuple[float, Event]]) -> None:
    now, ticked, actions = 0.0, 0.0, list[str]()
    log = EventLog(SETTINGS, now)
    machine = Machine(SETTINGS, now, log)
    run_state = machine.run_state
    machine.handle(HostsListed({"a": 1, "b": 1}), now)
    for pause, event in story:
        until = now + pause
        while now < until:
            now = min(now + 0.7, until)
            actions += map(event_log.written, machine.handle(Ticked(now - ticked), now))
            ticked = now
        actions += map(event_log.written, machine.handle(event, now))
    again, steps = replay(log.lines())
    assert [step.found for step in steps] == [step.recorded.actions for step in steps]
    assert [action for step in steps[1:] for action in step.found] == actions
    assert again.exit_code == run_state.exit_code
    assert again.membership.workers == run_state.membership.workers
    assert {id_: each.ended for id_, each in again.processes.items()} == {
        id_: each.ended for id_, each in run_state.processes.items()
    }


def test_quiet_days_are_not_in_the_log() -> None:
    story = Story("a", "b").train(0, 1)
    story.pass_time(10)
    before = len(list(story.log.lines()))
    story.pass_time(3600)
    assert len(list(story.log.lines())) == before


def test_the_last_events_are_kept_and_a_log_that_lacks_some_is_not_replayed() -> None:
    log = EventLog(SETTINGS, 0.0, most=3)
    for number in range(5):
        log.add(float(number), AgentConnected(number), ())
    head, *entries = map(json.loads, log.lines())
    assert head["dropped"] == 2
    assert [each["worker"] for each in entries] == [2, 3, 4]
    with pytest.raises(LogError, match="only the last 3 events: 2 before them are missing"):
        event_log.read(log.lines())


def test_the_log_has_a_bound_of_size_and_an_event_of_any_size_is_within_it() -> None:
    log = EventLog(SETTINGS, 0.0, most_bytes=1_000)
    for number in range(50):
        log.add(float(number), AgentConnected(number), ())
    head, *entries = log.lines()
    kept = [json.loads(each)["worker"] for each in entries]
    assert kept == list(range(50 - len(kept), 50))
    assert 900 < sum(map(len, entries)) <= 1_000
    assert json.loads(head)["dropped"] == 50 - len(kept)
    log.add(50.0, HostsListed({f"host-{number}": 1 for number in range(1_000)}), ())
    head, *entries = log.lines()
    assert (entries, json.loads(head)["dropped"]) == ([], 51)


@pytest.mark.parametrize(
    "event",
    [
        StartFailed(0, "é" * 5_000_000),
        AgentLost(0, "é" * 5_000_000),
        Failed("é" * 5_000_000),
        RankSent(0, rank_messages.Trouble(1, 0, "é" * 5_000_000)),
    ],
    ids=lambda event: type(event).__name__,
)
def test_a_long_reason_is_cut_before_anything_is_decided_about_it(event: Event) -> None:
    log = EventLog(SETTINGS, 0.0)
    machine = Machine(SETTINGS, 0.0, log)
    machine.handle(HostsListed({"a": 1, "b": 1}), 0.0)
    actions = machine.handle(event, 1.0)
    assert sum(map(len, log.lines())) < 20_000
    assert sum(len(repr(action)) for action in actions) < 20_000
    _, steps = replay(log.lines())
    assert [step.found for step in steps] == [step.recorded.actions for step in steps]


def test_a_run_that_leaves_no_log_keeps_none() -> None:
    machine = Machine(SETTINGS, 0.0)
    assert machine.handle(HostsListed({"a": 1, "b": 1}), 0.0)
    assert machine.log is None


@pytest.mark.parametrize(
    "lines",
    [
        [],
        ["{}"],
        ["no JSON"],
        ['{"springtide": "progress", "size": 2}'],
        [*EventLog(SETTINGS, 0.0).lines(), '{"at": 1.0, "type": "Unknown", "actions": []}'],
        [*EventLog(SETTINGS, 0.0).lines(), '{"at": 1.0, "type": "RankSent", "worker": 1, "actions": []}'],
        [*EventLog(SETTINGS, 0.0).lines(), '{"at": 1.0, "type": "RankSent", "worker": 1, "message": 3, "actions": []}'],
        [*EventLog(SETTINGS, 0.0).lines(), '{"type": "AgentConnected", "worker": 1, "actions": []}'],
    ],
    ids=range(8),
)
def test_what_is_no_log_is_said_to_be_none(lines: list[str]) -> None:
    with pytest.raises(LogError):
        event_log.read(lines)


def test_settings_are_read_as_they_were_written() -> None:
    assert event_log.read(EventLog(SETTINGS, 7.5).lines()) == event_log.Recording(SETTINGS, 7.5, ())


def test_a_long_action_is_cut_and_still_told_from_another() -> None:
    def regroup(last: str) -> Any:
        members = tuple(Member(id_, id_, f"host-{id_}", 0, ADDRESS) for id_ in range(500))
        changed = (*members[:-1], Member(499, 499, last, 0, ADDRESS))
        return Send(tuple(range(500)), rank_messages.Prepare(3, changed))

    one, other = event_log.written(regroup("a")), event_log.written(regroup("b"))
    assert one != other
    assert len(one) < 400
    assert event_log.written(Log("short")) == "Log(text='short', detail=False)"
