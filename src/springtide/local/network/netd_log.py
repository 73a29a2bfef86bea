# SPDX-License-Identifier: Apache-2.0
"""What the holder has to say goes to its log, unless the disk is full: then it goes nowhere. Standard library only."""

from __future__ import annotations

import contextlib
import sys


def say(text: str) -> None:
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr, flush=True)
