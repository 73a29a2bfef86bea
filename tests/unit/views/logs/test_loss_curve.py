# SPDX-License-Identifier: Apache-2.0
"""The demo draws losses and workers into as much room as there is."""

from __future__ import annotations

import re

import pytest

from springtide.views.logs.loss_curve import BLOCKS, curve

LOSSES = [(5, 2.3), (50, 0.3), (100, 0.05)]
MARKS = [(0, 2, "2"), (40, 3, "3"), (41, 2, "✗"), (60, 1, "1")]


def drawn(*, reached: int = 100, width: int = 60, last: int = 100) -> list[str]:
    losses = [(step, loss) for step, loss in LOSSES if step <= reached]
    return [re.sub(r"\x1b\[\d*m", "", line) for line in curve(losses, MARKS, last, width)]


@pytest.mark.parametrize("width", [20, 79, 100])
def test_every_line_is_as_wide_as_asked_for(width: int) -> None:
    assert {len(line) for line in drawn(width=width)} == {width}


def test_it_falls_with_the_loss() -> None:
    columns = zip(*(line[7:] for line in drawn()[:-1]), strict=True)
    heights = [sum(BLOCKS.index(block) for block in column) for column in columns]
    assert heights == sorted(heights, reverse=True)
    assert heights[0] > 40 > 10 > heights[-1] > 0


def test_steps_to_come_are_left_empty() -> None:
    bottom = drawn(reached=50)[-2][7:]
    assert bottom.rstrip() != bottom
    assert len(bottom.rstrip()) == pytest.approx(len(bottom) / 2, abs=1)


def test_workers_are_marked_at_their_steps_and_never_on_top_of_each_other() -> None:
    axis = drawn(width=107)[-1][7:]
    assert (axis[0], axis[40], axis[41], axis[60]) == ("2", "3", "✗", "1")
    assert re.sub("─", "", drawn(width=30)[-1][7:]) == "23✗1"


def test_nothing_yet_is_an_empty_picture() -> None:
    lines = [re.sub(r"\x1b\[\d*m", "", line) for line in curve([], [(0, 2, "2")], 100, 40)]
    assert "".join(lines[:-1]).count("█") == 0
