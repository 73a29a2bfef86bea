# SPDX-License-Identifier: Apache-2.0
"""stdin, stdout and stderr as commands rely on them, however the program was started."""

from __future__ import annotations

import io
import os
import sys
from typing import Final

_NAMES: Final = ("stdin", "stdout", "stderr")


def prepare() -> None:
    """A stream that was closed, as by `<&-`, is /dev/null: otherwise the next file or socket would get its number. A
    terminal that cannot show a character shows a question mark."""
    for number, name in enumerate(_NAMES):
        if getattr(sys, name) is None:
            _open_nowhere(number)
            setattr(sys, name, open(number, "w" if number else "r", encoding="utf-8", closefd=False))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _open_nowhere(number: int) -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    if nowhere != number:
        os.dup2(nowhere, number)
        os.close(nowhere)
