# SPDX-License-Identifier: Apache-2.0
"""The highest acknowledged revision, in a small file beside the database.

SQLite cannot distinguish lost data from data that was never written: it drops the torn end of a write-ahead log without
an error, and treats an emptied file as a new database. The watermark is the revision that the database must reach at
the next start.

It is written after the commit and without fsync. The page cache survives `kill -9`; after a power failure the watermark
may be older than the database, never newer, because the commit was on disk before.
"""

from __future__ import annotations

import os
from pathlib import Path

_WIDTH = 20
"""Fixed number of digits: the file is overwritten in place and never becomes shorter than its number."""


class Watermark:
    def __init__(self, database: Path) -> None:
        self.path = Path(f"{database}-revision")
        self._file: int | None = None

    def read(self) -> int:
        """The stored revision; 0 without a file: a new cluster, or one of an earlier version of Springtide.

        1 when the file is torn: that something was acknowledged is all that it tells.
        """
        try:
            written = self.path.read_bytes()[: _WIDTH + 1]
        except FileNotFoundError:
            return 0
        return int(written) if written[:_WIDTH].isdigit() else 1

    def write(self, revision: int) -> None:
        """A watermark that cannot be written (full disk) stays older, which is safe."""
        content = b"%0*d\n" % (_WIDTH, revision)
        try:
            if self._file is None:
                if not self.path.exists():
                    self._create(content)
                self._file = os.open(self.path, os.O_WRONLY | os.O_CLOEXEC)
            os.pwrite(self._file, content, 0)
        except OSError:
            pass

    def _create(self, content: bytes) -> None:
        """Under its name with its content only: an empty file would count as torn."""
        new = Path(f"{self.path}.new")
        try:
            file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            try:
                if os.write(file, content) == len(content):
                    new.rename(self.path)
            finally:
                os.close(file)
        finally:
            new.unlink(missing_ok=True)

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None
