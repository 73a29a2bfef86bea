# SPDX-License-Identifier: Apache-2.0
"""Limits the memory of request bodies while they are read and processed.

Processing a body takes up to ten times its length. A request whose body does not fit waits, unread; no user may use
more than a quarter of the limit, so one user's bodies do not delay another's. Requests of one user are served in order
of arrival, and so are users when the limit is reached: smaller bodies do not overtake a large one.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

FREE: Final = 16 << 10
"""Bytes of a body that do not count."""
TOGETHER: Final = 16 << 20
OF_ONE_USER: Final = TOGETHER // 4
PATIENCE: Final = 30.0
"""Seconds that a request may wait."""
WAITING: Final = 16
"""Requests of one user that may wait: the connection of each buffers up to a mebibyte that its client sends ahead."""


class NoRoom(Exception):
    """Too many requests of the user are waiting, or this one has waited for too long."""


@dataclass(eq=False, slots=True)
class Place:
    """The share of one request, granted or waited for."""

    user: str
    size: int
    admitted: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class Bodies:
    """The limit for the bodies of one server."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self._patience = patience
        self._held = 0
        self._of_user: Counter[str] = Counter()
        self._waiting: dict[Place, None] = {}
        """The oldest first."""

    @asynccontextmanager
    async def held(self, user: str, size: int) -> AsyncIterator[Place | None]:
        """Holds the share of a body of this size; waits until it is available. None for a body that does not count."""
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
        """The body is shorter than announced."""
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
        self._admit()  # also if it only waited: others waited behind it

    def _admit(self) -> None:
        """Admit all requests that fit, without overtaking."""
        behind: set[str] = set()  # users whose oldest request exceeds their own limit
        for place in list(self._waiting):
            if place.user in behind or place.admitted.done():  # done: cancelled just now
                continue
            if self._of_user[place.user] + place.size > OF_ONE_USER:
                behind.add(place.user)
            elif self._held + place.size > TOGETHER:
                return  # keep freed memory for this one
            else:
                del self._waiting[place]
                self._take(place.user, place.size)
                place.admitted.set_result(None)

    def _take(self, user: str, size: int) -> None:
        self._held += size
        self._of_user[user] += size
        if not self._of_user[user]:
            del self._of_user[user]
