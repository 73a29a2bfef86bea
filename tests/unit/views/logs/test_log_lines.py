# SPDX-License-Identifier: Apache-2.0
"""Lines from streams: cut anywhere, broken where they are too long, read again after a lost connection."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from springtide.views.logs.log_lines import Line, Resume, Selection, Splitter, colour_of, rank_of, shown

T = b"2026-01-01T00:00:0%d.000000000Z"


def lines_of(*chunks: bytes, longest: int = 100) -> list[Line]:
    splitter = Splitter(longest)
    found = [line for chunk in chunks for line in splitter.feed(chunk)]
    return found + splitter.end()


@pytest.mark.parametrize(
    ("text", "stamp", "shown_text"),
    [
        (b"2026-01-01T00:00:01.5Z hello\n", b"2026-01-01T00:00:01.500000000Z", b"hello"),
        (b"2026-01-01T00:00:01Z hello\n", b"2026-01-01T00:00:01.000000000Z", b"hello"),
        (b"2026-01-01T00:00:01.123456789Z \n", b"2026-01-01T00:00:01.123456789Z", b""),
        (b"2026-01-01T00:00:01+08:00 a b\n", b"2026-01-01T00:00:01+08:00", b"a b"),
        (b"hello world\n", b"", b"hello world"),
        (b"\n", b"", b""),
        (b"2026-01-01 hello\n", b"", b"2026-01-01 hello"),
        (b"\xff\x00 \x1b[31m\n", b"", b"\xff\x00 \x1b[31m"),
    ],
)
def test_the_time_is_cut_from_the_text(text: bytes, stamp: bytes, shown_text: bytes) -> None:
    assert lines_of(text) == [Line(stamp, shown_text)]


def test_an_unfinished_line_is_a_line_at_the_end() -> None:
    assert lines_of(T % 1 + b" one\n" + T % 2 + b" tw", b"o") == [Line(T % 1, b"one"), Line(T % 2, b"two")]
    assert lines_of(b"") == []


def test_a_line_without_a_time_has_that_of_the_line_before() -> None:
    assert lines_of(T % 1 + b" one\nrest\n") == [Line(T % 1, b"one"), Line(T % 1, b"rest")]


def test_a_long_line_is_broken_and_its_parts_are_marked() -> None:
    found = lines_of(T % 1 + b" " + b"x" * 250 + b"\n" + T % 2 + b" next\n")
    assert [(len(line.text), line.whole) for line in found] == [(100, False), (100, False), (50, True), (4, True)]
    assert [line.stamp for line in found] == [T % 1] * 3 + [T % 2]


@given(st.lists(st.binary(max_size=300), max_size=6), st.data())
def test_lines_do_not_depend_on_where_the_stream_is_cut(texts: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(T % (index % 10) + b" " + text.replace(b"\n", b"") + b"\n" for index, text in enumerate(texts))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    chunks = [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert lines_of(*chunks) == lines_of(stream)
    assert b"".join(line.text for line in lines_of(*chunks)) == b"".join(text.replace(b"\n", b"") for text in texts)


def test_an_endless_line_takes_no_more_memory_than_a_line() -> None:
    splitter, found = Splitter(1000), 0
    for _ in range(10_000):
        found += sum(len(line.text) for line in splitter.feed(b"y" * 777))
        assert len(splitter._rest) <= 1000 + 777 + 40
    assert found > 7_000_000


# After a lost connection


def resumed(first: list[Line], again: list[Line]) -> list[Line]:
    resume = Resume()
    assert all(resume.is_new(line) for line in first)
    resume.begin()
    return [line for line in again if resume.is_new(line)]


ONE, TWO, THREE = Line(T % 1, b"one"), Line(T % 2, b"two"), Line(T % 3, b"three")
TWIN = Line(T % 2, b"twin of two")


@pytest.mark.parametrize(
    ("first", "again", "new"),
    [
        ([], [ONE, TWO], [ONE, TWO]),
        ([ONE, TWO], [ONE, TWO, THREE], [THREE]),
        ([ONE, TWO], [TWO, THREE], [THREE]),
        ([ONE, TWO], [THREE], [THREE]),
        ([ONE, TWO], [TWO, TWIN, THREE], [TWIN, THREE]),
        ([ONE, TWO, TWIN], [ONE, TWO, TWIN, THREE], [THREE]),
        ([ONE, TWO], [], []),
    ],
)
def test_lines_that_were_read_are_not_shown_again(first: list[Line], again: list[Line], new: list[Line]) -> None:
    assert resumed(first, again) == new


def test_reading_goes_on_in_the_second_of_the_last_line() -> None:
    resume = Resume()
    assert resume.since_time == ""
    resume.is_new(Line(b"2026-01-01T00:00:07.900000000Z", b""))
    assert resume.since_time == "2026-01-01T00:00:07Z"


def test_lines_out_of_order_are_kept_while_nothing_was_lost() -> None:
    """Runtimes do not order the lines of stdout and stderr."""
    resume = Resume()
    assert [resume.is_new(line) for line in (TWO, ONE, TWIN, ONE)] == [True] * 4


# Selection


@pytest.mark.parametrize(
    ("text", "rank"),
    [
        (b"[3]<stdout>:loss", 3),
        (b"[1,12]<stderr>: warn", 12),
        (b"[3] loss", None),
        (b"loss [3]<stdout>:", None),
        (b"[x]<stdout>:", None),
        (b"", None),
    ],
)
def test_launchers_mark_the_lines_of_ranks(text: bytes, rank: int | None) -> None:
    assert rank_of(text) == rank


def test_pattern_and_rank_select_lines_together() -> None:
    texts = [b"[0]<stdout>:loss 1", b"[1]<stdout>:loss 2", b"[1]<stdout>:step", b"launcher loss"]

    def chosen(selection: Selection) -> list[bytes]:
        return [text for text in texts if selection.wants(Line(b"", text))]

    assert chosen(Selection(re.compile(b"loss"))) == [texts[0], texts[1], texts[3]]
    assert chosen(Selection(rank=1)) == texts[1:3]
    assert chosen(Selection(re.compile(b"loss"), 1)) == [texts[1]]
    assert chosen(Selection()) == texts


def test_what_launchers_print_for_programs_is_not_shown() -> None:
    assert not Selection().wants(Line(b"", b'{"springtide":"progress","size":2}'))
    assert Selection().wants(Line(b"", b'[0]<stdout>:{"springtide":"progress"}'))


def test_a_broken_line_is_selected_by_its_beginning() -> None:
    selection = Selection(rank=1)
    parts = [Line(b"", b"[1]<stdout>:xx", False), Line(b"", b"xx", False), Line(b"", b"x"), Line(b"", b"x")]
    assert [selection.wants(part) for part in parts] == [True, True, True, False]


# Showing


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, b"a\rb\n"),
        ({"timestamps": True}, T % 1 + b" a\rb\n"),
        ({"prefix": "[w-0]"}, b"[w-0] a\rb\n"),
        ({"prefix": "[w-0]", "terminal": True}, b"[w-0] b\n"),
        ({"prefix": "[w-0]", "terminal": True, "colour": 32}, b"\x1b[32m[w-0]\x1b[0m b\n"),
        ({"terminal": True}, b"a\rb\n"),
    ],
)
def test_a_line_as_it_is_shown(options: dict[str, object], text: bytes) -> None:
    assert shown(Line(T % 1, b"a\rb"), **options) == text  # type: ignore[arg-type]


def test_a_pod_has_the_same_colour_in_every_run() -> None:
    assert colour_of("worker-0") == 94
    assert len({colour_of(f"worker-{index}") for index in range(30)}) > 6
