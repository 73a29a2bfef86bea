# SPDX-License-Identifier: Apache-2.0
"""Work that would hold up the event loop: two threads of its own, so that it cannot use up those that others need."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar, TypeVarTuple

Result = TypeVar("Result")
Arguments = TypeVarTuple("Arguments")

_THREADS = ThreadPoolExecutor(2, "long-work")
"""More would only share the interpreter, and leave less of it to the loop."""


async def in_thread(work: Callable[[*Arguments], Result], *arguments: *Arguments) -> Result:
    """What `work` returns; it waits for its turn when both threads are busy."""
    return await asyncio.get_running_loop().run_in_executor(_THREADS, work, *arguments)
