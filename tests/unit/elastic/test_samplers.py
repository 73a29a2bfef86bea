# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from springtide.elastic import context
from springtide.elastic.samplers import Sampler


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
