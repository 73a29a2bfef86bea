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


async def open_store(
    path: Path | None, limits: Limits | None = None, *, is_new: bool = True, accept_loss: bool = False
) -> Store:
    """Open the database file at `path`, made if missing, or keep everything in memory only when it is None.

    OpenError when the file is damaged, in use by another process, or of another format; LostError when it holds less
    than was acknowledged, or nothing although it is not new. With `accept_loss` what is left is served instead, without
    damaged objects.
    """
    if path is None:
        return LoggedStore(Memory(limits), NoLog())
    log, memory, unneeded = await asyncio.to_thread(open_log, path, limits, is_new=is_new, accept_loss=accept_loss)
    return LoggedStore(memory, log, unneeded)
