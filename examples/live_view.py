# SPDX-License-Identifier: Apache-2.0
"""Lines that stay, each with its time, and on a terminal a picture below them that is drawn anew when it changes."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
import textwrap
import time
from collections.abc import Sequence

UP_AND_CLEAR = "\x1b[{}F\x1b[J"
COLOUR = re.compile(r"(\x1b\[\d*m)")
BOLD, PLAIN = "\x1b[1m", "\x1b[0m"
CUT = "…"


class View:
    def __init__(self) -> None:
        self._began = time.monotonic()
        self._picture: list[str] = []
        self.is_live = sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self._is_coloured = self.is_live and not os.environ.get("NO_COLOR")
        sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr] # terminals that know few characters

    @property
    def width(self) -> int:
        return shutil.get_terminal_size().columns - 1 if self.is_live else sys.maxsize

    def say(self, text: str) -> None:
        """Commands, which begin with a dollar, stand out; what is longer than a line goes on in the next one."""
        stamp = f"{time.monotonic() - self._began:5.1f} s  "
        lines = textwrap.wrap(
            text, self.width - len(stamp) - 2, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False
        )
        if text.startswith("$ "):
            lines = [f"{BOLD}{line}{PLAIN}" for line in " \\\n".join(lines).splitlines()]
        self._write([stamp + f"\n{' ' * len(stamp)}".join(lines)], self._picture)

    def draw(self, picture: Sequence[str]) -> None:
        """Nothing where there is no terminal: whoever reads it later wants to know what happened, not how it looked."""
        if self.is_live and list(picture) != self._picture:
            self._write([], list(picture))

    def keep(self) -> None:
        """The picture as it is now stays."""
        self._picture = []

    def _write(self, lines: Sequence[str], picture: list[str]) -> None:
        above = UP_AND_CLEAR.format(len(self._picture)) if self._picture else ""
        # A line that the terminal breaks in two would be counted as one when it is cleared, and what has left it at the
        # top is never cleared.
        self._picture = [cut(line, self.width) for line in picture[: shutil.get_terminal_size().lines - 2]]
        text = above + "".join(f"{line}\n" for line in [*lines, *self._picture])
        if not self._is_coloured:
            text = COLOUR.sub("", text)
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except OSError:  # nobody watches any more
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            signal.raise_signal(signal.SIGHUP)


def cut(line: str, width: int) -> str:
    """Colours take no room."""
    parts = COLOUR.split(line)
    left = width
    if sum(len(part) for part in parts[::2]) <= width:
        return line
    for place in range(0, len(parts), 2):
        part = parts[place]
        parts[place] = part if len(part) < left else part[: max(left - 1, 0)] + CUT * (left > 0)
        left -= min(len(part), left)
    return "".join(parts)
