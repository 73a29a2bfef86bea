# SPDX-License-Identifier: Apache-2.0
"""What ends a rank and all it started when its agent is killed and can no longer do so; and so for a discovery script
and its launcher.

A second process, forked before the first one holds anything, reads a pipe whose other end only that one has. It is told
the process group, and ends that when the pipe closes without a word that all is well.
"""

from __future__ import annotations

import contextlib
import os
import signal
from typing import Final

_WELL: Final = b"well\n"


class OrphanGuard:
    def __init__(self) -> None:
        read, self._write = os.pipe()
        if os.fork() == 0:
            os.close(self._write)
            _guard(read)
        os.close(read)

    def hold(self, group: int) -> None:
        os.write(self._write, b"%d\n" % group)

    def release(self) -> None:
        """The group has ended; its number may be somebody else's soon."""
        with contextlib.suppress(OSError):
            os.write(self._write, _WELL)


def _guard(read: int) -> None:
    """Never returns: this is the second process."""
    group = None
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in range(3):
            os.dup2(null, descriptor)
        with open(read, "rb") as pipe:
            for line in pipe:
                group = None if line == _WELL else int(line)
        if group is not None:
            os.killpg(group, signal.SIGKILL)
    finally:
        os._exit(0)
