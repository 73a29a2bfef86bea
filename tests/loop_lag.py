# SPDX-License-Identifier: Apache-2.0
"""How long the event loop that a test runs in keeps everybody else waiting."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Final

from springtide.event_loop.garbage_collection import collect_rarely
from springtide.local.supervisor.server import COLLECT

MOST: Final = 0.2
"""Seconds for which the loop may be busy before others have a turn."""


@dataclass
class Lag:
    """In CPU time of the loop's thread: a machine that is busy with something else is not the product's doing."""

    longest: float = 0.0

    async def measure(self) -> None:
        while True:
            before = time.thread_time()
            await asyncio.sleep(0.01)
            self.longest = max(self.longest, time.thread_time() - before)


@asynccontextmanager
async def measured() -> AsyncIterator[Lag]:
    """What the tests before this one left is not looked at by the garbage collector: it is not the product's either.

    The collector runs as rarely as in the server's own process.
    """
    thresholds = gc.get_threshold()
    collect_rarely(COLLECT)
    lag = Lag()
    task = asyncio.create_task(lag.measure())
    try:
        yield lag
    finally:
        gc.unfreeze()
        gc.set_threshold(*thresholds)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
