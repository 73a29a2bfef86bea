# SPDX-License-Identifier: Apache-2.0
"""Who trains together: example by example, and against simulated ranks that do anything they may at any moment."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

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
from springtide.elastic.launcher.state_machine.workers import Limits, Phase


def address(id_: int) -> list[tuple[str, int]]:
    return [("127.0.0.1", 1000 + id_)]


def of(kind: type, actions: list[MembershipAction]) -> list[MembershipAction]:
    return [action for action in actions if isinstance(action, kind)]


def started(workers: int, limits: Limits | None = None) -> Membership:
    """So many workers that train together."""
    group = Membership(limits or Limits(start=workers, least=1, most=8))
    group.hosts({f"h{number}": 1 for number in range(workers)})
    for id_ in range(workers):
        group.ready(id_, address(id_))
    for id_ in range(workers):
        group.entered(id_, group.generation)
    assert group.members == tuple(range(workers))
    return group


def test_it_begins_when_enough_are_ready() -> None:
    group = Membership(Limits(start=2, least=1))
    actions = group.hosts({"a": 1, "b": 1})
    assert [action.worker.host for action in actions if isinstance(action, Spawn)] == ["a", "b"]
    assert group.ready(0, address(0)) == []
    (action,) = group.ready(1, address(1))
    assert isinstance(action, Regroup)
    assert (action.generation, action.fresh, action.hold, action.to) == (1, True, False, (0, 1))
    assert [member.rank for member in action.members] == [0, 1]


def test_no_more_workers_are_started_than_are_of_use() -> None:
    actions = Membership(Limits(start=1, least=1, most=3)).hosts({"a": 2, "b": 2})
    assert [(action.worker.host, action.worker.slot) for action in actions if isinstance(action, Spawn)] == [
        ("a", 0),
        ("a", 1),
        ("b", 0),
    ]


def test_who_was_to_take_the_place_of_a_member_whose_host_is_back_is_not_needed() -> None:
    group = started(1, Limits(start=1, least=1, most=1))
    assert len(of(Spawn, group.hosts({"h1": 1}))) == 1
    assert group.hosts({"h0": 1, "h1": 1}) == [End(1)]
    assert list(group.workers) == [0]


def test_a_newcomer_joins_at_the_boundary_after_the_last_that_anybody_stood_at() -> None:
    group = started(2)
    assert len(of(Spawn, group.hosts({"h0": 1, "h1": 1, "h2": 1}))) == 1
    (prepare,) = group.ready(2, address(2))
    assert isinstance(prepare, Prepare)
    assert (prepare.to, [member.id for member in prepare.members]) == ((0, 1, 2), [0, 1, 2])
    assert group.at(0, prepare.generation, 7, 7) == []
    (switch,) = group.at(1, prepare.generation, 6, 6)
    assert isinstance(switch, Switch)
    assert (switch.boundary, switch.source, switch.hold, switch.to) == (8, 1, False, (0, 1, 2))
    assert group.members == (0, 1, 2)


def test_a_host_that_is_no_longer_listed_is_left_gracefully() -> None:
    group = started(3)
    (prepare,) = group.hosts({"h0": 1, "h2": 1})
    assert isinstance(prepare, Prepare)
    assert [member.id for member in prepare.members] == [0, 2]
    for id_ in (0, 1):
        assert group.at(id_, prepare.generation, 4, 4) == []
    (switch,) = group.at(2, prepare.generation, 4, 4)
    assert isinstance(switch, Switch)
    assert switch.to == (0, 1, 2)
    assert group.spent(1)
    assert group.left(1) == []
    assert group.gone(1) == []


def test_one_that_dies_on_its_way_to_the_boundary_it_leaves_at_is_missed() -> None:
    group = started(3)
    (prepare,) = group.hosts({"h0": 1, "h2": 1})
    assert isinstance(prepare, Prepare)
    for id_ in range(3):
        group.at(id_, prepare.generation, 4, 4)
    (regroup,) = of(Regroup, group.gone(1))
    assert isinstance(regroup, Regroup)
    assert regroup.to == (0, 2)


def test_survivors_of_a_death_start_over_from_the_newest_commit() -> None:
    group = started(3)
    group.troubled(1, 5)
    group.troubled(2, 6)
    actions = group.gone(0)
    (regroup,) = of(Regroup, actions)
    assert isinstance(regroup, Regroup)
    assert (regroup.to, regroup.fresh, regroup.source) == ((1, 2), False, 1)
    assert [action.worker.host for action in of(Spawn, actions) if isinstance(action, Spawn)] == ["h0"]


def test_nothing_is_started_on_a_host_that_rests_and_who_runs_there_goes_on() -> None:
    group = Membership(Limits(start=1, least=1))
    group.hosts({"a": 2})
    group.ready(1, address(1))
    group.entered(1, group.generation)
    assert group.hosts({"a": 2, "b": 1}, resting=["a", "b"]) == []
    assert group.gone(0) == []
    assert group.members == (1,)
    spawned = of(Spawn, group.hosts({"b": 1, "a": 2}))
    assert [(action.worker.host, action.worker.slot) for action in spawned if isinstance(action, Spawn)] == [
        ("b", 0),
        ("a", 0),
    ]


def test_programs_that_never_join_are_through_when_all_have_ended() -> None:
    group = Membership(Limits(start=2, least=2, most=2))
    group.hosts({"a": 2})
    assert group.ended_apart(1) == []
    assert group.ended_apart(0) == [Over(succeeded=True)]


def test_who_waits_for_one_that_ended_before_it_joined_waits_in_vain() -> None:
    group = Membership(Limits(start=2, least=2, most=2))
    group.hosts({"a": 2})
    assert group.ended_apart(1) == []
    assert group.ready(0, address(0)) == [Over(succeeded=False, why="a worker ended before it joined the others")]


def test_members_that_lost_sight_of_each_other_start_over() -> None:
    group = started(2)
    (regroup,) = group.disrupted()
    assert isinstance(regroup, Regroup)
    assert regroup.to == (0, 1)
    assert not regroup.fresh


def test_a_newcomer_that_dies_while_joining_disturbs_nobody() -> None:
    group = started(2)
    group.hosts({"h0": 1, "h1": 1, "h2": 1})
    (prepare,) = group.ready(2, address(2))
    assert isinstance(prepare, Prepare)
    group.at(0, prepare.generation, 3, 3)
    actions = group.gone(2)
    assert of(Cancel, actions) == [Cancel((0, 1), prepare.generation)]
    assert of(Regroup, actions) == []
    assert group.members == (0, 1)


def test_fewer_than_the_minimum_hold_still() -> None:
    group = started(3, Limits(start=3, least=2, most=3))
    group.hosts({"h0": 1})
    assert group._proposal is not None
    for id_ in (0, 1, 2):
        actions = group.at(id_, group._proposal.generation if group._proposal else 0, 9, 9)
    (switch,) = actions
    assert isinstance(switch, Switch)
    assert switch.hold


def test_when_everybody_is_to_leave_nobody_does_until_somebody_can_take_over() -> None:
    group = started(1)
    assert of(Prepare, group.hosts({"new": 1})) == []
    (prepare,) = group.ready(1, address(1))
    assert isinstance(prepare, Prepare)
    assert [member.id for member in prepare.members] == [0, 1]
    group.at(0, prepare.generation, 5, 5)
    group.entered(0, prepare.generation)
    (prepare,) = group.entered(1, prepare.generation)
    assert isinstance(prepare, Prepare)
    assert [member.id for member in prepare.members] == [1]


def test_it_is_over_when_all_have_finished() -> None:
    group = started(2)
    assert group.finished(0) == []
    assert group.gone(0) == []
    assert group.finished(1) == [Over(succeeded=True)]


def test_who_finishes_first_releases_those_that_wait_for_a_switch() -> None:
    group = started(2)
    group.hosts({"h0": 1, "h1": 1, "h2": 1})
    (prepare,) = group.ready(2, address(2))
    assert isinstance(prepare, Prepare)
    group.at(0, prepare.generation, 3, 3)
    assert group.finished(1) == [Cancel((0, 1), prepare.generation), End(2)]
    assert group.finished(0) == [Over(succeeded=True)]


def test_one_that_is_through_before_it_came_in_takes_those_along_that_never_trained() -> None:
    group = Membership(Limits(start=2, least=2, most=2))
    group.hosts({"a": 2})
    group.ready(0, address(0))
    group.ready(1, address(1))
    assert group.finished(0) == [End(1), Over(succeeded=True)]
    assert group.entered(1, group.generation) == []


def test_one_that_is_through_before_others_have_come_in_leaves_them_alone() -> None:
    group = Membership(Limits(start=2, least=2, most=2))
    group.hosts({"a": 2})
    group.ready(0, address(0))
    group.ready(1, address(1))
    group.entered(0, group.generation)
    assert group.finished(0) == []
    group.entered(1, group.generation)
    assert group.finished(1) == [Over(succeeded=True)]


def test_one_that_is_through_before_a_switch_lets_nobody_wait_for_it() -> None:
    group = started(1)
    group.hosts({"h0": 1, "h1": 1})
    (prepare,) = group.ready(1, address(1))
    assert isinstance(prepare, Prepare)
    group.at(0, prepare.generation, 3, 3)
    assert group.finished(0) == [End(1), Over(succeeded=True)]


def test_messages_of_a_worker_whose_end_is_known_already_change_nothing() -> None:
    """Its agent, which tells of the end, has another connection than the worker itself."""
    group = started(2)
    assert group.finished(0) == []
    assert group.finished(1) == [Over(succeeded=True)]
    for id_ in (0, 1):
        assert group.gone(id_) == []
        late = (
            group.entered(id_, group.generation),
            group.at(id_, group.generation, 9, 9),
            group.troubled(id_, 9),
            group.ready(id_, address(id_)),
            group.left(id_),
            group.finished(id_),
            group.gone(id_),
        )
        assert not any(late)
        assert id_ not in group.workers


def test_a_death_among_those_that_finish_is_a_failure() -> None:
    group = started(2)
    group.finished(0)
    (over,) = group.gone(1)
    assert isinstance(over, Over)
    assert not over.succeeded


def test_without_survivors_training_begins_again() -> None:
    group = started(2)
    group.gone(0)
    for id_ in group.members:
        group.entered(id_, group.generation)
    assert len(of(Spawn, group.gone(1))) == 1
    (regroup,) = of(Regroup, group.ready(max(group.workers), address(9)))
    assert isinstance(regroup, Regroup)
    assert regroup.fresh


@dataclass
class Rank:
    """A process as it may behave: it steps, answers, switches, finishes, in any order the others leave it."""

    id: int
    generation: int = 0
    boundary: int = 0
    prepared: int | None = None
    answered: int | None = None
    """The boundary it has answered with."""
    switch: Switch | None = None
    group: tuple[int, ...] = ()
    holds: bool = False
    unheard: list[Prepare | Cancel | Switch] = field(default_factory=list)
    """What it was told and has not heard yet: it comes in order, and may take any time."""


@dataclass
class World:
    ranks: dict[int, Rank] = field(default_factory=dict)
    left: set[int] = field(default_factory=set)
    """Those that went at the boundary they were told, and are not missed."""
    last: dict[int, int] = field(default_factory=dict)
    """At which boundary each generation was entered gracefully."""


class Schedules(RuleBasedStateMachine):
    """Ranks step only as far as their slowest companion lets them, as synchronous training does."""

    @initialize(least=st.integers(1, 2), start=st.integers(1, 3), most=st.integers(3, 5))
    def begin(self, least: int, start: int, most: int) -> None:
        self.group = Membership(Limits(start=max(start, least), least=least, most=most))
        self.world = World()
        self.carry_out(self.group.hosts({"a": 1, "b": 1, "c": 1}))

    def carry_out(self, actions: list[MembershipAction]) -> None:
        for action in actions:
            match action:
                case Spawn(worker):
                    assert worker.id not in self.world.ranks
                    self.world.ranks[worker.id] = Rank(worker.id)
                case End(id_):
                    self.world.ranks.pop(id_, None)
                case Regroup():
                    self.regroup(action)
                case Prepare(to) | Cancel(to) | Switch(to):
                    for rank in self.told(to):
                        rank.unheard.append(action)

    def hear(self, rank: Rank) -> None:
        action = rank.unheard.pop(0)
        if isinstance(action, Prepare):
            rank.prepared, rank.answered, rank.switch = action.generation, rank.boundary, None
            if rank.generation:
                self.carry_out(self.group.at(rank.id, action.generation, rank.boundary, rank.boundary))
            return
        assert rank.prepared == action.generation
        if isinstance(action, Switch):
            rank.switch = action
        else:
            rank.prepared = rank.answered = None

    def regroup(self, action: Regroup) -> None:
        assert action.fresh or action.members[action.source].id in self.world.ranks
        newest = 0 if action.fresh else max(rank.boundary for rank in self.told(action.to))
        for rank in self.told(action.to):
            rank.generation, rank.group = action.generation, tuple(member.id for member in action.members)
            rank.prepared = rank.answered = rank.switch = None
            rank.unheard.clear()
            rank.holds, rank.boundary = action.hold, newest
        for rank in self.told(action.to):
            self.carry_out(self.group.entered(rank.id, action.generation))

    def told(self, ids: tuple[int, ...]) -> list[Rank]:
        return [self.world.ranks[id_] for id_ in ids if id_ in self.world.ranks]

    @property
    def training(self) -> list[Rank]:
        return [rank for rank in self.world.ranks.values() if rank.generation]

    def may_step(self, rank: Rank) -> bool:
        companions = [self.world.ranks.get(id_) for id_ in rank.group if id_ not in self.world.left]
        abreast = all(each is not None and self.reached(each, rank) for each in companions)
        promised = rank.answered is None or rank.switch is not None or rank.boundary <= rank.answered
        before_switch = rank.switch is None or rank.boundary < rank.switch.boundary
        return abreast and promised and before_switch and not rank.holds

    def reached(self, other: Rank, rank: Rank) -> bool:
        """One that went over to the next generation has done its part in this one before."""
        return (other.generation, other.boundary) >= (rank.generation, rank.boundary)

    @rule(data=st.data())
    def step(self, data: st.DataObject) -> None:
        able = [rank for rank in self.training if self.may_step(rank)]
        if not able:
            return
        self.take_step(data.draw(st.sampled_from(able)))

    def take_step(self, rank: Rank) -> None:
        rank.boundary += 1
        if rank.switch is not None:
            assert rank.boundary <= rank.switch.boundary, "a rank ran past the boundary all were to switch at"

    @rule(data=st.data())
    def listen(self, data: st.DataObject) -> None:
        able = [rank for rank in self.world.ranks.values() if rank.unheard]
        if able:
            self.hear(data.draw(st.sampled_from(able)))

    @rule(data=st.data())
    def cross(self, data: st.DataObject) -> None:
        able = [
            rank
            for rank in self.world.ranks.values()
            if rank.switch is not None and (not rank.generation or rank.boundary == rank.switch.boundary)
        ]
        if not able:
            return
        self.cross_one(data.draw(st.sampled_from(able)))

    @rule(data=st.data())
    def come_up(self, data: st.DataObject) -> None:
        able = [worker.id for worker in self.group.workers.values() if worker.phase is Phase.STARTING]
        if able:
            id_ = data.draw(st.sampled_from(able))
            self.carry_out(self.group.ready(id_, address(id_)))

    @rule(data=st.data())
    def die(self, data: st.DataObject) -> None:
        if self.world.ranks:
            id_ = data.draw(st.sampled_from(sorted(self.world.ranks)))
            del self.world.ranks[id_]
            self.carry_out(self.group.gone(id_))

    @rule(data=st.data(), boundary=st.integers(0, 9))
    def a_message_comes_after_the_end_of_its_rank(self, data: st.DataObject, boundary: int) -> None:
        gone = sorted({*range(max(self.group.workers, default=0))} - set(self.group.workers))
        if gone:
            id_ = data.draw(st.sampled_from(gone))
            self.carry_out(self.group.entered(id_, self.group.generation))
            self.carry_out(self.group.at(id_, self.group.generation, boundary, boundary))
            self.carry_out(self.group.troubled(id_, boundary))

    @rule(hosts=st.dictionaries(st.sampled_from("abcd"), st.integers(1, 2)))
    def list_hosts(self, hosts: dict[str, int]) -> None:
        self.carry_out(self.group.hosts(hosts))

    @precondition(lambda self: hasattr(self, "group"))
    @invariant()
    def members_live_and_keep_their_order(self) -> None:
        assert set(self.group.members) <= set(self.group.workers)
        assert len(set(self.group.members)) == len(self.group.members)
        assert self.group.limits.most is None or len(self.group.members) <= self.group.limits.most

    @precondition(lambda self: hasattr(self, "group"))
    @invariant()
    def two_workers_never_share_a_slot(self) -> None:
        places = [(worker.host, worker.slot) for worker in self.group.workers.values()]
        assert len(places) == len(set(places))

    def teardown(self) -> None:
        """Left alone, with hosts for all, everybody ends up in one generation."""
        if not hasattr(self, "group"):
            return
        self.carry_out(self.group.hosts({"a": 2, "b": 2, "c": 1}))
        for _ in range(400):
            before = self.snapshot()
            self.everybody_goes_on()
            if before == self.snapshot() and self.settled():
                break
        assert self.settled()

    def everybody_goes_on(self) -> None:
        for worker in list(self.group.workers.values()):
            if worker.phase is Phase.STARTING:
                self.carry_out(self.group.ready(worker.id, address(worker.id)))
        for rank in list(self.world.ranks.values()):
            if rank.unheard and rank.id in self.world.ranks:
                self.hear(rank)
        for rank in list(self.training):
            if self.may_step(rank):
                self.take_step(rank)
        for rank in list(self.world.ranks.values()):
            if rank.switch is not None and (not rank.generation or rank.boundary == rank.switch.boundary):
                self.cross_one(rank)

    def cross_one(self, rank: Rank) -> None:
        switch = rank.switch
        if switch is None or rank.id not in self.world.ranks:
            return
        rank.prepared = rank.answered = rank.switch = None
        if rank.id not in self.group.members:
            del self.world.ranks[rank.id]
            self.world.left.add(rank.id)
            self.carry_out([*self.group.left(rank.id), *self.group.gone(rank.id)])
            return
        rank.generation, rank.boundary, rank.group = switch.generation, switch.boundary, self.group.members
        rank.holds = switch.hold
        self.carry_out(self.group.entered(rank.id, switch.generation))

    def snapshot(self) -> object:
        return (self.group.generation, self.group.members, len(self.world.ranks))

    def settled(self) -> bool:
        most = self.group.limits.most or 5
        together = {rank.generation for rank in self.training} == {self.group.generation}
        complete = len(self.group.members) == min(5, most) and set(self.group.workers) == set(self.group.members)
        return together and complete and not self.group.held


TestSchedules = Schedules.TestCase
TestSchedules.settings = settings(max_examples=150, stateful_step_count=50, deadline=None)
