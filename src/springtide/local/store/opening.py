# SPDX-License-Identifier: Apache-2.0
"""The way in: a store at a path, or one that lives only as long as the process."""

from __future__ import annotations

import asyncio
from pathlib import Path

from springtide.local.store.backend import Store
from springtide.local.store.history import Limits
from springtide.local.store.logged import LoggedStore, NoLog
from springtide.local.store.memory import Memory
from springtide.local.store.sqlite import open_log


async def open_store(path: Path | None, limits: Limits | None = None) -> Store:
    """Open the database file at `path`, made if missing, or keep everything in memory only when it is None.

    Raises OpenError when the file is damaged, in use by another process, or of another format.
    """
    if path is None:
        return LoggedStore(Memory(limits), NoLog())
    log, memory, unneeded = await asyncio.to_thread(open_log, path, limits)
    return LoggedStore(memory, log, unneeded)
