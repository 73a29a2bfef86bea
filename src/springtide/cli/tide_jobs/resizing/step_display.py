# SPDX-License-Identifier: Apache-2.0
"""Shows steps while they are carried out: redrawn in place on a terminal, otherwise a line for each that is done.

On stderr, because it is progress, and no data.
"""

from __future__ import annotations

import shutil
import sys
import time
import unicodedata
from typing import Final

import click

from springtide.cli import speaking
from springtide.messages import text
from springtide.views.resize_steps import Progress, Step

_MARKS: Final = {Progress.DONE: "✓", Progress.GOING_ON: "◐", Progress.NOT_BEGUN: "○", Progress.LEFT_OUT: "-"}
_UP_AND_CLEAR: Final = "\x1b[{lines}A\x1b[J"
_LEAST_WIDTH: Final = 20


class StepDisplay:
    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._live = sys.stderr.isatty()
        self._drawn = 0
        self._began = time.monotonic()
        self._took: dict[int, float] = {}
        """Seconds that each step took, by its number."""

    def show(self, steps: tuple[Step, ...]) -> None:
        if self._quiet:
            return
        fresh = self._note_done(steps)
        if self._live:
            self._redraw([self._line(number, step) for number, step in enumerate(steps)])
        else:
            for number in fresh:
                click.echo(self._line(number, steps[number]), err=True)

    def _note_done(self, steps: tuple[Step, ...]) -> list[int]:
        """The steps that were done since the last time."""
        fresh = []
        for number, step in enumerate(steps):
            if step.progress is Progress.DONE and number not in self._took:
                self._took[number] = self._elapsed() - sum(self._took.values())
                fresh.append(number)
        return fresh

    def _elapsed(self) -> float:
        return time.monotonic() - self._began

    def _line(self, number: int, step: Step) -> str:
        parts = [f"  {_MARKS[step.progress]} {speaking.shown(step.name)}"]
        if step.detail is not None and step.progress is Progress.GOING_ON:
            parts.append(speaking.shown(step.detail))
        if step.progress is Progress.LEFT_OUT:
            parts.append(speaking.shown(text("not with this kind of job")))
        if step.progress is Progress.DONE:
            parts.append(f"{self._took[number]:.1f} s")
        elif step.progress is Progress.GOING_ON:
            parts.append(f"{self._elapsed() - sum(self._took.values()):.0f} s")
        return "  ".join(parts)

    def _redraw(self, lines: list[str]) -> None:
        width = max(shutil.get_terminal_size().columns, _LEAST_WIDTH)
        up = _UP_AND_CLEAR.format(lines=self._drawn) if self._drawn else ""
        # In one write, so that no half picture is seen.
        click.echo(up + "\n".join(fitted(line, width - 1) for line in lines), err=True)
        self._drawn = len(lines)


def fitted(line: str, width: int) -> str:
    """The beginning of a line that fits into so many columns; East-Asian characters take two."""
    line = " ".join(line.splitlines())
    if _columns(line) <= width:
        return line
    kept = ""
    for character in line:
        if _columns(kept + character) > width - 1:
            break
        kept += character
    return f"{kept}…"


def _columns(line: str) -> int:
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in line)
