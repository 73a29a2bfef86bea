# SPDX-License-Identifier: Apache-2.0
"""Signals to the supervisor, and the removal of its directory, as shutdown requests; see `endings`."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal

from springtide.local.datadir import DataDir
from springtide.local.supervisor.endings import AT_ONCE, Ending, asked

logger = logging.getLogger(__name__)

_LOOK = 2.0
"""Seconds between checks that the data directory exists."""


class Endings:
    """The requested shutdowns, in order."""

    def __init__(self, directory: DataDir) -> None:
        self._directory = directory
        self._asked: asyncio.Queue[Ending] = asyncio.Queue()
        self._begun = False

    def listen(self) -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, lambda: self._asked.put_nowait(asked(self._directory)))
        loop.add_signal_handler(signal.SIGINT, self._interrupted)
        # A closing terminal may send several: they do not mean a faster shutdown.
        loop.add_signal_handler(signal.SIGHUP, lambda: self._asked.put_nowait(Ending()))
        asked(self._directory)  # discards the request to a killed predecessor

    def _interrupted(self) -> None:
        self._asked.put_nowait(AT_ONCE if self._begun else Ending())

    async def next(self) -> Ending:
        """Also returns when the directory was removed: later writes would be acknowledged and lost."""
        while self._directory.is_still_there():
            with contextlib.suppress(TimeoutError):
                ending = await asyncio.wait_for(self._asked.get(), _LOOK)
                self._begun = True
                return ending
        if not self._begun:
            logger.warning("%s is gone; stopping", self._directory.path)
        self._begun = True
        return AT_ONCE
