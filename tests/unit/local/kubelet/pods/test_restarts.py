# SPDX-License-Identifier: Apache-2.0
"""Whether and when containers run again."""

from __future__ import annotations

from typing import Any

import pytest

from springtide.local.kubelet.pods.restarts import BackOff, restarted, restarts_on_failure, should_restart, wait_until

NOW = 1000.0


@pytest.mark.parametrize(
    ("policy", "code", "again"),
    [
        ("Always", 0, True),
        ("Always", 1, True),
        ("OnFailure", 0, False),
        ("OnFailure", 1, True),
        ("Never", 0, False),
        ("Never", 1, False),
    ],
)
def test_the_pods_policy_decides(policy: str, code: int, again: bool) -> None:
    assert should_restart({"name": "main"}, policy, code) is again


def test_a_containers_own_policy_goes_before_the_pods() -> None:
    assert should_restart({"restartPolicy": "Always"}, "Never", 0)
    assert not should_restart({"restartPolicy": "Never"}, "Always", 1)


@pytest.mark.parametrize(
    ("codes", "code", "again"),
    [
        ({"operator": "In", "values": [42]}, 42, True),
        ({"operator": "In", "values": [42]}, 1, False),
        ({"operator": "NotIn", "values": [42]}, 1, True),
        ({"operator": "NotIn", "values": [42]}, 42, False),
    ],
)
def test_a_rule_about_exit_codes_goes_before_the_containers_policy(codes: Any, code: int, again: bool) -> None:
    rules = [{"action": "Restart", "exitCodes": codes}]
    assert should_restart({"restartPolicy": "Never", "restartPolicyRules": rules}, "Never", code) is again


def test_of_a_container_that_has_to_be_killed_only_the_policy_is_asked() -> None:
    assert restarts_on_failure({}, "OnFailure")
    assert not restarts_on_failure({}, "Never")
    assert restarts_on_failure({"restartPolicy": "OnFailure"}, "Never")


def test_the_first_restart_comes_at_once_and_later_ones_ever_later() -> None:
    back_off: BackOff | None = None
    delays = []
    finished = NOW
    for _ in range(8):
        until = wait_until(back_off, finished, finished)
        delays.append(0 if until is None else until - finished)
        started = finished + delays[-1]
        back_off = restarted(back_off, finished, started)
        finished = started + 1
    assert delays == [0, 10, 20, 40, 80, 160, 300, 300]


def test_the_wait_counts_from_the_containers_end() -> None:
    back_off = BackOff(20, NOW)
    assert wait_until(back_off, NOW + 5, NOW + 6) == NOW + 25
    assert wait_until(back_off, NOW + 5, NOW + 25) is None


def test_a_container_that_ran_for_ten_minutes_is_well_again() -> None:
    back_off = BackOff(300, NOW)
    assert wait_until(back_off, NOW + 601, NOW + 601) is None
    assert restarted(back_off, NOW + 601, NOW + 601) == BackOff(10, NOW + 601)
    assert wait_until(back_off, NOW + 600, NOW + 600) == NOW + 900


def test_a_clock_that_was_set_back_makes_nobody_wait_for_it() -> None:
    assert wait_until(BackOff(300, NOW), NOW + 5, NOW - 3600) is None
