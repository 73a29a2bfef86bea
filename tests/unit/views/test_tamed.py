# SPDX-License-Identifier: Apache-2.0
"""What programs print, on a terminal."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from springtide.views.logs.log_lines import Line, shown
from springtide.views.tamed import Stream, tamed

CLIPBOARD = b"\x1b]52;c;cm0gLXJm\x07"
HOSTILE = (
    CLIPBOARD,
    b"\x1b]0;title\x1b\\",
    b"\x1b]8;;http://evil\x1b\\",
    b"\x1b[2J",
    b"\x1b[5A",
    b"\x1b[?1049h",
    b"\x1b[6n",
    b"\x1bP+q544e\x1b\\",
    b"\x1b_G\x1b\\",
    b"\x1bc",
    b"\x1b(0",
    b"\x1b#8",
    b"\x07",
    b"\b",
    b"\x7f",
    b"\xc2\x9b",
    "\u202e".encode(),
    "\u2066".encode(),
)
OBEYED = re.compile(rb"\x1b(?!\[(?:[\d;:]*m|0?K))|[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]|\xc2[\x80-\x9f]")


@pytest.mark.parametrize("sequence", HOSTILE)
def test_what_is_no_colour_is_left_out(sequence: bytes) -> None:
    assert tamed(b"a" + sequence + b"b") == b"ab"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (b"loss 0.25", b"loss 0.25"),
        ("损失 ⣿ é".encode(), "损失 ⣿ é".encode()),
        (b"\x1b[1;31mfailed\x1b[0m", b"\x1b[1;31mfailed\x1b[0m"),
        (b"\x1b[32mok\x1b[m", b"\x1b[32mok\x1b[m"),
        (b"\x1b[38:5:9mopen", b"\x1b[38:5:9mopen\x1b[0m"),
        (b"\x1b[?25l\x1b[31mred\x1b[0m\x1b[?25h", b"\x1b[31mred\x1b[0m"),
        (b"\x1b[8mhidden", b"\x1b[8mhidden\x1b[0m"),
        (b" 40%\r 50%\x1b[K\tdone", b" 40%\r 50%\x1b[K\tdone"),
        (b"\x1b]52;c;without an end", b"]52;c;without an end"),
        (b"\x1b", b""),
        (b"\x1b\x1b[2J", b""),
        ("ю".encode("cp1251") + b"\xff", "ю".encode("cp1251") + b"\xff"),
    ],
)
def test_colours_and_progress_bars_are_kept(given: bytes, expected: bytes) -> None:
    assert tamed(given) == expected


PIECES = st.lists(st.one_of(st.binary(max_size=6), st.sampled_from(HOSTILE), st.just(b"\x1b[31m"))).map(b"".join)


@given(PIECES)
@example(b"\x1b" + CLIPBOARD)
@example(b"\x1b[" * 20_000)
@example(b"\x1b]" * 20_000)
def test_nothing_that_a_terminal_obeys_is_left(given: bytes) -> None:
    assert not OBEYED.search(tamed(given))


@given(PIECES, st.data())
def test_a_stream_that_is_cut_anywhere_is_tamed_too(given: bytes, data: st.DataObject) -> None:
    stream, found = Stream(), b""
    while given:
        cut = data.draw(st.integers(1, len(given)))
        found += stream.feed(given[:cut])
        given = given[cut:]
    assert not OBEYED.search(found + stream.end())


def test_a_stream_waits_for_the_end_of_a_sequence_and_not_for_ever() -> None:
    stream = Stream()
    assert stream.feed(b"a\x1b]52;c;") == b"a"
    assert stream.feed(b"x\x07b") == b"b"
    assert stream.feed(b"\x1b]" + b"x" * 10_000).endswith(b"xxx")
    assert Stream().feed(b"50%\r") == b"50%\r"


@pytest.mark.parametrize("prefix", ["", "[worker\x1b[2J-0]"])
def test_only_a_terminal_gets_less_than_was_written(prefix: str) -> None:
    line = Line(b"", b"a" + CLIPBOARD)
    assert shown(line, prefix=prefix, terminal=True).replace(b"[worker[2J-0] ", b"") == b"a\n"
    assert CLIPBOARD in shown(line, prefix=prefix)
