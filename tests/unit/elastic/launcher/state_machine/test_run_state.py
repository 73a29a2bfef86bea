# SPDX-License-Identifier: Apache-2.0
"""A run from its first host to its exit code, hour by hour and without a process."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import ClassVar

import pytest

from springtide.elastic.launcher.state_machine.event_log import EventLog
from springtide.elastic.launcher.state_machine.events import (
    AgentConnected,
    AgentSent,
    Failed,
    Forgotten,
    HostsListed,
    Interrupted,
    RankLost,
    RankSent,
    StartFailed,
    Ticked,
)
from springtide.elastic.launcher.state_machine.machine import Machine
from springtide.elastic.launcher.state_machine.replay import replay
from springtide.elastic.launcher.state_machine.run_actions import Disconnect, Kill, Log, RunAction, Send, Start
from springtide.elastic.launcher.state_machine.settings import Settings
from springtide.elastic.launcher.state_machine.workers import Limits
from springtide.elastic.protocol.agent_messages import Beat, Exited, Started
from springtide.elastic.protocol.rank_messages import (
    TO_RANK,
    At,
    CheckpointKept,
    Entered,
    Finished,
    Join,
    KeepsCheckpoints,
    Left,
    Trouble,
    Unreachable,
    WriteCheckpoint,
)

ADDRESS = (("127.0.0.1", 1),)


class Story:
    """A run whose hosts have a slot each. Time passes in steps that a launcher notices."""

    all: ClassVar[list[Story]] = []

    def __init__(self, *hosts: str, limits: Limits | None = None, elastic: bool = True) -> None:
        self.now = 0.0
        settings = Settings(limits or Limits(len(hosts), 1), elastic, (10, 300), 600, 30)
        self.log = EventLog(settings, self.now)
        self.machine = Machine(settings, self.now, self.log)
        self.run_state = self.machine.run_state
        self.actions: list[RunAction] = []
        self.all.append(self)
        self.offer(*hosts)

    def do(self, actions: list[RunAction]) -> list[RunAction]:
        self.actions += actions
        return actions

    def offer(self, *hosts: str) -> list[RunAction]:
        return self.do(self.machine.handle(HostsListed(dict.fromkeys(hosts, 1)), self.now))

    def call(self, *ids: int) -> None:
        for id_ in ids:
            self.do(self.machine.handle(AgentConnected(id_), self.now))
            self.machine.handle(AgentSent(id_, Started(1)), self.now)

    def train(self, *ids: int) -> Story:
        """These begin together."""
        self.call(*ids)
        for id_ in ids:
            self.do(self.machine.handle(RankSent(id_, Join(ADDRESS)), self.now))
        self.enter()
        return self

    def enter(self) -> None:
        for id_ in self.run_state.membership.members:
            self.do(self.machine.handle(RankSent(id_, Entered(self.run_state.membership.generation)), self.now))

    def exit(self, id_: int, code: int = 0, number: int = 0) -> list[RunAction]:
        return self.do(self.machine.handle(AgentSent(id_, Exited(code, number)), self.now))

    def pass_time(self, seconds: float, *silent: int, ranks_silent: tuple[int, ...] = ()) -> list[RunAction]:
        """Everybody is heard of but those."""
        actions: list[RunAction] = []
        end = self.now + seconds
        while self.now < end:
            self.now += 0.5
            for id_ in self.run_state.processes:
                if id_ not in silent:
                    self.machine.handle(AgentSent(id_, Beat()), self.now)
                if id_ not in (*silent, *ranks_silent):
                    self.machine.handle(RankSent(id_, Beat()), self.now)
            actions += self.do(self.machine.handle(Ticked(0.5), self.now))
        return actions

    @property
    def starts(self) -> list[str]:
        return [action.worker.host for action in self.actions if isinstance(action, Start)]

    @property
    def told(self) -> list[str]:
        return [action.text for action in self.actions if isinstance(action, Log) and not action.detail]

    @property
    def code(self) -> int | None:
        return self.run_state.exit_code


@pytest.fixture(autouse=True)
def replayed() -> Iterator[None]:
    """Whatever happens in a run, its log leads through the same decisions to the same end."""
    yield
    stories, Story.all = Story.all, []
    for story in stories:
        again, steps = replay(list(story.log.lines()))
        assert [step.found for step in steps] == [step.recorded.actions for step in steps]
        assert again.exit_code == story.code
        assert again.membership.workers == story.run_state.membership.workers
        assert again.membership.members == story.run_state.membership.members
        assert again.changes.last == story.run_state.changes.last
        assert again.processes.keys() == story.run_state.processes.keys()


def kinds(actions: list[RunAction]) -> list[str]:
    return [TO_RANK.head(action.message)[0]["type"] for action in actions if isinstance(action, Send)]


def test_all_finish_and_their_processes_may_take_their_time() -> None:
    story = Story("a", "b").train(0, 1)
    story.do(story.machine.handle(RankSent(0, Finished()), 1))
    story.do(story.machine.handle(RankSent(1, Finished()), 1))
    story.pass_time(3600)
    assert story.code is None
    story.exit(0)
    story.exit(1)
    assert story.code == 0


def test_one_that_ends_well_without_a_word_has_finished() -> None:
    story = Story("a").train(0)
    story.exit(0)
    assert story.code == 0


def test_who_fails_after_it_has_finished_fails_the_run() -> None:
    story = Story("a", "b").train(0, 1)
    story.do(story.machine.handle(RankSent(0, Finished()), 1))
    story.exit(0, 5)
    story.do(story.machine.handle(RankSent(1, Finished()), 1))
    story.exit(1)
    assert story.code == 5
    assert story.run_state.first_failure is not None
    assert story.run_state.first_failure.id == 0


def test_programs_that_do_not_train() -> None:
    story = Story("a", "b", elastic=False, limits=Limits(2, 2, 2))
    story.call(0, 1)
    story.exit(1)
    assert story.code is None
    story.exit(0)
    assert story.code == 0


def test_any_failure_ends_a_run_that_is_not_elastic() -> None:
    story = Story("a", "b", elastic=False, limits=Limits(2, 2, 2)).train(0, 1)
    assert Kill(0, signal.SIGTERM) in story.exit(1, 3)
    story.exit(0, number=signal.SIGTERM)
    assert story.code == 3
    assert story.run_state.first_failure is not None
    assert story.run_state.first_failure.id == 1


def test_survivors_go_on_and_the_host_rests() -> None:
    story = Story("a", "b").train(0, 1)
    assert kinds(story.exit(1, number=9)) == ["regroup"]
    story.enter()
    assert story.starts == ["a", "b"]
    story.pass_time(9)
    assert story.starts == ["a", "b"]
    story.pass_time(2)
    assert story.starts == ["a", "b", "b"]
    assert story.told == ["[1] on b was killed by SIGKILL; nothing is started there for 10 s"]


def test_another_host_takes_the_place_of_one_that_failed() -> None:
    story = Story("a", "b", "c", limits=Limits(2, 1, 2)).train(0, 1)
    story.exit(1, number=9)
    assert story.starts == ["a", "b", "c"]


def test_a_host_that_comes_back_is_used_at_once() -> None:
    story = Story("a", "b").train(0, 1)
    story.exit(1, number=9)
    story.offer("a")
    story.offer("a", "b")
    assert story.starts == ["a", "b", "b"]


def test_who_leaves_on_purpose_is_no_failure_whatever_its_code() -> None:
    story = Story("a", "b").train(0, 1)
    assert kinds(story.offer("a")) == ["prepare"]
    generation = story.run_state.membership.generation + 1
    for id_ in (0, 1):
        story.do(story.machine.handle(RankSent(id_, At(generation, 3, 3)), story.now))
    story.do(story.machine.handle(RankSent(1, Left()), story.now))
    assert kinds(story.exit(1, 134)) == []
    assert story.told == []
    assert story.run_state.first_failure is None
    assert story.run_state.hosts_in_use == ["a"]


def shrinking() -> Story:
    """Two train, and one is to leave at boundary 4."""
    story = Story("a", "b").train(0, 1)
    story.offer("a")
    for id_ in (0, 1):
        story.do(story.machine.handle(RankSent(id_, At(story.run_state.membership.generation + 1, 3, 3)), story.now))
    return story


def test_who_dies_on_its_way_out_is_missed_by_those_behind_it() -> None:
    story = shrinking()
    assert kinds(story.exit(1, number=9)) == ["regroup"]
    assert story.told == []


def test_who_ends_well_on_its_way_out_has_left() -> None:
    assert kinds(shrinking().exit(1)) == []


def test_who_has_left_when_it_is_called_back_has_not_finished() -> None:
    story = shrinking()
    story.exit(0, number=9)
    assert story.run_state.membership.members == (1,)
    story.exit(1)
    assert story.code is None
    assert not story.run_state.membership.finishing
    story.pass_time(11)
    assert story.starts[2:] == ["a"]


def test_who_hangs_on_its_way_out_is_killed() -> None:
    story = shrinking()
    actions = story.pass_time(31, ranks_silent=(1,))
    assert Kill(1, signal.SIGKILL) in actions
    assert kinds(actions) == ["regroup"]


def test_who_has_left_and_does_not_end_is_ended() -> None:
    story = shrinking()
    story.do(story.machine.handle(RankSent(1, Left()), story.now))
    assert not [action for action in story.pass_time(30) if isinstance(action, Kill)]
    assert Kill(1, signal.SIGTERM) in story.pass_time(1)


def test_trouble_on_the_way_to_a_boundary_is_trouble() -> None:
    story = shrinking()
    story.do(story.machine.handle(RankSent(0, Trouble(1, 3)), story.now))
    assert kinds(story.pass_time(4)) == ["regroup"]


def test_trouble_of_a_group_that_is_no_more_is_none() -> None:
    story = Story("a", "b").train(0, 1)
    story.exit(1, number=9)
    story.do(story.machine.handle(RankSent(0, Trouble(1, 3)), story.now))
    assert "regroup" not in kinds(story.pass_time(5))


def test_who_dies_on_a_host_that_is_going_is_no_failure_either() -> None:
    story = Story("a", "b").train(0, 1)
    story.offer("a")
    assert kinds(story.exit(1, number=9)) == ["regroup"]
    assert story.run_state.first_failure is None


def test_who_is_sent_away_before_it_joined_is_not_missed() -> None:
    story = Story("a").train(0)
    story.offer("a", "b")
    story.call(1)
    assert Kill(1, signal.SIGTERM) in story.offer("a")
    story.exit(1, number=signal.SIGTERM)
    assert story.told == []


def test_a_silent_agent_is_dead_in_two_seconds() -> None:
    story = Story("a", "b").train(0, 1)
    assert "regroup" not in kinds(story.pass_time(2, 1))
    actions = story.pass_time(0.5, 1)
    assert Disconnect(1) in actions
    assert kinds(actions) == ["regroup"]


def test_an_agent_may_be_silent_while_its_program_is_loaded() -> None:
    story = Story("a")
    story.do(story.machine.handle(AgentConnected(0), story.now))
    story.pass_time(50, 0)
    assert story.run_state.processes[0].ended is False


def test_a_launcher_that_was_stopped_blames_nobody() -> None:
    story = Story("a", "b").train(0, 1)
    story.now += 60
    assert not [action for action in story.machine.handle(Ticked(60.0), story.now) if isinstance(action, Disconnect)]


def test_a_silent_rank_is_hung_after_its_time_and_killed() -> None:
    story = Story("a", "b").train(0, 1)
    assert "regroup" not in kinds(story.pass_time(30, ranks_silent=(1,)))
    actions = story.pass_time(1, ranks_silent=(1,))
    assert Kill(1, signal.SIGKILL) in actions
    assert kinds(actions) == ["regroup"]
    assert "b" in story.run_state.hosts_in_use
    story.exit(1, number=9)
    assert "b" not in story.run_state.hosts_in_use
    assert len(story.told) == 1


def test_a_rank_that_hangs_up_is_dead_when_its_end_is_not_told() -> None:
    story = Story("a", "b").train(0, 1)
    story.machine.handle(RankLost(1), story.now)
    assert kinds(story.pass_time(1)) == []
    assert kinds(story.pass_time(1)) == ["regroup"]


def test_a_rank_that_has_finished_may_hang_up() -> None:
    story = Story("a", "b").train(0, 1)
    story.do(story.machine.handle(RankSent(1, Finished()), 0))
    story.machine.handle(RankLost(1), story.now)
    assert kinds(story.pass_time(60, ranks_silent=(1,))) == []


def test_ranks_that_lost_sight_of_each_other_start_over() -> None:
    story = Story("a", "b").train(0, 1)
    story.do(story.machine.handle(RankSent(0, Trouble(1, 5)), story.now))
    assert kinds(story.pass_time(3)) == []
    assert kinds(story.pass_time(1)) == ["regroup"]
    story.enter()
    assert kinds(story.pass_time(10)) == []


def test_trouble_that_has_been_dealt_with_is_forgotten() -> None:
    story = Story("a", "b").train(0, 1)
    story.do(story.machine.handle(RankSent(0, Trouble(1, 5)), story.now))
    story.exit(1, number=9)
    story.enter()
    assert "regroup" not in kinds(story.pass_time(5))


def test_a_program_that_fails_everywhere_is_not_tried_again() -> None:
    story = Story("a", "b").train(0, 1)
    story.exit(0, 3)
    assert story.code is None
    story.exit(1, 1)
    assert story.code == 3
    assert story.told[-1] == "the program failed everywhere"


def test_a_program_that_failed_on_one_host_is_tried_on_the_next() -> None:
    story = Story("a", "b", limits=Limits(2, 1))
    story.call(0)
    story.exit(0, 3)
    assert story.code is None
    story.call(1)
    story.exit(1, 3)
    assert story.code == 3
    assert story.told[-1] == "the program failed everywhere"


def test_a_program_that_crashes_by_itself_is_not_tried_again() -> None:
    story = Story("a")
    story.call(0)
    story.exit(0, number=signal.SIGSEGV)
    assert story.code == 128 + signal.SIGSEGV


def test_a_host_that_cannot_be_reached_does_not_keep_a_program_that_fails_going() -> None:
    story = Story("a", "b", limits=Limits(1, 1))
    story.call(0)
    story.exit(0, 3)
    assert story.code is None
    story.do(story.machine.handle(StartFailed(1, "no route"), story.now))
    assert story.code == 3


def test_who_crashes_because_a_companion_was_killed_is_not_to_blame() -> None:
    story = Story("a").train(0)
    story.do(story.machine.handle(HostsListed({"a": 2}), story.now))
    story.train(1)
    for id_ in (0, 1):
        story.do(story.machine.handle(RankSent(id_, At(2, 3, 3)), story.now))
    story.enter()
    story.exit(0, number=signal.SIGKILL)
    story.exit(1, number=signal.SIGABRT)
    assert story.code is None
    story.pass_time(11)
    story.call(2, 3)
    story.exit(2, 1)
    story.exit(3, 1)
    assert story.told[-1] == "the program failed everywhere"


def test_a_program_that_fails_again_after_it_has_trained_alone_failed_everywhere() -> None:
    story = Story("a", "b").train(0, 1)
    story.exit(0, 3)
    story.enter()
    assert story.code is None
    story.exit(1, 3)
    assert story.told[-1] == "the program failed everywhere"


def test_ranks_that_are_killed_again_and_again_are_too_few() -> None:
    story = Story("a")
    for id_ in range(200):
        if story.code is not None:
            break
        while id_ not in story.run_state.processes and story.code is None:
            story.pass_time(1)
        if story.code is None:
            story.call(id_)
            story.pass_time(1)
            story.exit(id_, number=signal.SIGKILL)
    assert story.code == 137
    assert story.told[-1].startswith(
        "after 600 s 0 of 1 required ranks have started; hosts: a:1; a is in back-off for "
    )


def test_programs_that_do_not_train_fail_with_any_of_them() -> None:
    story = Story("a", "b")
    story.call(0, 1)
    story.exit(1, 3)
    assert story.code is None
    story.exit(0)
    assert story.code == 3


def test_programs_that_do_not_train_succeed_when_a_failure_was_made_good() -> None:
    story = Story("a", "b")
    story.call(0, 1)
    story.exit(1, 3)
    story.pass_time(11)
    story.call(2)
    story.exit(2)
    story.exit(0)
    assert story.code == 0


def test_programs_that_do_not_train_do_without_a_host_that_is_not_needed() -> None:
    story = Story("a", "b", limits=Limits(1, 1))
    story.call(0)
    story.do(story.machine.handle(StartFailed(1, "no route"), story.now))
    story.exit(0)
    assert story.code == 0


def test_a_run_without_survivors_starts_over_when_they_were_killed() -> None:
    story = Story("a", "b").train(0, 1)
    story.exit(0, number=9)
    story.exit(1, number=9)
    assert story.code is None
    story.pass_time(11)
    assert story.starts == ["a", "b", "a", "b"]
    story.train(2)
    assert story.run_state.membership.members == (2,)


def test_a_host_where_nothing_starts_keeps_nobody_waiting() -> None:
    story = Story("a", "b", limits=Limits(1, 1)).train(0)
    story.do(story.machine.handle(StartFailed(1, "no route"), story.now))
    assert story.told == ["[b:0] on b could not be started: no route; nothing is started there for 10 s"]
    assert story.run_state.membership.members == (0,)


def test_a_newcomer_that_ends_before_it_joins_is_not_started_again_and_again() -> None:
    story = Story("a").train(0)
    story.offer("a", "b")
    story.call(1)
    story.exit(1)
    story.pass_time(5)
    assert story.starts == ["a", "b"]
    assert story.told == ["[b:0] on b ended before it joined the others; nothing is started there for 10 s"]


def test_it_begins_with_fewer_when_no_more_are_listed() -> None:
    story = Story("a", limits=Limits(2, 1))
    story.train(0)
    story.pass_time(16)
    assert story.run_state.membership.members == (0,)
    assert story.told == [
        "1 of 2 required ranks has started; waiting for more; hosts: a:1",
        "1 of 2 required ranks has started; no more hosts were listed; starting with these",
    ]
    story.offer("a", "b")
    story.call(1)
    assert story.starts == ["a", "b"]


def test_it_waits_for_all_that_are_listed() -> None:
    story = Story("a", "b", limits=Limits(2, 1))
    story.train(0)
    story.pass_time(60)
    assert story.run_state.membership.members == ()


def test_too_few_for_too_long() -> None:
    story = Story("a", limits=Limits(2, 2))
    story.call(0)
    story.pass_time(599)
    assert story.told == ["1 of 2 required ranks has started; waiting for more; hosts: a:1"]
    assert Kill(0, signal.SIGTERM) in story.pass_time(2)
    story.exit(0, number=15)
    assert story.code == 1
    assert story.told[-1] == "after 600 s 1 of 2 required ranks has started; hosts: a:1"


@pytest.mark.parametrize(("caller", "called", "words"), [(0, 1, "cannot be reached from a"), (1, 0, "cannot reach a")])
def test_of_two_ranks_with_no_way_between_them_the_younger_one_goes(caller: int, called: int, words: str) -> None:
    story = Story("a", "b").train(0, 1)
    actions = story.do(story.machine.handle(RankSent(caller, Unreachable(1, called)), story.now))
    assert Kill(1, signal.SIGKILL) in actions
    assert kinds(actions) == ["regroup"]
    assert story.run_state.membership.members == (0,)
    assert story.told == [f"[1] on b {words}; nothing is started there for 10 s"]


def test_a_way_that_was_missing_in_a_group_that_is_no_more_is_of_no_interest() -> None:
    story = Story("a", "b").train(0, 1)
    story.exit(1, number=9)
    assert story.do(story.machine.handle(RankSent(0, Unreachable(1, 1)), story.now)) == []
    assert story.do(story.machine.handle(RankSent(0, Unreachable(2, 1)), story.now)) == []


def test_no_way_between_two_ranks_ends_a_run_that_is_not_elastic() -> None:
    story = Story("a", "b", elastic=False).train(0, 1)
    story.do(story.machine.handle(RankSent(0, Unreachable(1, 1)), story.now))
    story.pass_time(9)
    assert story.code == 1
    assert story.told == ["[1] on b cannot be reached from a"]


def test_slow_programs_are_not_too_few() -> None:
    story = Story("a", "b")
    story.call(0, 1)
    story.pass_time(3600)
    assert story.code is None
    assert story.told == []


def test_one_that_runs_and_never_joins_is_missing_when_others_have_joined() -> None:
    story = Story("a", "b")
    story.call(0, 1)
    story.pass_time(700)
    story.do(story.machine.handle(RankSent(0, Join(ADDRESS)), story.now))
    story.pass_time(20)
    assert story.told == ["1 of 2 required ranks has joined; waiting for [1] on b to join; hosts: a:1, b:1"]
    story.pass_time(600)
    assert story.told[-1] == "after 600 s 1 of 2 required ranks has joined; hosts: a:1, b:1"


def test_ranks_of_a_run_that_is_not_elastic_may_join_when_they_like() -> None:
    story = Story("a", "b", elastic=False)
    story.call(0, 1)
    story.do(story.machine.handle(RankSent(0, Join(ADDRESS)), story.now))
    story.pass_time(3600)
    assert story.code is None
    assert story.told == ["1 of 2 required ranks has joined; waiting for [1] on b to join; hosts: a:1, b:1"]


def test_who_does_not_end_when_all_have_trained_is_named_now_and_then() -> None:
    story = Story("a", "b").train(0, 1)
    story.do(story.machine.handle(RankSent(0, Finished()), story.now))
    story.do(story.machine.handle(RankSent(1, Finished()), story.now))
    story.exit(0)
    story.pass_time(131)
    assert story.told == ["waiting for [1] on b to end"] * 3


def test_who_ends_while_others_still_train_is_named() -> None:
    story = Story("a", "b", "c").train(0, 1, 2)
    story.exit(1)
    story.do(story.machine.handle(RankSent(0, Trouble(1, 3)), story.now))
    story.do(story.machine.handle(RankSent(2, Trouble(1, 3)), story.now))
    story.pass_time(4)
    assert story.told == [
        "[1] on b ended while others still trained",
        "ranks that still train cannot continue without those that have ended",
    ]
    story.exit(0, number=15)
    story.exit(2, number=15)
    assert story.code == 1


def test_the_limit_of_resets() -> None:
    story = Story("a", "b", limits=Limits(2, 1, resets=0)).train(0, 1)
    story.exit(1, 9)
    story.exit(0, number=15)
    assert story.code == 9
    assert story.told[-1] == "the limit of resets is reached"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interruption(number: signal.Signals, code: int) -> None:
    story = Story("a", "b").train(0, 1)
    actions = story.do(story.machine.handle(Interrupted(number), story.now))
    assert [action for action in actions if isinstance(action, Kill)] == [
        Kill(0, signal.SIGTERM),
        Kill(1, signal.SIGTERM),
    ]
    assert Kill(0, signal.SIGKILL) in story.do(story.machine.handle(Interrupted(number), story.now))
    story.exit(0, number=15)
    story.exit(1, number=15)
    assert story.code == code


def keeping(*hosts: str) -> Story:
    story = Story(*hosts).train(*range(len(hosts)))
    story.machine.handle(RankSent(0, KeepsCheckpoints()), story.now)
    return story


def test_sigterm_leaves_time_for_a_checkpoint() -> None:
    story = keeping("a", "b")
    assert [
        action
        for action in story.do(story.machine.handle(Interrupted(signal.SIGTERM), story.now))
        if isinstance(action, Send)
    ] == [Send((0, 1), WriteCheckpoint())]
    assert not [action for action in story.pass_time(5) if isinstance(action, Kill)]
    actions = story.do(story.machine.handle(RankSent(0, CheckpointKept()), story.now))
    assert [action for action in actions if isinstance(action, Kill)] == [
        Kill(0, signal.SIGTERM),
        Kill(1, signal.SIGTERM),
    ]
    story.exit(0, number=15)
    story.exit(1, number=15)
    assert story.code == 143


def test_a_checkpoint_is_not_waited_for_for_ever() -> None:
    story = keeping("a")
    story.do(story.machine.handle(Interrupted(signal.SIGTERM), story.now))
    story.pass_time(11)
    assert "no checkpoint was written in 10 s: what was trained since the last one is lost" in story.told
    assert Kill(0, signal.SIGTERM) in story.actions
    story.exit(0, number=15)
    assert story.code == 143


def test_a_second_sigterm_does_not_wait() -> None:
    story = keeping("a")
    for _ in range(2):
        story.do(story.machine.handle(Interrupted(signal.SIGTERM), story.now))
    assert Kill(0, signal.SIGTERM) in story.actions


def test_a_checkpoint_in_the_middle_of_a_run_ends_nothing() -> None:
    story = keeping("a")
    assert story.machine.handle(RankSent(0, CheckpointKept()), story.now) == []
    assert story.pass_time(20) == []


def test_a_run_that_ends_by_itself_meanwhile_has_ended_well() -> None:
    story = keeping("a")
    story.do(story.machine.handle(Interrupted(signal.SIGTERM), story.now))
    story.do(story.machine.handle(RankSent(0, Finished()), story.now))
    story.pass_time(11)
    story.exit(0)
    assert story.code == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_other_signals_do_not_wait(number: signal.Signals) -> None:
    story = keeping("a")
    assert Kill(0, signal.SIGTERM) in story.do(story.machine.handle(Interrupted(number), story.now))


def test_a_run_that_can_never_begin_fails() -> None:
    story = Story()
    story.do(story.machine.handle(Failed("there is no such script"), story.now))
    assert story.code == 1
    assert story.told == ["there is no such script"]


def test_nobody_is_waited_for_who_does_not_end() -> None:
    story = Story("a").train(0)
    story.do(story.machine.handle(Interrupted(signal.SIGTERM), story.now))
    story.pass_time(9)
    assert story.code == 143


def test_labels_are_ranks_as_soon_as_there_are_any() -> None:
    story = Story("a", "b", limits=Limits(1, 1)).train(1)
    assert story.run_state.label(1) == "0"
    assert story.run_state.label(0) == "a:0"
    story.exit(0, number=9)
    story.offer("a", "b", "c")
    assert story.run_state.label(max(story.run_state.processes)) == "c:0"


def test_who_is_gone_is_forgotten_unless_it_failed_first() -> None:
    story = Story("a", "b", "c").train(0, 1, 2)
    assert not any(story.run_state.forgettable(id_) for id_ in (0, 1, 2))
    story.exit(1, number=9)
    story.exit(2, number=9)
    assert [id_ for id_ in (0, 1, 2) if story.run_state.forgettable(id_)] == [2]
    story.machine.handle(Forgotten(2), story.now)
    assert sorted(story.run_state.processes) == [0, 1]


def test_a_number_is_never_that_of_two() -> None:
    story = Story("a", "b", "c").train(0, 1, 2)
    story.offer("a", "c")
    for id_ in (0, 1, 2):
        story.do(story.machine.handle(RankSent(id_, At(2, 3, 3)), story.now))
    assert [story.run_state.label(id_) for id_ in (0, 1, 2)] == ["0", "b:0", "1"]
