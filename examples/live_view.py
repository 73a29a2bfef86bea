# SPDX-License-Identifier: Apache-2.0
"""Lines that stay, each with its time, and on a terminal a picture below them that is drawn anew when it changes."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Sequence

UP_AND_CLEAR = "\x1b[{}F\x1b[J"
CUT = "…"


class View:
    def __init__(self) -> None:
        self._began = time.monotonic()
        self._picture: list[str] = []
        self.is_live = sys.stdout.isatty()

    def say(self, text: str) -> None:
        self._write([f"{time.monotonic() - self._began:5.1f} s  {text}"], self._picture)

    def draw(self, picture: Sequence[str]) -> None:
        """Nothing where there is no terminal: whoever reads it later wants to know what happened, not how it looked."""
        if self.is_live and list(picture) != self._picture:
            self._write([], list(picture))

    def _write(self, lines: Sequence[str], picture: list[str]) -> None:
        above = UP_AND_CLEAR.format(len(self._picture)) if self._picture else ""
        width = shutil.get_terminal_size().columns - 1 if self.is_live else sys.maxsize
        # A line that the terminal breaks in two would be counted as one when it is cleared.
        self._picture = [line if len(line) <= width else line[: width - 1] + CUT for line in picture]
        sys.stdout.write(above + "".join(f"{line}\n" for line in [*lines, *self._picture]))
        sys.stdout.flush()
