# SPDX-License-Identifier: Apache-2.0
"""Background tasks of pods: following shims, running hooks. All tasks of a pod end with it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

logger = logging.getLogger(__name__)


class Tasks:
    def __init__(self) -> None:
        self._tasks: dict[str, set[asyncio.Task[None]]] = {}

    def start(self, uid: str, work: Coroutine[Any, Any, None], name: str) -> None:
        task = asyncio.create_task(work, name=f"{name} of pod {uid}")
        self._tasks.setdefault(uid, set()).add(task)
        task.add_done_callback(lambda done: self._done(uid, done))

    def cancel(self, uid: str) -> None:
        for task in self._tasks.pop(uid, ()):
            task.cancel()

    async def stop(self) -> None:
        tasks = [task for group in self._tasks.values() for task in group]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _done(self, uid: str, task: asyncio.Task[None]) -> None:
        group = self._tasks.get(uid)
        if group is not None:
            group.discard(task)
            if not group:
                del self._tasks[uid]
        complain(task)


def complain(task: asyncio.Task[None]) -> None:
    """Log the exception of a failed task: background tasks are not awaited, so it would be lost otherwise."""
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.error("%s failed", task.get_name(), exc_info=error)
