# SPDX-License-Identifier: Apache-2.0
"""The judge must see every kind of fault, or its silence means nothing."""

from __future__ import annotations

import pytest
from tests.crash.shapes import CONFIG_MAP, payload_of, stamp_of, wanted
from tests.crash.verdict import judge_history, judge_origin, judge_state
from tests.crash.watchers import Seen
from tests.crash.writers import Acknowledged

WRITTEN = Seen("ADDED", "a", "s1", 1)
CHANGED = Seen("MODIFIED", "a", "s2", 2)
GONE = Seen("DELETED", "a", "s2", 3)
AGAIN = Seen("ADDED", "a", "s3", 4)
HISTORY = [WRITTEN, CHANGED, GONE, AGAIN]
FINAL = {"a": ("s3", 4)}
PROMISES = [Acknowledged(CONFIG_MAP, "a", stamp, revision) for stamp, revision in (("s1", 1), ("s2", 2), ("", 0))]


def test_a_faithful_history_is_not_complained_about() -> None:
    assert judge_history(CONFIG_MAP, HISTORY, PROMISES, FINAL) == []


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param([WRITTEN, WRITTEN, CHANGED, GONE, AGAIN], id="a duplicate"),
        pytest.param([WRITTEN, GONE, AGAIN], id="a gap"),
        pytest.param([CHANGED, WRITTEN, GONE, AGAIN], id="out of order"),
        pytest.param([WRITTEN, CHANGED, AGAIN], id="a missing deletion"),
        pytest.param([WRITTEN, CHANGED, GONE], id="a missing end"),
        pytest.param([WRITTEN, Seen("MODIFIED", "a", "s2", 9), GONE, AGAIN], id="another revision than acknowledged"),
    ],
)
def test_a_fault_in_a_watch_is_seen(seen: list[Seen]) -> None:
    assert judge_history(CONFIG_MAP, seen, PROMISES, FINAL)


@pytest.mark.parametrize(
    "final", [{}, {"a": ("s0", 1)}, {"a": ("s3", 4), "b": ("s9", 5)}], ids=["lost", "gone back", "made up"]
)
def test_a_fault_in_the_state_is_seen(final: dict[str, tuple[str, int]]) -> None:
    assert judge_state(CONFIG_MAP, {"a": "s3"}, final)
    assert judge_state(CONFIG_MAP, {"a": "s3"}, FINAL) == []


def test_an_event_nobody_caused_is_seen() -> None:
    assert judge_origin(CONFIG_MAP, [WRITTEN], {("configmaps", "a", "s1")}) == []
    assert judge_origin(CONFIG_MAP, [WRITTEN], {("configmaps", "b", "s1")})


def test_a_half_written_object_is_seen() -> None:
    obj = wanted(CONFIG_MAP, "a", "s1")
    assert stamp_of(CONFIG_MAP, obj) == "s1"
    obj["data"]["payload"] = payload_of("s2")
    with pytest.raises(AssertionError, match="half-written"):
        stamp_of(CONFIG_MAP, obj)
