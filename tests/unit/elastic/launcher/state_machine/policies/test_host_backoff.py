# SPDX-License-Identifier: Apache-2.0
"""Hosts that rest after a failure."""

from __future__ import annotations

from springtide.elastic.launcher.state_machine.policies.host_backoff import HostBackoff


def test_a_host_rests_longer_each_time_and_never_for_good() -> None:
    cooling, now, rests = HostBackoff(10, 300), 0.0, []
    for _ in range(8):
        rests.append(cooling.failed("a", now))
        now += rests[-1]
        assert cooling.resting(now) == {}
    assert rests == [10, 20, 40, 80, 160, 300, 300, 300]


def test_workers_of_a_host_that_die_together_are_one_failure() -> None:
    cooling = HostBackoff(10, 300)
    assert cooling.failed("a", 0) == 10
    assert cooling.failed("a", 4) == 6
    assert cooling.resting(5) == {"a": 10}


def test_a_host_that_was_well_for_long_begins_anew() -> None:
    cooling = HostBackoff(10, 300)
    cooling.failed("a", 0)
    assert cooling.failed("a", 1000) == 10


def test_a_host_that_comes_back_is_another_one() -> None:
    cooling = HostBackoff(10, 300)
    cooling.failed("a", 0)
    cooling.listed(["b"], 1)
    cooling.listed(["a", "b"], 2)
    assert cooling.resting(2) == {}
    assert cooling.failed("a", 3) == 20


def test_hosts_that_failed_least_are_used_first() -> None:
    cooling = HostBackoff(1, 10)
    cooling.failed("a", 0)
    assert list(cooling.preferred({"a": 1, "b": 1, "c": 2})) == ["b", "c", "a"]
