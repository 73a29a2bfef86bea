# SPDX-License-Identifier: Apache-2.0
"""How much the bodies of requests may take together while they are read and worked on.

A body that is worked on takes up to ten times its length. A request whose body finds no room waits, unread; no user
takes more than a quarter of the room, so one user's bodies do not hold up another's. Requests of one user are
served in the order in which they came, and so are users when all room is taken: smaller bodies do not overtake a large
one.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
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


@dataclass(eq=False, slots=True)
class Place:
    """What one request takes of the room, or waits for."""

    user: str
    size: int
    admitted: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class Bodies:
    """The room for the bodies of one server."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self._patience = patience
        self._held = 0
        self._of_user: Counter[str] = Counter()
        self._waiting: dict[Place, None] = {}
        """The oldest first."""

    @asynccontextmanager
    async def held(self, user: str, size: int) -> AsyncIterator[Place | None]:
        """Room for a body of this size, from the time there is some. None for a body that needs none."""
        if size <= FREE:
            yield None
            return
        place = Place(user, size)
        self._waiting[place] = None
        try:
            await self._admission(place)
            yield place
        finally:
            self._leave(place)

    def shrink(self, place: Place | None, size: int) -> None:
        """The body turned out to be shorter than it might have been."""
        if place is not None and size < place.size:
            self._take(place.user, size - place.size)
            place.size = size
            self._admit()

    async def _admission(self, place: Place) -> None:
        self._admit()
        if place.admitted.done():
            return
        if sum(one.user == place.user for one in self._waiting) > WAITING:
            raise NoRoom
        try:
            async with asyncio.timeout(self._patience):
                await place.admitted
        except TimeoutError:
            raise NoRoom from None

    def _leave(self, place: Place) -> None:
        if place in self._waiting:
            del self._waiting[place]
        else:
            self._take(place.user, -place.size)
        self._admit()  # also when it only waited: others waited behind it

    def _admit(self) -> None:
        """All for whom there is room, without anyone's being overtaken."""
        behind: set[str] = set()  # users whose oldest request waits for room of their own
        for place in list(self._waiting):
            if place.user in behind or place.admitted.done():  # done: given up a moment ago
                continue
            if self._of_user[place.user] + place.size > OF_ONE_USER:
                behind.add(place.user)
            elif self._held + place.size > TOGETHER:
                return  # what comes free is kept for this one
            else:
                del self._waiting[place]
                self._take(place.user, place.size)
                place.admitted.set_result(None)

    def _take(self, user: str, size: int) -> None:
        self._held += size
        self._of_user[user] += size
        if not self._of_user[user]:
            del self._of_user[user]
