# SPDX-License-Identifier: Apache-2.0
"""What goes on beside a test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any


@asynccontextmanager
async def meanwhile(*work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Cancelled at the end. What broke before that is raised, because it is why the test waited in vain."""
    tasks = [asyncio.create_task(each) for each in work]
    try:
        yield
    finally:
        broken = [task for task in tasks if task.done()]
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        for task in broken:
            task.result()
