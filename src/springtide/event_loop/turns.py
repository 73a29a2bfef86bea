# SPDX-License-Identifier: Apache-2.0
"""Long work on the event loop, in slices of a few milliseconds.

    async for pod in in_turns(pods):
        ...

Between two slices all other tasks run. Tasks with long work share the slices: however many of them there are, one
turn of the loop runs one slice, plus the first slice of each task that has just begun.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Final, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")

SLICE: Final = 0.005
"""Seconds of work between two turns of the event loop."""

_queues: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()
"""For each loop the tasks that wait for their next slice: a lock serves them in their order."""


class Turns:
    """The slices of one task."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._ends = self._loop.time() + SLICE

    @property
    def over(self) -> bool:
        """Whether the slice is used up."""
        return self._loop.time() >= self._ends

    async def next(self) -> None:
        """Return at once while the slice lasts; after that, when the next one begins."""
        if not self.over:
            return
        async with _queues.setdefault(self._loop, asyncio.Lock()):
            await asyncio.sleep(0)
        self._ends = self._loop.time() + SLICE


async def in_turns(items: Iterable[T]) -> AsyncIterator[T]:
    """The items, with a turn of the event loop whenever the work on them has used up a slice."""
    turns = Turns()
    for item in items:
        yield item
        await turns.next()
