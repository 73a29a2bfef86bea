# SPDX-License-Identifier: Apache-2.0
"""Elastic states and `run` with Horovod's course of events, in a group of one and with a launcher that is played."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from springtide.elastic.groups import BrokenError, Solo
from springtide.elastic.horovod import objects, world
from springtide.elastic.horovod.running import run
from springtide.elastic.horovod.samplers import ElasticSampler
from springtide.elastic.horovod.states import HorovodInternalError, HostsUpdatedInterrupt, State
from springtide.elastic.protocol.rank_messages import FROM_RANK, FromRank
from springtide.elastic.ranks import context
from springtide.elastic.ranks.session import Entry, LauncherLostError
from springtide.elastic.shared.members import Member


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context, "_current", None)
    monkeypatch.setattr(world, "_world", world._World())
    for name in ("TIDE_COORDINATOR", "TIDE_WORKER", "TIDE_SIZE", "TIDE_SLOT", "TIDE_GENERATION"):
        monkeypatch.delenv(name, raising=False)


class Launcher:
    """Stands for a rank's link: what it says next is written down beforehand."""

    def __init__(self) -> None:
        self.boundary = 0
        self.said: list[str] = []
        self.next: Entry | None = None
        self.place = type("Place", (), {"worker": 3, "host": "a"})()
        self.connections = type("Connections", (), {"forget": lambda self, before: None})()

    def begin(self) -> Entry:
        return entry(1, graceful=False)

    def stand(self, commit: int) -> Entry | None:
        self.boundary += 1
        found, self.next = self.next, None
        return found

    def recover(self, generation: int, commit: int, why: str) -> Entry:
        self.said.append(f"trouble {why}")
        return entry(generation + 1, graceful=False)

    def superseded(self) -> bool:
        return False

    def on_break(self, interrupt: Any) -> None:
        pass

    def send(self, message: FromRank) -> None:
        self.said.append(FROM_RANK.head(message)[0]["type"])


def entry(generation: int, *, graceful: bool = True, worker: int = 3) -> Entry:
    return Entry(generation, (Member(worker, 0, "a", 0, ()),), 0, graceful, fresh=generation == 1)


@pytest.fixture
def launcher(monkeypatch: pytest.MonkeyPatch) -> Launcher:
    now = context.Context(None)
    played: Any = Launcher()
    now.session = played
    monkeypatch.setattr(context, "_current", now)
    monkeypatch.setattr(context, "_told", None)
    return played  # type: ignore[no-any-return]


def test_without_a_launcher_it_is_one_rank_of_one() -> None:
    world.init()
    assert (world.rank(), world.size(), world.local_rank(), world.local_size(), world.cross_size()) == (0, 1, 0, 1, 1)
    assert isinstance(world.group(), Solo)
    assert world.is_homogeneous()


def test_before_it_trains_a_program_is_told_what_is_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    told = {"WORKER": "7", "SIZE": "3", "SLOT": "1", "LOCAL_SIZE": "2", "GENERATION": "4", "COORDINATOR": "nowhere:1"}
    for name, value in told.items():
        monkeypatch.setenv(f"TIDE_{name}", value)
    monkeypatch.setattr(context, "_told", None)
    assert (world.rank(), world.size(), world.local_rank(), world.local_size()) == (2, 3, 1, 2)
    assert isinstance(world.group(), Solo), "what a newcomer does before it trains nobody takes part in"
    assert context.entered() is None, "and the launcher has not heard of it"


def test_a_root_is_one_of_those_who_train() -> None:
    with pytest.raises(ValueError, match="there is no rank 7 among 1"):
        objects.broadcast_object("x", 7)


def test_process_sets_are_refused() -> None:
    with pytest.raises(NotImplementedError, match="process sets are not offered"):
        objects.broadcast_object("x", process_set=object())
    with pytest.raises(NotImplementedError, match="process sets are not offered"):
        world.init(process_sets=[[0, 1]])


def test_it_is_called_again_when_workers_come_or_go(launcher: Launcher) -> None:
    calls: list[int] = []
    resets: list[int] = []
    state = State(step=0, weights=np.zeros(2))
    state.register_reset_callbacks([lambda: resets.append(state.step)])

    @run
    def train(state: State) -> str:
        calls.append(state.step)
        while state.step < 4:
            state.step += 1
            if state.step == 2:
                launcher.next = entry(2)
            state.check_host_updates()
        return "through"

    assert train(state) == "through"
    assert (calls, resets) == ([0, 2], [2]), "nobody rolls back when nobody died"
    assert launcher.said == ["entered", "entered", "finished"]


def test_after_a_death_it_goes_back_to_its_last_commit(launcher: Launcher) -> None:
    calls: list[tuple[int, float]] = []
    state = State(step=0, weights=np.zeros(1))

    def rescale() -> None:
        state.weights += 100

    state.register_reset_callbacks([rescale])

    @run
    def train(state: State) -> None:
        calls.append((state.step, float(state.weights[0])))
        while state.step < 4:
            state.step += 1
            state.weights += 1
            if state.step == 3 and len(calls) == 1:
                raise HorovodInternalError("a neighbour hung up")
            if state.step == 2:
                state.commit()

    train(state)
    assert calls == [(0, 0.0), (2, 102.0)], "callbacks see what was restored, and what they change is kept"
    assert launcher.said == ["entered", "trouble a neighbour hung up", "entered", "finished"]


def test_whoever_leaves_ends_without_an_error(launcher: Launcher) -> None:
    state = State(step=0)

    @run
    def train(state: State) -> None:
        launcher.next = entry(2, worker=99)
        state.commit()

    with pytest.raises(SystemExit) as ended:
        train(state)
    assert ended.value.code == 0
    assert launcher.said == ["entered", "left"]


def test_a_program_that_fails_fails(launcher: Launcher) -> None:
    @run
    def train(state: State) -> None:
        raise RuntimeError("no such file")

    with pytest.raises(RuntimeError, match="no such file"):
        train(State())


def test_a_launcher_that_is_gone_ends_it(launcher: Launcher) -> None:
    @run
    def train(state: State) -> None:
        raise LauncherLostError("the launcher is gone")

    with pytest.raises(SystemExit, match="springtide: the launcher is gone"):
        train(State())


def test_callbacks_stay_with_their_process_and_samplers_share_anew(launcher: Launcher) -> None:
    groups: list[Any] = []
    sampler = ElasticSampler(range(10))
    state = State(sampler=sampler)
    state.register_reset_callbacks([lambda: groups.append(world.group())])

    @run
    def train(state: State) -> None:
        if not groups:
            sampler.record_batch(0, 4)
            launcher.next = entry(2)
            state.commit()

    train(state)
    assert isinstance(groups[0], Solo)
    assert groups[0] is not context.current().group
    assert world.used_apart()
    assert len(sampler) == 6


def test_a_size_that_turned_out_otherwise_is_a_reset(launcher: Launcher, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDE_SIZE", "3")
    assert world.size() == 3
    resets: list[int] = []
    state = State()
    state.register_reset_callbacks([lambda: resets.append(world.size())])
    run(lambda state: None)(state)
    assert resets == [1]


def test_a_collective_before_training_joins_the_others(launcher: Launcher) -> None:
    assert world.group().size == 1
    assert launcher.said == ["entered"]
    state = State(step=5)
    run(lambda state: None)(state)
    assert launcher.said == ["entered", "finished"], "it does not join twice"


def test_all_that_is_given_is_a_value() -> None:
    state = State(checkpoint="best", every=3)
    state.begin()
    state.every += 1
    state.restore()
    assert (state.checkpoint, state.every) == ("best", 3)


def test_an_interrupt_of_the_programs_own_calls_it_again(launcher: Launcher) -> None:
    calls: list[int] = []

    @run
    def train(state: State) -> None:
        calls.append(1)
        if len(calls) < 3:
            raise HostsUpdatedInterrupt

    train(State())
    assert len(calls) == 3
    assert issubclass(HorovodInternalError, BrokenError)
