# SPDX-License-Identifier: Apache-2.0
"""The highest revision that was acknowledged, in a small file beside the database.

SQLite cannot tell lost data from data that never was: it drops the torn end of a write-ahead log without an error, and
an emptied file is a new database to it. The watermark says what the database must hold at the next start.

It is written after the commit and without fsync. The page cache survives `kill -9`; after a power failure the watermark
may be older than the database, never newer, because the commit was on disk before.
"""

from __future__ import annotations

import os
from pathlib import Path

_WIDTH = 20
"""Digits, always: the file is overwritten in place and never shorter than what it says."""


class Watermark:
    def __init__(self, database: Path) -> None:
        self.path = Path(f"{database}-revision")
        self._file: int | None = None

    def read(self) -> int:
        """0 when nothing is remembered: a new cluster, or one of an earlier version of Springtide."""
        try:
            written = self.path.read_bytes()[: _WIDTH + 1]
        except FileNotFoundError:
            return 0
        return int(written) if written[:_WIDTH].isdigit() else 0

    def write(self, revision: int) -> None:
        """A watermark that cannot be written (full disk) stays older, which is safe."""
        try:
            if self._file is None:
                self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
            os.pwrite(self._file, b"%0*d\n" % (_WIDTH, revision), 0)
        except OSError:
            pass

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None
