# SPDX-License-Identifier: Apache-2.0
"""Logs of background processes: one file each, and the previous one after it has grown too long."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

_LONGEST = 10 * 1024 * 1024


def opened(log: Path) -> BinaryIO:
    log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if log.exists() and log.stat().st_size > _LONGEST:
        log.replace(log.with_name(f"{log.name}.1"))
    return log.open("ab")


def last_line(log: Path) -> str:
    """The last line that a process printed before it died."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - 4096))
            lines = file.read().decode(errors="replace").split("\n")
    except FileNotFoundError:
        return ""
    return next((line.strip() for line in reversed(lines) if line.strip()), "")
