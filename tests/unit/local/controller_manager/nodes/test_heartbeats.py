# SPDX-License-Identifier: Apache-2.0
"""How long a node was silent, by the watcher's own clock."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from springtide.local.controller_manager.nodes.heartbeats import Heartbeats, Patience


def ticking(heartbeats: Heartbeats, start: float, end: float) -> float:
    """The watcher runs from start to end without a pause."""
    now = start
    while now < end:
        heartbeats.look(now)
        now += 1
    heartbeats.look(end)
    return end


def test_a_node_is_silent_when_no_new_sign_came_for_forty_seconds() -> None:
    heartbeats = Heartbeats(Patience())
    heartbeats.heard("n", "first", 0)
    assert not heartbeats.is_silent("n", ticking(heartbeats, 0, 40), new=False)
    assert heartbeats.is_silent("n", ticking(heartbeats, 40, 41), new=False)
    assert not heartbeats.is_silent("n", 41, new=True)
    assert heartbeats.is_silent("n", ticking(heartbeats, 41, 61), new=True)


def test_the_same_sign_again_is_no_sign_of_life() -> None:
    heartbeats = Heartbeats(Patience())
    heartbeats.heard("n", "first", 0)
    ticking(heartbeats, 0, 30)
    heartbeats.heard("n", "first", 30)
    assert heartbeats.is_silent("n", ticking(heartbeats, 30, 41), new=False)
    heartbeats.heard("n", "second", 41)
    assert not heartbeats.is_silent("n", 41, new=False)


def test_a_watcher_that_did_not_run_counts_anew() -> None:
    heartbeats = Heartbeats(Patience())
    heartbeats.heard("n", "first", 0)
    ticking(heartbeats, 0, 30)
    heartbeats.look(3600)  # suspended for an hour
    assert not heartbeats.is_silent("n", ticking(heartbeats, 3600, 3640), new=False)
    assert heartbeats.is_silent("n", ticking(heartbeats, 3640, 3641), new=False)


def test_a_node_that_is_not_known_is_not_blamed() -> None:
    heartbeats = Heartbeats(Patience())
    heartbeats.heard("n", "first", 0)
    heartbeats.forget("n")
    heartbeats.forget("n")
    assert not heartbeats.is_silent("n", 1000, new=False)


@given(
    st.lists(st.tuples(st.sampled_from(["beat", "run", "sleep"]), st.floats(0.1, 60)), max_size=40),
    st.floats(0, 1e6),
)
def test_nobody_is_blamed_for_time_in_which_the_watcher_did_not_listen(
    story: list[tuple[str, float]], start: float
) -> None:
    patience = Patience()
    heartbeats = Heartbeats(patience)
    now, listened, beats = start, 0.0, 0
    heartbeats.heard("n", beats, now)
    heartbeats.look(now)
    for what, seconds in story:
        if what == "beat":
            beats += 1
            heartbeats.heard("n", beats, now)
            listened = 0.0
        elif what == "run":
            now = ticking(heartbeats, now, now + seconds)
            listened += seconds
        else:
            now += seconds
            heartbeats.look(now)
            listened += min(seconds, patience.gap)
        if heartbeats.is_silent("n", now, new=False):
            assert listened > patience.silence - 0.001
