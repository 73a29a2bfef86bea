# SPDX-License-Identifier: Apache-2.0
"""Tickets for commands: good once, for a minute, and bounded together."""

from __future__ import annotations

from springtide.local.runtime.shim.tickets import LIFE, MOST, MOST_CHARACTERS, Tickets


def test_a_ticket_is_good_once() -> None:
    tickets = Tickets()
    tickets.give("a", {"argv": ["true"]}, 0.0)
    assert tickets.take("b", 1.0) is None
    assert tickets.take("a", 1.0) == {"argv": ["true"]}
    assert tickets.take("a", 1.0) is None


def test_a_ticket_expires() -> None:
    tickets = Tickets()
    tickets.give("a", {"argv": ["true"]}, 0.0)
    assert tickets.take("a", LIFE) is None
    tickets.give("b", {}, 0.0)
    tickets.give("c", {}, LIFE)
    assert [tickets.take(name, LIFE) for name in ("b", "c")] == [None, {}]


def test_of_too_many_the_oldest_are_forgotten() -> None:
    tickets = Tickets()
    for number in range(MOST + 10):
        tickets.give(str(number), {}, 0.0)
    assert [tickets.take(str(number), 0.0) for number in (9, 10, MOST + 9)] == [None, {}, {}]


def test_of_too_long_commands_the_oldest_are_forgotten() -> None:
    """Whoever may run commands in a pod asks for tickets and uses none: this costs the node no more than the limit."""
    tickets, command = Tickets(), {"argv": ["x" * (MOST_CHARACTERS // 4)]}
    for number in range(100):
        tickets.give(str(number), command, 0.0)
    assert [number for number in range(100) if tickets.take(str(number), 0.0)] == [97, 98, 99]
    tickets.give("longer than all", {"argv": ["x" * MOST_CHARACTERS]}, 0.0)
    assert tickets.take("longer than all", 0.0)
