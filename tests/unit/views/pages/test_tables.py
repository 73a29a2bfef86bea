# SPDX-License-Identifier: Apache-2.0
"""Go's tabwriter, and tables that fit a terminal."""

from __future__ import annotations

import pytest

from springtide.views.pages.tables import Column, display_width, shortened, shortened_inside, table, tabwriter, wrapped


@pytest.mark.parametrize(
    ("given", "written"),
    [
        pytest.param("a\tb", "a  b", id="two cells"),
        pytest.param("a\tb\nlonger\tc", "a       b\nlonger  c", id="as wide as the widest cell"),
        pytest.param("a\tb\n\nlonger\tc", "a  b\n\nlonger  c", id="a line without a tab ends a column"),
        pytest.param("a\tb\nplain\nlonger\tc", "a  b\nplain\nlonger  c", id="so does one with text"),
        pytest.param("End:\t", "End:  ", id="an empty last cell leaves the padding"),
        pytest.param("a\t\tb\nlonger\t\tc", "a         b\nlonger    c", id="an empty column keeps its padding"),
        pytest.param("a\tbb\tc\nlonger\td", "a       bb  c\nlonger  d", id="the last cell belongs to no column"),
        pytest.param("a\tb\tc\nx\ty\na\tbbb\tc", "a  b  c\nx  y\na  bbb  c", id="a column ends where a line lacks it"),
        pytest.param("训练\tb\nabc\tc", "训练   b\nabc  c", id="characters count, not columns of the terminal"),
    ],
)
def test_text_is_aligned_as_by_gos_tabwriter(given: str, written: str) -> None:
    assert tabwriter(given) == written


@pytest.mark.parametrize(
    ("text", "width"),
    [("abc", 3), ("训练", 4), ("a训", 3), ("e\N{COMBINING ACUTE ACCENT}", 1), ("Ａ", 2), ("…", 1), ("", 0)],
)
def test_east_asian_characters_take_two_columns(text: str, width: int) -> None:
    assert display_width(text) == width


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("elastic", 7, "elastic"),
        ("elastic", 6, "elast…"),
        ("训练任务", 8, "训练任务"),
        ("训练任务", 7, "训练任…"),
        ("训练任务", 6, "训练…"),
        ("elastic", 1, "…"),
        ("elastic", 0, ""),
    ],
)
def test_a_text_is_shortened_to_columns(text: str, width: int, shown: str) -> None:
    assert shortened(text, width) == shown
    assert display_width(shown) <= width


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("elastic-worker-0", 16, "elastic-worker-0"),
        ("elastic-worker-0", 12, "elasti…ker-0"),
        ("elastic-worker-0", 5, "el…-0"),
        ("elastic-worker-0", 4, "ela…"),
        ("训练任务-worker-0", 11, "训练…ker-0"),
    ],
)
def test_a_name_is_shortened_in_the_middle(text: str, width: int, shown: str) -> None:
    assert shortened_inside(text, width) == shown
    assert display_width(shown) <= width


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("", 10, [""]),
        ("one two three", 20, ["one two three"]),
        ("one two three", 7, ["one two", "three"]),
        ("one  two", 4, ["one", "two"]),
        ("kubectl-describe pod", 8, ["kubectl-describe", "pod"]),
        ("任务有 3 个 worker 在运行。", 12, ["任务有 3 个", "worker 在运", "行。"]),
    ],
)
def test_a_text_is_broken_into_lines(text: str, width: int, lines: list[str]) -> None:
    assert wrapped(text, width) == lines


COLUMNS = (Column("NAME", shrinks=True), Column("STATE"), Column("GPUS", rank=1), Column("NODE", rank=2))
ROWS = [("elastic-training", "Running", "3/4", "node-with-a-long-name"), ("训练", "Scaling out", "-", "-")]


def test_without_a_width_everything_is_shown() -> None:
    assert table(COLUMNS, ROWS).splitlines() == [
        "NAME              STATE        GPUS  NODE",
        "elastic-training  Running      3/4   node-with-a-long-name",
        "训练              Scaling out  -     -",
    ]


def test_in_a_narrow_terminal_less_important_columns_are_left_out_first() -> None:
    assert table(COLUMNS, ROWS, 40).splitlines() == [
        "NAME              STATE        GPUS",
        "elastic-training  Running      3/4",
        "训练              Scaling out  -",
    ]


def test_then_names_are_shortened() -> None:
    assert table(COLUMNS, ROWS, 22).splitlines() == [
        "NAME       STATE",
        "elastic-…  Running",
        "训练       Scaling out",
    ]


@pytest.mark.parametrize("width", [1, 10, 21, 22, 30, 40, 60, 80, 200])
def test_a_table_fits_where_it_can(width: int) -> None:
    lines = table(COLUMNS, ROWS, width).splitlines()
    assert max(map(display_width, lines)) <= max(width, 21)


def test_an_empty_table_has_heads_only() -> None:
    assert table(COLUMNS, [], 80) == "NAME  STATE  GPUS  NODE"
