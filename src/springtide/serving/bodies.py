# SPDX-License-Identifier: Apache-2.0
"""How much the bodies of requests may take together while they are read and worked on.

A body that is worked on takes up to ten times its length. A request whose body finds no room waits, unread; no user
takes more than a quarter of the room, so one user's bodies do not hold up another's.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

FREE: Final = 16 << 10
"""Bytes of a body that every request may hold."""
TOGETHER: Final = 16 << 20
OF_ONE_USER: Final = TOGETHER // 4
PATIENCE: Final = 30.0
"""Seconds that a request waits for room."""
WAITING: Final = 16
"""Requests of one user that may wait: the connection of each holds up to a mebibyte of what its client sends ahead."""


class NoRoom(Exception):
    """Too many requests of the user wait for room, or this one has waited for too long."""


class Bodies:
    """The room for the bodies of one server."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self._patience = patience
        self._held = 0
        self._of_user: Counter[str] = Counter()
        self._waiting: dict[asyncio.Future[None], str] = {}

    @asynccontextmanager
    async def held(self, user: str, size: int) -> AsyncIterator[None]:
        """Room for a body of this size, from the time there is some."""
        if size <= FREE:
            yield
            return
        await self._room(user, size)
        self._held += size
        self._of_user[user] += size
        try:
            yield
        finally:
            self._held -= size
            self._of_user[user] -= size
            if not self._of_user[user]:
                del self._of_user[user]
            for waiter in self._waiting:
                if not waiter.done():
                    waiter.set_result(None)

    async def _room(self, user: str, size: int) -> None:
        loop = asyncio.get_running_loop()
        ends = loop.time() + self._patience
        while self._held + size > TOGETHER or self._of_user[user] + size > OF_ONE_USER:
            if sum(one == user for one in self._waiting.values()) >= WAITING:
                raise NoRoom
            waiter: asyncio.Future[None] = loop.create_future()
            self._waiting[waiter] = user
            try:
                async with asyncio.timeout_at(ends):
                    await waiter
            except TimeoutError:
                raise NoRoom from None
            finally:
                del self._waiting[waiter]
