# SPDX-License-Identifier: Apache-2.0
"""A picture that is drawn anew in place when it changes, on terminals that can do this."""

from __future__ import annotations

import os
import re
import shutil
import sys
from typing import Final

import click

from springtide.messages.terminals import harmless
from springtide.views.pages.tables import shortened
from springtide.views.tamed import tamed

_UP_AND_CLEAR: Final = "\x1b[{lines}F\x1b[J"
_COLOUR: Final = re.compile(r"\x1b\[\d*m")


def is_live() -> bool:
    return sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def is_coloured() -> bool:
    return is_live() and not os.environ.get("NO_COLOR")


class Screen:
    def __init__(self) -> None:
        self._drawn: list[str] = []

    def draw(self, text: str, *, coloured: bool = False) -> None:
        """What does not fit is left out: a line that has left the terminal at its top could never be cleared. Of what a
        terminal obeys only colours are left, and only in a `coloured` text."""
        text = tamed(text.encode(errors="replace")).decode() if coloured else harmless(text)
        size = shutil.get_terminal_size()
        lines = [_fitted(line, size.columns - 1) for line in text.splitlines()[: max(size.lines - 1, 1)]]
        if lines == self._drawn:
            return
        up = _UP_AND_CLEAR.format(lines=len(self._drawn)) if self._drawn else ""
        self._drawn = lines
        # In one write, so that no half picture is seen.
        click.echo(up + "\n".join(lines), color=True)


def _fitted(line: str, width: int) -> str:
    """Only pictures whose width is right already have colours."""
    return line if _COLOUR.search(line) else shortened(line, width)
