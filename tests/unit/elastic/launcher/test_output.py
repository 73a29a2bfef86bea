# SPDX-License-Identifier: Apache-2.0
"""What ranks print, cut into lines."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from springtide.elastic.launcher.output import LineBuffer, Output, RankOutput


@given(st.lists(st.sampled_from([b"a", b"bc", b"\n", b"\r\n", b" "]), max_size=20), st.lists(st.integers(1, 5)))
def test_lines_are_the_same_however_they_come(parts: list[bytes], cuts: list[int]) -> None:
    data, lines, found = b"".join(parts), LineBuffer(), []
    rest = data
    for cut in cuts:
        found += lines.add(rest[:cut])
        rest = rest[cut:]
    found += [*lines.add(rest), *lines.end()]
    assert found == data.splitlines()


def test_a_bar_that_is_drawn_over_itself_is_many_lines() -> None:
    lines = LineBuffer()
    assert lines.add(b"\r10%\r20%") == [b"", b"10%"]
    assert lines.end() == [b"20%"]


def test_a_line_without_an_end_is_not_kept_for_ever() -> None:
    lines = LineBuffer()
    assert lines.add(b"x" * 100_000) == [b"x" * 100_000]


def test_the_last_words_are_remembered() -> None:
    output = RankOutput()
    output.add("out", b"".join(b"%d\n" % number for number in range(100)))
    output.add("err", b"\xff oh\nno")
    output.end("err")
    assert list(output.last)[-3:] == ["99", "\ufffd oh", "no"]
    assert len(output.last) == 20


def test_lines_have_names_before_them(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    output = Output(None, timestamps=False)
    told: list[bool] = []
    output.lines("3", "out", [b"a", b"b"], lambda: told.append(True))
    output.lines("3", "err", [b"c"])
    output.tell("a word")
    output.close(10)
    assert capfdbinary.readouterr() == (b"[3]<stdout>:a\n[3]<stdout>:b\n", b"[3]<stderr>:c\ntiderun: a word\n")
    assert told == [True]


def test_what_cannot_be_kept_is_told_once(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    output = Output(tmp_path / "out", timestamps=False)
    (tmp_path / "out").touch()
    for _ in range(3):
        output.lines("3", "out", [b"a"])
    output.close(10)
    printed, told = capfdbinary.readouterr()
    assert printed == b"[3]<stdout>:a\n" * 3
    assert told.startswith(b"tiderun: --output-filename: not all is kept: ")
    assert told.count(b"\n") == 1
