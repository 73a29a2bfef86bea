# SPDX-License-Identifier: Apache-2.0
"""Steps on a terminal and through a pipe."""

from __future__ import annotations

import re
import shutil
import sys

import pytest

from springtide.cli.tide_jobs.resizing.step_display import StepDisplay, fitted
from springtide.messages import text
from springtide.views.resize_steps import Progress, Step

FIRST = text("worker pods are created")
SECOND = text("the host list is updated")


def begun(detail: str) -> tuple[Step, ...]:
    return Step(FIRST, Progress.GOING_ON, text("{why}", why=detail)), Step(SECOND, Progress.NOT_BEGUN)


DONE = (Step(FIRST, Progress.DONE), Step(SECOND, Progress.LEFT_OUT))


def without_times(shown: str) -> str:
    return re.sub(r"  [\d.]+ s", "", shown)


def test_through_a_pipe_each_step_is_a_line_once_it_is_done(capsys: pytest.CaptureFixture[str]) -> None:
    display = StepDisplay()
    for steps in (begun("1 of 4"), begun("2 of 4"), DONE, DONE):
        display.show(steps)
    shown = capsys.readouterr()
    assert (shown.out, without_times(shown.err)) == ("", "  ✓ worker pods are created\n")


def test_on_a_terminal_the_steps_are_redrawn_in_place(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(shutil, "get_terminal_size", lambda: type("Size", (), {"columns": 60}))
    display = StepDisplay()
    display.show(begun("1 of 4"))
    assert without_times(capsys.readouterr().err) == (
        "  ◐ worker pods are created  1 of 4\n  ○ the host list is updated\n"
    )
    display.show(DONE)
    assert without_times(capsys.readouterr().err) == (
        "\x1b[2A\x1b[J  ✓ worker pods are created\n  - the host list is updated  not with this kind of job\n"
    )


def test_a_long_reason_takes_one_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(shutil, "get_terminal_size", lambda: type("Size", (), {"columns": 40}))
    StepDisplay().show(begun("0/1 nodes are available:\n1 Insufficient nvidia.com/gpu"))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert all(len(line) < 40 for line in lines)


@pytest.mark.parametrize(
    ("line", "width", "expected"),
    [
        ("short", 10, "short"),
        ("exactly te", 10, "exactly te"),
        ("longer than ten", 10, "longer th…"),
        ("已创建 worker", 10, "已创建 wo…"),
        ("已创建已创建", 8, "已创建…"),
        ("two\nlines", 20, "two lines"),
    ],
)
def test_lines_are_cut_by_columns_not_characters(line: str, width: int, expected: str) -> None:
    assert fitted(line, width) == expected
