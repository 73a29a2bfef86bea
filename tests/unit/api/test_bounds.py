# SPDX-License-Identifier: Apache-2.0
"""From policies and slots to workers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from springtide.api import bounds
from springtide.api.bounds import Bounds, Slots
from springtide.api.command_lines import Launch
from springtide.api.kinds.elastic_policy import ElasticPolicy

POLICY, LINE = "spec.elasticPolicy", "the launcher's command line"
BOTH = f"{POLICY} and {LINE}"
OPEN = ElasticPolicy()


def horovodrun(np: int | None = None, min_np: int | None = None, max_np: int | None = None) -> Launch:
    return Launch("horovodrun", np, min_np, max_np, discovers_hosts=True)


def policy(least: int | None = None, most: int | None = None) -> ElasticPolicy:
    return ElasticPolicy(min_replicas=least, max_replicas=most)


@pytest.mark.parametrize(
    ("said", "launch", "slots", "found"),
    [
        (OPEN, None, 1, None),
        (OPEN, Launch("mpirun", np=4), 1, None),
        (OPEN, Launch("horovodrun", np=4, max_np=8), 1, None),
        (OPEN, horovodrun(2, 1, 3), 1, Bounds(1, 3, LINE)),
        (OPEN, horovodrun(2, 3, 8), 2, Bounds(2, 4, LINE)),
        (OPEN, horovodrun(2, 4, 9), 4, Bounds(1, 2, LINE)),
        (OPEN, horovodrun(4), 1, Bounds(4, None, LINE)),
        (OPEN, horovodrun(), 1, Bounds(1, None, LINE)),
        (OPEN, horovodrun(4, 2), 1, Bounds(2, None, LINE)),
        (OPEN, horovodrun(3, 3, 3), 2, Bounds(2, 2, LINE)),
        (OPEN, horovodrun(1, 1, 1), 4, Bounds(1, 1, LINE)),
        (policy(2, 5), None, 1, Bounds(2, 5, POLICY)),
        (policy(2, 5), horovodrun(2, 1, 3), 4, Bounds(2, 5, POLICY)),
        (policy(2), None, 1, Bounds(2, None, POLICY)),
        (policy(None, 5), None, 1, Bounds(1, 5, POLICY)),
        (policy(2), horovodrun(2, 1, 3), 1, Bounds(2, 3, BOTH)),
        (policy(None, 5), horovodrun(2, 2, 3), 1, Bounds(2, 5, BOTH)),
        (policy(4), horovodrun(2, 1, 3), 1, Bounds(4, 4, BOTH)),
        (policy(None, 1), horovodrun(2, 2, 3), 1, Bounds(1, 1, BOTH)),
    ],
)
def test_the_policy_counts_workers_and_the_command_line_slots(
    said: ElasticPolicy, launch: Launch | None, slots: int, found: Bounds | None
) -> None:
    assert bounds.decided(said, launch, Slots(slots)) == found


def test_slots_of_a_launcher_that_is_a_host_are_not_the_workers() -> None:
    assert bounds.decided(OPEN, horovodrun(4, 4, 12), Slots(2, of_launcher=2)) == Bounds(1, 5, LINE)


@given(st.integers(1, 64), st.integers(0, 64), st.integers(1, 9))
def test_every_size_within_has_enough_slots_and_no_more_than_it_can_use(least: int, more: int, slots: int) -> None:
    found = bounds.decided(OPEN, horovodrun(None, least, least + more), Slots(slots))
    assert found is not None
    assert found.max is not None
    assert found.min * slots >= least > (found.min - 1) * slots
    assert found.max == max((least + more) // slots, found.min)


@given(st.integers(1, 9), st.none() | st.integers(0, 9), st.integers(-3, 30))
def test_the_nearest_size_is_within_and_a_size_within_is_its_own_nearest(
    least: int, more: int | None, workers: int
) -> None:
    found = Bounds(least, None if more is None else least + more, POLICY)
    nearest = found.nearest(workers)
    assert found.hold(nearest)
    assert found.hold(workers) == (nearest == workers)
    assert nearest >= least
    assert found.max is None or nearest <= found.max


def test_bounds_are_told_in_words() -> None:
    assert str(Bounds(1, 3, POLICY)) == "between 1 and 3, as spec.elasticPolicy says"
    assert str(Bounds(2, None, LINE)) == "at least 2, as the launcher's command line says"
