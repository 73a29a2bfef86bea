# SPDX-License-Identifier: Apache-2.0
"""netd's log on stderr; lines are lost when the disk is full. Standard library only."""

from __future__ import annotations

import contextlib
import sys


def say(text: str) -> None:
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr, flush=True)
