# SPDX-License-Identifier: Apache-2.0
"""How a newcomer gets the state of the others, and what it costs them: memory is there before anybody waits."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from springtide.elastic import State, leaves
from springtide.elastic.groups import BrokenError, Buffer, Solo
from springtide.elastic.protocol.rank_messages import FROM_RANK
from springtide.elastic.ranks import context
from springtide.elastic.ranks.context import Context
from springtide.elastic.ranks.session import Entry


class AttemptLog(Solo):
    """One end of a group of two: the source is recorded, and then played to somebody else."""

    def __init__(self, parts: list[bytes], rank: int) -> None:
        self.parts, self.rank, self.size = parts, rank, 2
        self.alike, self.broken = False, False

    def allgather(self, mine: bytes) -> Sequence[bytes]:
        if self.broken:
            raise BrokenError("the other is gone")
        return [mine, mine if self.alike else b"another"]

    def pass_on(self, data: Buffer, source: int, *, everybody: bool) -> None:
        if self.rank == source:
            self.parts.append(bytes(data))
        elif not self.parts:
            raise BrokenError("the source is gone")
        else:
            data[:] = self.parts.pop(0)


class Rank:
    """What a state sees of its process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now: Any = Context(None)
        self.entry = Entry(2, (), source=0, graceful=True, boundary=5)
        self.said: list[str] = []
        session: Any = SimpleNamespace(boundary=0, begin=self.joined, recover=self.recovered, stand=lambda _: None)
        session.send = lambda message: self.said.append(FROM_RANK.head(message)[0]["type"])
        self.now.session = session
        self.monkeypatch = monkeypatch
        monkeypatch.setattr(Context, "enter", lambda *_: None)
        monkeypatch.setattr(context, "current", lambda: self.now)

    def joined(self) -> Entry:
        def refused(*_: Any) -> Any:
            raise AssertionError("others wait meanwhile")

        self.monkeypatch.setattr(leaves, "made", refused)
        self.monkeypatch.setattr(leaves, "copied", refused)
        return self.entry

    def recovered(self, *_: Any) -> Entry:
        return Entry(3, (), source=0, graceful=False)


@pytest.fixture
def rank(monkeypatch: pytest.MonkeyPatch) -> Rank:
    return Rank(monkeypatch)


def recorded(rank: Rank, **values: Any) -> list[bytes]:
    parts: list[bytes] = []
    rank.now.group = AttemptLog(parts, 0)
    State(**values)._pass_on(rank.now.group, rank.entry, 5, everybody=True, size=2)
    rank.now.session.boundary = 0
    return parts


def test_a_newcomer_finds_the_state_of_the_others_in_its_own_arrays(rank: Rank) -> None:
    rank.now.group = AttemptLog(recorded(rank, weights=[np.arange(4.0), np.ones(2)], step=7), 1)
    mine = np.zeros(4)
    state = State(weights=[mine, np.zeros(2)], step=0)
    rank.entry = Entry(2, (object(), object()), source=0, graceful=True, boundary=5)  # type: ignore[arg-type]
    state.begin()
    assert (state.step, mine.tolist(), rank.now.session.boundary) == (7, [0.0, 1.0, 2.0, 3.0], 5)
    mine += 1
    state.restore()
    assert mine.tolist() == [0.0, 1.0, 2.0, 3.0], "what arrived is its first commit"
    assert rank.said == ["entered"]


@pytest.mark.parametrize("arrived", range(5))
def test_what_arrives_in_part_changes_nothing(rank: Rank, arrived: int) -> None:
    parts = recorded(rank, weights=[np.ones(4), np.ones(2)], step=7)
    rank.now.group = AttemptLog(parts[: min(arrived, 3)], 1)
    state = State(weights=[np.zeros(4), np.zeros(2)], step=0)
    if arrived == 4:
        state.commit()  # and goes back to it
    with pytest.raises(BrokenError):
        state.recover("somebody died")
    state.restore()
    assert (state.step, [each.tolist() for each in state.weights]) == (0, [[0.0] * 4, [0.0] * 2])


def test_a_newcomer_of_another_shape_becomes_what_the_others_are(rank: Rank, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = recorded(rank, weights={"w": np.ones((2, 2))}, step=7)
    rank.now.group = AttemptLog(parts, 1)
    state = State(weights=None, step=0)
    state.recover("")
    assert (state.step, state.weights["w"].tolist()) == (7, [[1.0, 1.0], [1.0, 1.0]])


def test_survivors_that_have_the_same_commit_send_each_other_nothing(rank: Rank) -> None:
    group = rank.now.group = AttemptLog([], 1)
    state = State(weights=np.zeros(2), step=0)
    rank.now.session.boundary = 6
    state.commit()
    state.weights += 1
    state.step, rank.now.session.boundary = 3, 9
    group.alike = True
    state.recover("somebody died")
    assert (state.step, state.weights.tolist(), rank.now.session.boundary) == (0, [0.0, 0.0], 7)
    assert (rank.said, rank.now.session.commit) == (["entered"], 7)


@pytest.mark.parametrize("place", [0, 1])
def test_a_newcomer_that_dies_while_it_joins_sends_nobody_back(rank: Rank, place: int) -> None:
    """Those before the source, which send nothing, and the source."""
    group = rank.now.group = AttemptLog([], place)
    state = State(weights=np.zeros(2), step=0)
    state.commit()
    state.weights += 1
    state.step = 3
    members: Any = (object(), object(), object())
    group.broken = True
    with pytest.raises(BrokenError):
        state._enter(Entry(2, members, source=1, graceful=True, boundary=5), newcomer=False)
    assert (state.newest, rank.said) == (5, [])
    state.restore()
    assert (state.step, state.weights.tolist()) == (3, [1.0, 1.0])


def test_all_take_the_values_of_the_first(rank: Rank) -> None:
    rank.now.generation = 1
    first = State(weights=np.ones(2), step=7)
    tape = rank.now.group = AttemptLog([], 0)
    first.sync()
    rank.now.group = AttemptLog(tape.parts, 1)
    second = State(weights=np.zeros(2), step=0)
    second.sync()
    second.weights += 1
    second.restore()
    assert (second.step, second.weights.tolist()) == (7, [1.0, 1.0])


def test_alone_there_is_nobody_to_take_values_from() -> None:
    state = State(step=1)
    state.commit()
    state.step = 2
    state.sync()
    state.restore()
    assert state.step == 1
