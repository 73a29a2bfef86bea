# SPDX-License-Identifier: Apache-2.0
"""Runs blocking work in two threads of its own, so that it cannot exhaust the default executor."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar, TypeVarTuple

Result = TypeVar("Result")
Arguments = TypeVarTuple("Arguments")

_THREADS = ThreadPoolExecutor(2, "long-work")
"""More would only compete for the GIL, and slow down the loop."""


async def in_thread(work: Callable[[*Arguments], Result], *arguments: *Arguments) -> Result:
    """The result of `work`; waits while both threads are busy."""
    return await asyncio.get_running_loop().run_in_executor(_THREADS, work, *arguments)
