# SPDX-License-Identifier: Apache-2.0
"""A loss curve of characters, over all steps that there will be, and below it how many workers trained.

3.0 ┤█▆▅▄▃▃▂▂▁▁
0.3 ┤██████████▇▆▆▅▅▄▄▃▃▂▂▁▁
    ┤████████████████████████▇▇▆
    └2───────3──────✗───3─────1───────────
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence

DEMO_AXIS = (3.0, 0.03)
"""Top and bottom of the axis, which is logarithmic."""
BLOCKS = " ▁▂▃▄▅▆▇█"
COLOURS = {1: "\x1b[33m", 2: "\x1b[36m", 3: "\x1b[32m"}
"""By the number of workers."""
PLAIN = "\x1b[0m"
MARGIN = 6
_DIGITS = 2
_LEAST_SPAN = 10
"""Top and bottom of an axis differ by this factor at least."""

Losses = Sequence[tuple[int, float]]
Marks = Sequence[tuple[int, int, str]]
"""Since which step there were how many workers, and the character that says so."""


def curve(
    losses: Losses,
    marks: Marks,
    last: int,
    width: int,
    height: int = 6,
    *,
    axis: tuple[float, float] = DEMO_AXIS,
) -> list[str]:
    """Lines of `width` characters, but for colours. `last` is the step at the right."""
    top, bottom = axis
    columns = max(width - MARGIN - 1, 10)
    steps = [(column + 1) * last / columns for column in range(columns)]
    reached = losses[-1][0] if losses else 0
    heights = [
        round(8 * height * _share(_loss_at(losses, step, bottom), top, bottom))
        if step <= reached + last / columns
        else 0
        for step in steps
    ]
    sizes = [_size_at(marks, step) for step in steps]
    labels = {height - 1: top, height // 2 - 1: math.sqrt(top * bottom)}
    lines = []
    for row in reversed(range(height)):
        blocks = [BLOCKS[min(max(each - 8 * row, 0), 8)] for each in heights]
        lines.append(
            f"{f'{labels[row]:.{_DIGITS}g} ┤' if row in labels else '│':>{MARGIN + 1}}{_coloured(blocks, sizes)}"
        )
    return [*lines, f"{'└':>{MARGIN + 1}}{_coloured(_axis(marks, last, columns), sizes)}"]


def axis_of(losses: Losses) -> tuple[float, float]:
    """An axis that these losses fit on. Losses that are not positive, as of some objectives, are at its bottom."""
    positive = [loss for _, loss in losses if 0 < loss < math.inf]
    if not positive:
        return DEMO_AXIS
    top, bottom = max(positive), min(positive)
    return top, min(bottom / 1.1, top / _LEAST_SPAN)


def _share(loss: float, top: float, bottom: float) -> float:
    """Of the height; a loss that is too small to be seen is seen nevertheless."""
    share = math.log(max(loss, bottom) / bottom) / math.log(top / bottom)
    return min(max(share, 0.03), 1)


def _loss_at(losses: Losses, step: float, bottom: float) -> float:
    """On the line between the two nearest."""
    after = bisect_right(losses, step, key=lambda each: each[0])
    if after in (0, len(losses)):
        return losses[min(after, len(losses) - 1)][1] if losses else bottom
    (left, low), (right, high) = losses[after - 1], losses[after]
    return low + (high - low) * (step - left) / (right - left)


def _size_at(marks: Marks, step: float) -> int:
    return next((size for since, size, _ in reversed(marks) if since < step), 0)


def _axis(marks: Marks, last: int, columns: int) -> list[str]:
    """Where two changes fall together, the second one moves on."""
    axis = ["─"] * columns
    place = -1
    for since, _, character in marks:
        place = max(place + 1, since * columns // last)
        if place < columns:
            axis[place] = character
    return axis


def _coloured(characters: Sequence[str], sizes: Sequence[int]) -> str:
    text, colour = "", ""
    for character, size in zip(characters, sizes, strict=True):
        wanted = COLOURS.get(size, "")
        if wanted != colour:
            text += PLAIN * bool(colour) + wanted
            colour = wanted
        text += character
    return text + PLAIN * bool(colour)
