# SPDX-License-Identifier: Apache-2.0
"""What a launcher reports of the ranks that come and go, and of hosts without any."""

from __future__ import annotations

from tests.unit.elastic.launcher.state_machine.test_run_state import Story

from springtide.elastic.launcher.state_machine.events import (
    RankSent,
)
from springtide.elastic.launcher.state_machine.membership_changes import KEPT, NAMED, Change, Changes
from springtide.elastic.launcher.state_machine.workers import Limits
from springtide.elastic.protocol.rank_messages import (
    At,
)


def told(story: Story) -> list[tuple[object, ...]]:
    return [(each.what, each.rank, each.hosts, each.size) for each in story.run_state.changes.last]


def idle(story: Story) -> list[tuple[str, str]]:
    return [(each.host, each.why) for each in story.run_state.idle(story.now)]


def test_a_run_begins_once() -> None:
    story = Story("a", "b").train(0, 1)
    assert told(story) == [("began", None, ("a", "b"), 2)]
    assert story.run_state.training_hosts == 2
    assert idle(story) == []


def test_a_rank_that_dies_and_the_one_that_takes_its_place() -> None:
    story = Story("a", "b").train(0, 1)
    story.exit(1, number=9)
    story.enter()
    assert told(story)[1:] == [("lost", 1, ("b",), 1)]
    assert story.run_state.changes.last[-1].why == "was killed by SIGKILL"
    assert idle(story) == [("b", "is in back-off after a failure")]
    assert story.run_state.idle(story.now)[0].until == story.now + 10
    assert story.run_state.training_hosts == 1
    story.offer("a", "b", "c")
    (newcomer,) = (id_ for id_, process in story.run_state.processes.items() if process.worker.host == "c")
    story.train(newcomer)
    story.do(story.machine.handle(RankSent(0, At(3, 1, 0)), story.now))
    story.enter()
    assert told(story)[2:] == [("joined", 1, ("c",), 2)]


def test_a_host_that_is_given_up_is_left() -> None:
    story = Story("a", "b").train(0, 1)
    story.offer("a")
    story.do(story.machine.handle(RankSent(0, At(2, 1, 0)), story.now))
    story.do(story.machine.handle(RankSent(1, At(2, 1, 0)), story.now))
    assert told(story)[1:] == [("left", None, ("b",), 1)]


def test_ranks_of_one_generation_that_die_together_keep_their_numbers() -> None:
    changes = Changes()
    changes.grouped({7: "a", 8: "b", 9: "c"}, 0.0)
    changes.lost(7, "a", "exited with code 1", 1.0)
    changes.lost(8, "b", "exited with code 1", 1.0)
    changes.lost(5, "d", "could not be started: no route", 1.0)
    assert [each.rank for each in changes.last] == [None, 0, 1, None]
    assert changes.last[-1].size == 1


def test_few_are_kept_and_few_hosts_are_named() -> None:
    changes = Changes()
    changes.grouped({id_: f"host-{id_}" for id_ in range(100)}, 0.0)
    assert changes.last[0] == Change(1, 0.0, "began", 100, ("host-0", "host-1", "host-2"), 100)
    for id_ in range(50):
        changes.lost(id_, "host", "x" * 5000, 1.0)
    assert len(changes.last) == KEPT
    assert changes.number == 51
    assert len(changes.last[-1].why) == 200


def test_a_rank_that_does_not_join_is_missed_after_a_while() -> None:
    story = Story("a", "b", limits=Limits(1, 1)).train(0)
    assert idle(story) == []
    story.pass_time(6)
    assert idle(story) == [("b", "does not answer")]
    story.call(1)
    assert idle(story) == [("b", "runs a rank that has not joined")]


def test_more_hosts_than_the_run_makes_use_of() -> None:
    hosts = ("a", "b", "c", "d", "e", "f")
    story = Story(*hosts, limits=Limits(1, 1, 1)).train(0)
    assert idle(story) == [(host, "is not needed with --max-np 1") for host in hosts[1 : NAMED + 1]]


def test_too_few_ranks_to_go_on_with() -> None:
    story = Story("a", "b", limits=Limits(2, 2)).train(0, 1)
    story.exit(1, number=9)
    assert idle(story) == [("", "1 of 2 required ranks has joined"), ("b", "is in back-off after a failure")]
    assert story.run_state.training_hosts == 0


def test_too_few_to_begin_with_are_told_when_it_lasts() -> None:
    story = Story("a", limits=Limits(2, 2))
    story.train(0)
    assert idle(story) == []
    assert story.run_state.training_hosts is None
    story.pass_time(4)
    assert idle(story)[0] == ("", "1 of 2 required ranks has joined")
    assert story.run_state.training_hosts == 0


def test_programs_that_never_join_are_not_waited_for() -> None:
    story = Story("a", "b")
    story.call(0, 1)
    story.pass_time(60)
    assert idle(story) == []
    assert story.run_state.training_hosts is None
