# SPDX-License-Identifier: Apache-2.0
"""A picture that is drawn anew in place."""

from __future__ import annotations

import os
import shutil

import pytest

from springtide.cli.tide_jobs.output import screen
from springtide.cli.tide_jobs.output.screen import Screen


@pytest.fixture
def size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "get_terminal_size", lambda: os.terminal_size((20, 5)))


@pytest.mark.usefixtures("size")
def test_the_picture_before_is_cleared(capsys: pytest.CaptureFixture[str]) -> None:
    shown = Screen()
    shown.draw("one\ntwo")
    shown.draw("three")
    assert capsys.readouterr().out == "one\ntwo\n\x1b[2F\x1b[Jthree\n"


@pytest.mark.usefixtures("size")
def test_the_same_picture_is_not_drawn_again(capsys: pytest.CaptureFixture[str]) -> None:
    shown = Screen()
    shown.draw("one")
    shown.draw("one")
    assert capsys.readouterr().out == "one\n"


@pytest.mark.usefixtures("size")
def test_what_does_not_fit_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    Screen().draw("\n".join(["训" * 20, *map(str, range(9))]))
    assert capsys.readouterr().out.splitlines() == ["训" * 9 + "…", "0", "1", "2"]


@pytest.mark.usefixtures("size")
@pytest.mark.parametrize(
    ("coloured", "shown"),
    [(False, "a]0;t[2J[31mb"), (True, "a\x1b[31mb\x1b[0m")],
)
def test_the_texts_in_it_control_nothing(coloured: bool, shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    Screen().draw("a\x1b]0;t\x07\x1b[2J\x1b[31mb", coloured=coloured)
    assert capsys.readouterr().out == f"{shown}\n"


@pytest.mark.parametrize(
    ("term", "terminal", "no_colour", "live", "coloured"),
    [
        ("xterm", True, "", True, True),
        ("xterm", True, "1", True, False),
        ("dumb", True, "", False, False),
        ("xterm", False, "", False, False),
    ],
)
def test_only_a_terminal_that_can_is_drawn_on(
    monkeypatch: pytest.MonkeyPatch, term: str, terminal: bool, no_colour: str, live: bool, coloured: bool
) -> None:
    monkeypatch.setenv("TERM", term)
    monkeypatch.setenv("NO_COLOR", no_colour)
    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal)
    assert (screen.is_live(), screen.is_coloured()) == (live, coloured)
