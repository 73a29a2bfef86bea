# SPDX-License-Identifier: Apache-2.0
"""Merging logs by time: what is written when, and how much waits."""

from __future__ import annotations

import random

from springtide.views.logs.log_lines import Line
from springtide.views.logs.log_merge import AHEAD, CONNECTING, LEAST, QUIET, Merge


def at(second: int, text: str = "", *, whole: bool = True) -> Line:
    return Line(b"%09d" % second, (text or str(second)).encode(), whole)


def texts(merge: Merge, now: float = 0.0) -> str:
    return " ".join(line.text.decode() for _, line in merge.ready(now))


def opened(*sources: str, follow: bool = False) -> Merge:
    merge = Merge(follow=follow)
    for source in sources:
        merge.open(source, 0.0)
    return merge


def test_a_line_waits_for_every_source() -> None:
    merge = opened("a", "b")
    merge.add("a", [at(1), at(4)], 0.0)
    assert texts(merge) == ""
    merge.add("b", [at(2), at(3)], 0.0)
    assert texts(merge) == "1 2 3"
    assert texts(merge, now=1000.0) == ""  # a log that is not followed is read to its end, however long that takes
    assert merge.wait(1000.0) is None
    merge.close("b")
    assert texts(merge) == "4"
    merge.close("a")
    assert texts(merge) == ""
    assert merge.done


def test_a_quiet_source_does_not_hold_up_followed_ones() -> None:
    merge = opened("a", "b", follow=True)
    merge.add("a", [at(5)], 0.1)
    assert texts(merge, 0.2) == ""
    assert merge.wait(0.2) == CONNECTING - 0.2
    assert texts(merge, CONNECTING) == "5"
    merge.add("b", [at(6)], 3.0)
    assert texts(merge, 3.1) == "6"
    merge.add("a", [at(7)], 3.1)
    assert texts(merge, 3.1) == ""
    assert texts(merge, 3.0 + QUIET) == "7"
    assert merge.wait(4.0) is None


def test_logs_are_merged_in_order_however_they_arrive() -> None:
    chance = random.Random(7)
    lines = {source: sorted(chance.sample(range(10_000), 300)) for source in "abcdef"}
    merge, out = opened(*lines), []
    left = {source: list(moments) for source, moments in lines.items()}
    while left:
        source = chance.choice(list(left))
        count = chance.randint(1, 40)
        merge.add(source, [at(moment) for moment in left[source][:count]], 0.0)
        left[source] = left[source][count:]
        if not left[source]:
            merge.close(source)
            del left[source]
        out += [int(line.text) for _, line in merge.ready(0.0)]
    assert out == sorted(moment for moments in lines.values() for moment in moments)
    assert merge.done


def test_the_parts_of_a_broken_line_stay_together() -> None:
    merge = opened("a", "b")
    merge.add("a", [at(1, "a1", whole=False), at(1, "a2", whole=False), at(1, "a3")], 0.0)
    merge.add("b", [at(1, "b1"), at(1, "b2")], 0.0)
    assert texts(merge) == "a1 a2 a3"


def test_a_source_with_many_lines_is_full_until_they_are_written() -> None:
    merge = opened("a", "b")
    assert not merge.is_full("a")
    merge.add("a", [at(1, "x" * AHEAD)], 0.0)
    assert merge.is_full("a")
    merge.close("b")
    texts(merge)
    assert not merge.is_full("a")
    assert not merge.is_full("never opened")


def test_many_sources_share_the_room() -> None:
    names = [f"w-{index}" for index in range(1000)]
    merge = opened(*names)
    merge.add("w-0", [at(1, "x" * LEAST)], 0.0)
    assert merge.is_full("w-0")
    for name in names[1:]:
        merge.close(name)
    merge.add("w-0", [at(1)], 0.0)
    texts(merge)
    merge.add("w-0", [at(2, "x" * LEAST)], 0.0)
    assert not merge.is_full("w-0")


def test_empty_lines_count_too() -> None:
    merge = opened("a")
    merge.add("a", [Line(b"", b"")] * (AHEAD // 100), 0.0)
    assert merge.is_full("a")


def test_a_source_that_is_opened_again_keeps_its_lines() -> None:
    merge = opened("a", "b", follow=True)
    merge.add("a", [at(1)], 0.0)
    merge.close("a")
    merge.open("a", 0.1)
    merge.add("a", [at(2)], 0.1)
    merge.close("b")
    assert texts(merge, 0.1) == "1 2"
    assert not merge.done
    merge.close("a")
    texts(merge, 0.1)
    assert merge.done
