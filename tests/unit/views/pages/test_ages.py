# SPDX-License-Identifier: Apache-2.0
"""Durations as kubectl and Arena write them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from springtide.views.pages.ages import human_duration, instant, local_time, seconds, short_duration

MINUTE, HOUR, DAY, YEAR = 60, 3600, 86400, 365 * 86400
NOON = datetime(2025, 1, 2, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("span", "arenas", "kubectls"),
    [
        (-2, "<invalid>", "<invalid>"),
        (-1.5, "0s", "0s"),
        (0, "0s", "0s"),
        (59.9, "59s", "59s"),
        (60, "1m", "60s"),
        (119, "1m", "119s"),
        (303, "5m", "5m3s"),
        (59 * MINUTE, "59m", "59m"),
        (HOUR, "1h", "60m"),
        (3 * HOUR + 20 * MINUTE, "3h", "3h20m"),
        (23 * HOUR, "23h", "23h"),
        (DAY, "1d", "24h"),
        (2 * DAY + 4 * HOUR, "2d", "2d4h"),
        (364 * DAY, "364d", "364d"),
        (YEAR, "1y", "365d"),
        (3 * YEAR + 35 * DAY, "3y", "3y35d"),
        (9 * YEAR, "9y", "9y"),
    ],
)
def test_a_duration_is_written_as_either_program_does(span: float, arenas: str, kubectls: str) -> None:
    assert (short_duration(span), human_duration(span)) == (arenas, kubectls)


@pytest.mark.parametrize(
    ("written", "moment"),
    [
        ("2025-01-02T12:00:00Z", NOON),
        ("2025-01-02T13:00:00+01:00", NOON),
        ("2025-01-02T12:00:00.5Z", NOON + timedelta(seconds=0.5)),
        ("2025-01-02T12:00:00", None),
        ("noon", None),
        ("", None),
        (None, None),
    ],
)
def test_a_time_is_read_or_is_none(written: str | None, moment: datetime | None) -> None:
    assert instant(written) == moment


def test_without_a_beginning_no_time_has_passed() -> None:
    assert (seconds(None, NOON), seconds(NOON, NOON + timedelta(seconds=5))) == (0, 5)


def test_a_time_is_shown_in_a_time_zone() -> None:
    east = timezone(timedelta(hours=8))
    assert (local_time(NOON, UTC), local_time(NOON, east)) == ("2025-01-02 12:00:00", "2025-01-02 20:00:00")
    assert local_time(None) == ""
