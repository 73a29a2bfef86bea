# SPDX-License-Identifier: Apache-2.0
"""Spans of time as people write and read them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from springtide.cli.durations import seconds, shown


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("30s", 30),
        ("2m", 120),
        ("1h", 3600),
        ("3d", 259200),
        ("1h30m", 5400),
        ("1m30s", 90),
        ("0", 0),
        ("45", 45),
        ("0.5s", 0.5),
    ],
)
def test_seconds(text: str, expected: float) -> None:
    assert seconds(text) == expected


@pytest.mark.parametrize(
    "text", ["", "s", "30x", "-5s", "30 s", "s30", "1w", "m5s", "1..5s", "99999999999999h", "9" * 400, "9" * 5000 + "h"]
)
def test_no_span_of_time(text: str) -> None:
    with pytest.raises(ValueError, match="write it like 30s, 2m or 1h30m"):
        seconds(text)


@given(st.integers(0, 10**6))
def test_what_is_shown_can_be_written(span: int) -> None:
    assert seconds(shown(span).replace(" ", "")) == span


def test_shown() -> None:
    assert [shown(span) for span in (-3, 0, 29.6, 90, 3600)] == ["0 s", "0 s", "30 s", "1 m 30 s", "1 h"]
