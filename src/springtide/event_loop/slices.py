# SPDX-License-Identifier: Apache-2.0
"""Runs long work on the event loop in slices of a few milliseconds.

    async for pod in in_slices(pods):
        ...

Between two slices all other tasks run. Tasks with long work share the slices: however many there are, one iteration of
the loop runs one slice, plus the first slice of each task that has just begun.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Final, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")

SLICE: Final = 0.005
"""Seconds of work between two iterations of the event loop."""

_queues: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()
"""Per event loop, the tasks that wait for their next slice: a lock serves them in order."""


class Slices:
    """The slices of one task."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._ends = self._loop.time() + SLICE

    @property
    def over(self) -> bool:
        """Whether the slice is used up."""
        return self._loop.time() >= self._ends

    async def next(self) -> None:
        """Returns at once while the slice lasts; after that, when the next one begins."""
        if not self.over:
            return
        async with _queues.setdefault(self._loop, asyncio.Lock()):
            await asyncio.sleep(0)
        self._ends = self._loop.time() + SLICE


async def in_slices(items: Iterable[T]) -> AsyncIterator[T]:
    """The items, yielding to the event loop whenever the work on them has used up a slice."""
    slices = Slices()
    for item in items:
        yield item
        await slices.next()
