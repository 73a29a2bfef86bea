# SPDX-License-Identifier: Apache-2.0
"""The log of a job that `tide run` follows.

It may be followed again after an interruption: lines that were printed already are left out then.
"""

from __future__ import annotations

import os
import sys
from typing import Final

from springtide.cli.tide_jobs.output.log_output import has_colours
from springtide.messages import Text
from springtide.views.logs.log_lines import Line, Resume, colour_of, rank_of
from springtide.views.logs.log_sources import LogSource
from springtide.views.tamed import tamed

_MARK_END: Final = b">:"


class RunOutput:
    def __init__(self) -> None:
        self._stream = sys.stdout.buffer
        self._terminal = self._stream.isatty()
        self._coloured = has_colours(os.environ, terminal=self._terminal)
        self._printed: dict[str, Resume] = {}

    def begin(self, sources: int | None) -> None:
        for each in self._printed.values():
            each.begin()

    def line(self, source: LogSource, line: Line) -> None:
        if self._printed.setdefault(source.key, Resume()).is_new(line):
            self._stream.write(self._shown(line.text) + b"\n")

    def _shown(self, text: bytes) -> bytes:
        """On a terminal the rank is short and coloured: [1]<stdout>: becomes [1]. Programs control nothing
        there."""
        text = tamed(text) if self._terminal else text
        rank = rank_of(text)
        if rank is None or not self._coloured:
            return text
        _, _, rest = text.partition(_MARK_END)
        return b"\x1b[%dm[%d]\x1b[0m %s" % (colour_of(f"rank {rank}"), rank, rest)

    def flush(self) -> None:
        self._stream.flush()

    def note(self, note: Text) -> None:
        """Notes about pods that have no log yet; the states of the job say more."""
