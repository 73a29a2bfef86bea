# SPDX-License-Identifier: Apache-2.0
"""Log lines on stdout: each with its pod where there are several, coloured on a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import BinaryIO

from springtide.cli import speaking
from springtide.messages import Text
from springtide.views.logs.log_lines import Line, colour_of, shown
from springtide.views.logs.log_sources import LogSource


def has_colours(variables: Mapping[str, str], *, terminal: bool) -> bool:
    return terminal and not variables.get("NO_COLOR") and variables.get("TERM", "") not in ("", "dumb")


class LogOutput:
    def __init__(self, *, timestamps: bool, stream: BinaryIO | None = None) -> None:
        self._stream = stream or sys.stdout.buffer
        self._timestamps, self._terminal = timestamps, self._stream.isatty()
        self._coloured = has_colours(os.environ, terminal=self._terminal)
        self._prefixed = False

    def begin(self, sources: int | None) -> None:
        self._prefixed = sources != 1

    def line(self, source: LogSource, line: Line) -> None:
        prefix = f"[{source.label}]" if self._prefixed else ""
        colour = colour_of(source.label) if self._coloured else 0
        self._stream.write(
            shown(line, prefix=prefix, timestamps=self._timestamps, colour=colour, terminal=self._terminal)
        )

    def flush(self) -> None:
        self._stream.flush()

    def note(self, note: Text) -> None:
        speaking.note(note)
