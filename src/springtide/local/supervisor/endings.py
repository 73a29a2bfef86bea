# SPDX-License-Identifier: Apache-2.0
"""How a cluster ends, and who says so.

Ctrl-C, the end of the terminal and a plain SIGTERM end it with its pods, each within its grace. A second Ctrl-C ends
the pods at once. `tide down` writes what it wants into a file before it sends SIGTERM, and may do so again to make
haste. When the data directory disappears, the pods' files are gone with it, so they end at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import signal
from dataclasses import dataclass

from springtide.local.access.files import write_private
from springtide.local.datadir import DataDir

logger = logging.getLogger(__name__)

_LOOK = 2.0
"""Seconds between looks at whether the data directory is still there."""


@dataclass(frozen=True, slots=True)
class Ending:
    keep_pods: bool = False
    grace: float | None = None
    """Seconds that pods get at most; None leaves it to them."""


AT_ONCE = Ending(grace=0.0)


def ask(directory: DataDir, ending: Ending) -> None:
    """Leave word for the SIGTERM that follows."""
    note = {"keepPods": ending.keep_pods, "grace": ending.grace}
    write_private(directory.ending, json.dumps(note).encode())


def asked(directory: DataDir) -> Ending:
    """The word that was left, which is good once; without one, an ending like any other."""
    try:
        note = json.loads(directory.ending.read_bytes())
        directory.ending.unlink(missing_ok=True)
        grace = note["grace"]
        return Ending(bool(note["keepPods"]), None if grace is None else float(grace))
    except (OSError, ValueError, KeyError, TypeError):
        return Ending()


class Endings:
    """The endings that were asked for, one after the other."""

    def __init__(self, directory: DataDir) -> None:
        self._directory = directory
        self._asked: asyncio.Queue[Ending] = asyncio.Queue()
        self._begun = False

    def listen(self) -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, lambda: self._asked.put_nowait(asked(self._directory)))
        for number in (signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, self._interrupted)
        asked(self._directory)  # left over from one that was killed

    def _interrupted(self) -> None:
        self._asked.put_nowait(AT_ONCE if self._begun else Ending())

    async def next(self) -> Ending:
        """Also ends when somebody removes the directory: what is written after that would be acknowledged and lost."""
        while self._directory.is_still_there():
            with contextlib.suppress(TimeoutError):
                ending = await asyncio.wait_for(self._asked.get(), _LOOK)
                self._begun = True
                return ending
        if not self._begun:
            logger.warning("%s is gone; stopping", self._directory.path)
        self._begun = True
        return AT_ONCE
