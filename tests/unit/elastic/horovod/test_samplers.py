# SPDX-License-Identifier: Apache-2.0
"""Horovod's sampler: shares, padding, and what is left after a resize."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from springtide.elastic.horovod import world
from springtide.elastic.horovod.samplers import ElasticSampler


class Place:
    """Where the sampler believes to be."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.rank, self.size = 0, 1
        monkeypatch.setattr(world, "rank", lambda: self.rank)
        monkeypatch.setattr(world, "size", lambda: self.size)

    def samplers(self, size: int, length: int, **options: bool) -> list[ElasticSampler]:
        """One for each rank."""
        found = []
        for self.rank in range(size):
            self.size = size
            found.append(ElasticSampler(range(length), **options))
        return found

    def resized(self, state: dict[str, int], size: int, length: int) -> list[ElasticSampler]:
        found = self.samplers(size, length)
        for self.rank, sampler in enumerate(found):
            sampler.load_state_dict(state)
        return found


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Place:
    return Place(monkeypatch)


def test_ranks_share_an_epoch_and_padding_makes_shares_even(place: Place) -> None:
    shares = [list(each) for each in place.samplers(3, 7, shuffle=False)]
    assert shares == [[0, 3, 6], [1, 4, 0], [2, 5, 1]]


def test_more_ranks_than_samples_get_some_again(place: Place) -> None:
    assert [list(each) for each in place.samplers(5, 2, shuffle=False)] == [[0], [1], [0], [1], [0]]
    assert [list(each) for each in place.samplers(2, 0)] == [[], []]


def test_all_ranks_shuffle_alike_and_every_epoch_differently(place: Place) -> None:
    one, other = place.samplers(2, 10)
    assert sorted([*one, *other]) == list(range(10))
    before = list(one)
    place.rank = 0
    one.set_epoch(1)
    assert list(one) != before


@given(
    length=st.integers(1, 60),
    batch=st.integers(1, 5),
    sizes=st.lists(st.tuples(st.integers(1, 4), st.integers(0, 6)), min_size=1, max_size=5),
)
def test_within_an_epoch_nothing_is_dropped_and_only_padding_comes_twice(
    length: int, batch: int, sizes: list[tuple[int, int]]
) -> None:
    """Through resizes at any batch: everybody records what all have trained."""
    with pytest.MonkeyPatch.context() as patch:
        place = Place(patch)
        trained: list[int] = []
        state = {"epoch": 2, "processed_num": 0}
        for size, batches in [*sizes, (1, length)]:
            samplers = place.resized(state, size, length)
            for number in range(batches):
                shares = [each.get_indices(number, batch) for each in samplers]
                if not any(shares):
                    break
                trained += [sample for share in shares for sample in share]
                for each in samplers:
                    each.record_batch(number, batch)
            state = samplers[0].state_dict()
            assert all(each.state_dict() == state for each in samplers)
        assert set(trained) == set(range(length))
        assert len(trained) - length < 4, "padding evens out the last batch of an epoch"


def test_what_is_recorded_by_name_counts_for_all(place: Place) -> None:
    sampler = place.samplers(2, 10)[0]
    sampler.record_indices([3, 4])
    assert sampler.state_dict() == {"epoch": 0, "processed_num": 4}
    sampler.reset()
    assert len(sampler) == 3
