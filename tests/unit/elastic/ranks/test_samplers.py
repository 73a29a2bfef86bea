# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from springtide.elastic.ranks import context
from springtide.elastic.ranks.orders import Order
from springtide.elastic.ranks.samplers import Sampler


def walked(length: int, batch: int, sizes: list[int], monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One epoch in which the size changes after every batch; what all ranks took."""
    taken: list[int] = []
    state = Sampler(length, batch, seed=3).state_dict()
    for number in range(10_000):
        size = sizes[number % len(sizes)]
        after = state
        for rank in range(size):
            monkeypatch.setattr(context, "current", lambda rank=rank, size=size: SimpleNamespace(rank=rank, size=size))
            sampler = Sampler(length, batch, seed=3)
            sampler.load_state_dict(state)
            taken += next(iter(sampler), [])
            after = sampler.state_dict()
        state = after
        if state["epoch"]:
            return taken
    raise AssertionError("the epoch does not end")


@given(length=st.integers(0, 60), batch=st.integers(1, 17), sizes=st.lists(st.integers(1, 5), min_size=1, max_size=6))
def test_no_sample_is_repeated_or_dropped_whatever_the_size(length: int, batch: int, sizes: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        assert sorted(walked(length, batch, sizes, patch)) == list(range(length))


def test_all_ranks_have_the_same_number_of_steps() -> None:
    sampler = Sampler(10, 4, shuffle=False)
    assert list(sampler) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert (sampler.epoch, len(sampler)) == (1, 3)


def test_epochs_are_shuffled_differently_and_alike_everywhere() -> None:
    def order(epoch: int) -> list[int]:
        sampler = Sampler(50, 50)
        sampler.load_state_dict({"epoch": epoch, "consumed": 0})
        return next(iter(sampler))

    assert order(0) == order(0) != order(1)


def test_nonsense_is_refused() -> None:
    with pytest.raises(ValueError, match="a batch of at least 1"):
        Sampler(10, 0)


@given(length=st.integers(0, 500), seed=st.integers(0, 9))
def test_every_sample_has_one_place_in_the_order(length: int, seed: int) -> None:
    order = Order(length, f"{seed}/0")
    assert sorted(order.at(range(length))) == list(range(length))


class Loader:
    """Reads ahead, as those do that have processes to read for them."""

    def __init__(self, shares: Iterable[list[int]], ahead: int = 4) -> None:
        self._shares, self._ahead = shares, ahead

    def __iter__(self) -> Iterator[list[int]]:
        iter(self._shares)  # PyTorch's ask twice
        shares, read = iter(self._shares), deque[list[int]]()
        while True:
            while len(read) < self._ahead and (share := next(shares, None)) is not None:
                assert share, "a loader cannot make a batch of nothing"
                read.append(share)
            if not read:
                return
            yield read.popleft()


def test_what_a_loader_has_read_ahead_does_not_count() -> None:
    sampler = Sampler(100, 10)
    batches = sampler.through(Loader(sampler))
    trained = [sample for _ in range(3) for sample in next(batches) or ()]
    assert sampler.state_dict() == {"epoch": 0, "consumed": 30}
    again = Sampler(100, 10)
    again.load_state_dict(sampler.state_dict())
    assert sorted(trained + [sample for batch in again.through(Loader(again)) for sample in batch or ()]) == [
        *range(100)
    ]
    assert (again.epoch, again.consumed) == (1, 0)


def test_what_was_read_for_another_size_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two ranks, of which the second joins after three batches and leaves after five."""
    now: Any = SimpleNamespace(rank=0, size=1)
    monkeypatch.setattr(context, "current", lambda: now)
    sampler, taken, empty = Sampler(21, 2), list[int](), 0
    for number, batch in enumerate(sampler.through(Loader(sampler)), 1):
        taken += batch or ()
        other = Sampler(21, 2)
        if now.size == 2:
            now.rank = 1
            other.load_state_dict({"epoch": 0, "consumed": sampler.consumed})
            theirs = next(iter(other.through(Loader(other))))
            empty += theirs is None
            taken += theirs or ()
        now = SimpleNamespace(rank=0, size=2 if 3 <= number < 5 or number == 10 else 1)
    assert sorted(taken) == list(range(21))
    assert empty == 1, "the last batch is too short for two"


def test_a_loader_of_another_sampler_is_refused() -> None:
    with pytest.raises(ValueError, match="does not take its shares from this sampler"):
        next(Sampler(10, 2).through([[1], [2]]))
