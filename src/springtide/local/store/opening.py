# SPDX-License-Identifier: Apache-2.0
"""Opening a store: in a database file, or in memory only."""

from __future__ import annotations

import asyncio
from pathlib import Path

from springtide.local.store.backend import Store
from springtide.local.store.history import Limits
from springtide.local.store.logged import LoggedStore, NoLog
from springtide.local.store.memory import Memory
from springtide.local.store.sqlite import open_log


async def open_store(
    path: Path | None, limits: Limits | None = None, *, is_new: bool = True, accept_loss: bool = False
) -> Store:
    """Open the database file at `path`, which is created if missing; without a path keep everything in memory.

    Raises OpenError when the file is damaged, in use by another process, or of another format; LostError when it holds
    less than was acknowledged, or nothing although it is not new. With `accept_loss` the remaining objects are served
    instead, without damaged ones.
    """
    if path is None:
        return LoggedStore(Memory(limits), NoLog())
    log, memory, unneeded = await asyncio.to_thread(open_log, path, limits, is_new=is_new, accept_loss=accept_loss)
    return LoggedStore(memory, log, unneeded)
