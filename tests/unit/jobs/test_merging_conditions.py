# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from datetime import UTC, datetime, timedelta

from springtide.api.kinds.conditions import Condition
from springtide.jobs.reporting.conditions import Conditions, false, merged, true

THEN = datetime(2026, 1, 1, tzinfo=UTC)
NOW = THEN + timedelta(hours=1)


def a_list(*conditions: Condition) -> Conditions:
    found: Conditions = ()
    for each in conditions:
        found = merged(found, each, THEN)
    return found


def types(conditions: Conditions) -> list[tuple[str, str]]:
    return [(each.type, each.status) for each in conditions]


def test_unchanged_status_and_reason_are_left_alone_even_if_the_message_differs() -> None:
    before = a_list(true("Running", "R", "old"), true("Created", "C", ""))
    assert merged(before, true("Running", "R", "new"), NOW) is before


def test_a_changed_condition_moves_to_the_end() -> None:
    before = a_list(true("Running", "R", ""), true("Created", "C", ""))
    assert types(merged(before, false("Running", "S", ""), NOW)) == [("Created", "True"), ("Running", "False")]


def test_the_transition_time_moves_only_with_the_status() -> None:
    other_reason = merged(a_list(true("Failed", "A", "")), true("Failed", "B", ""), NOW)[0]
    assert (other_reason.last_transition_time, other_reason.last_update_time) == (THEN, NOW)
    other_status = merged(a_list(true("Failed", "A", "")), false("Failed", "A", ""), NOW)[0]
    assert other_status.last_transition_time == NOW


def test_success_ends_running_and_an_earlier_failure() -> None:
    before = a_list(true("Failed", "F", ""), true("Running", "R", ""))
    after = merged(before, true("Succeeded", "S", ""), NOW)
    assert types(after) == [("Failed", "False"), ("Running", "False"), ("Succeeded", "True")]


def test_running_and_restarting_drive_each_other_out() -> None:
    running = merged(a_list(true("Restarting", "R", "")), true("Running", "R", ""), NOW)
    assert types(running) == [("Running", "True")]
    assert types(merged(running, true("Restarting", "R", ""), NOW)) == [("Restarting", "True")]


def test_a_message_is_cut() -> None:
    assert len(merged((), true("Failed", "F", "x" * 5000), NOW)[0].message) == 1024
