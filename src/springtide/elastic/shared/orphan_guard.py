# SPDX-License-Identifier: Apache-2.0
"""Kills a process group when the process that owns it is killed: an agent and its rank, a launcher and its discovery
script.

A second process, forked before the owner has opened anything, reads a pipe whose write end only the owner has. It reads
the process group's number, and kills the group when the pipe closes before it has read that the group has ended.
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
        """The group has ended; another group may get its number."""
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
