# SPDX-License-Identifier: Apache-2.0
"""What a script is believed that no longer names a host."""

from __future__ import annotations

from springtide.elastic.discovery import confirmed

BOTH = {"a": 1, "b": 2}


def test_a_host_that_is_missing_twice_is_gone() -> None:
    assert confirmed(BOTH, {"a": 1}, {"a": 1}) == {"a": 1}
    assert confirmed(BOTH, {}, {}) == {}


def test_a_host_that_is_missing_once_is_there() -> None:
    assert confirmed(BOTH, {"a": 1}, BOTH) == BOTH
    assert confirmed(BOTH, {"a": 1}, {"b": 2}) == BOTH


def test_fewer_slots_are_believed_when_they_are_said_twice() -> None:
    assert confirmed(BOTH, {"a": 1, "b": 1}, {"a": 1, "b": 1}) == {"a": 1, "b": 1}
    assert confirmed(BOTH, {"a": 1, "b": 0}, {"a": 1, "b": 1}) == {"a": 1, "b": 1}


def test_a_new_host_is_there_at_once() -> None:
    assert confirmed(BOTH, {"a": 1}, {"a": 1, "c": 1}) == {"a": 1, "c": 1}
