# SPDX-License-Identifier: Apache-2.0
"""Waiting for what a controller does in its own time: asked again and again, never slept through."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


async def until(ask: Callable[[], Awaitable[T]], accept: Callable[[T], object], patience: float) -> T:
    """Ask until the answer is accepted; the last answer is in the failure."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + patience
    while True:
        answer = await ask()
        if accept(answer):
            return answer
        if loop.time() > deadline:
            raise AssertionError(f"still: {answer}")
        await asyncio.sleep(0.01)
