# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from springtide.local.kinds.columns import labels_text, selector_text, since, until
from springtide.local.kinds.core import STRATEGIES
from springtide.local.kinds.strategy import Obj
from springtide.views.pages.ages import human_duration

MINUTE, HOUR, DAY, YEAR = 60, 3600, 86400, 365 * 86400


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "<invalid>"),
        (-1, "0s"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (5 * MINUTE + 3, "5m3s"),
        (10 * MINUTE + 3, "10m"),
        (3 * HOUR - 1, "179m"),
        (3 * HOUR, "3h"),
        (7 * HOUR + 59 * MINUTE, "7h59m"),
        (8 * HOUR + 59 * MINUTE, "8h"),
        (2 * DAY + 4 * HOUR, "2d4h"),
        (8 * DAY + 4 * HOUR, "8d"),
        (2 * YEAR - 1, "729d"),
        (2 * YEAR + 35 * DAY, "2y35d"),
        (9 * YEAR + 35 * DAY, "9y"),
    ],
)
def test_durations_have_two_or_three_figures(seconds: int, text: str) -> None:
    assert human_duration(seconds) == text


def test_times_are_told_from_now() -> None:
    assert since("2026-01-01T00:00:00Z", "2026-01-01T00:01:30Z") == "90s"
    assert since("2026-01-01T00:00:00.250000Z", "2026-01-01T00:01:30Z") == "89s"
    assert until("2026-01-01T01:00:00Z", "2026-01-01T00:00:00Z") == "60m"
    assert since(None, "2026-01-01T00:00:00Z") == "<unknown>"


@pytest.mark.parametrize(
    ("selector", "text"),
    [
        (None, "<none>"),
        ({}, "<none>"),
        ({"matchLabels": {"b": "2", "a": "1"}}, "a=1,b=2"),
        (
            {
                "matchLabels": {"b": "2"},
                "matchExpressions": [
                    {"key": "a", "operator": "In", "values": ["y", "x"]},
                    {"key": "c", "operator": "NotIn", "values": ["z"]},
                    {"key": "d", "operator": "Exists"},
                    {"key": "e", "operator": "DoesNotExist"},
                ],
            },
            "a in (x,y),b=2,c notin (z),d,!e",
        ),
    ],
)
def test_selectors_read_as_people_write_them(selector: Obj | None, text: str) -> None:
    assert selector_text(selector) == text


def test_labels_are_sorted() -> None:
    assert labels_text({"b": "2", "a": "1"}) == "a=1,b=2"
    assert labels_text({}) == "<none>"


@pytest.mark.parametrize("key", sorted(STRATEGIES))
def test_every_column_is_described_and_one_is_the_name(key: tuple[str, str]) -> None:
    columns = STRATEGIES[key].columns
    assert all(column.description for column in columns)
    assert sum(column.format == "name" for column in columns) == 1
