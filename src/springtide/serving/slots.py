# SPDX-License-Identifier: Apache-2.0
"""Limits the connections of a server, and the memory of their request heads.

A connection counts as unauthenticated until its client certificate was verified or one of its requests was
authenticated. Unauthenticated connections compete only with each other: for a number of slots and for a number of
bytes. When either is used up, the oldest unauthenticated connection is closed, once it had `grace` seconds; until then
new ones wait in the kernel's listen queue. No user may have more than half of all slots.
"""

from __future__ import annotations

import asyncio
import logging
import resource
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

logger = logging.getLogger(__name__)

_OTHER_FILES: Final = 512
"""Descriptors reserved for other files of the process."""
_LOG_EVERY: Final = 60.0


def _default_connections() -> int:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 4096 if soft == resource.RLIM_INFINITY else max(64, min(4096, soft - _OTHER_FILES))


@dataclass(frozen=True, slots=True)
class Limits:
    connections: int = 0
    """The limit of all connections; 0: 4096, or fewer if the process may open fewer files."""
    unauthenticated: int = 128
    free_head: int = 16 << 10
    """Bytes of a head that every connection may hold; the rest counts against a shared budget."""
    head_budget: int = 24 << 20
    """Together with 128 x 16 KiB, buffer growth and 128 TLS connections, below 64 MiB."""
    grace: float = 2.0
    head_seconds: float = 15.0
    """From the first byte of a head to its last; for a connection's first head, from the end of the handshake."""
    handshake_seconds: float = 10.0
    idle_seconds: float = 600.0
    """Between two requests of a connection."""


class Slot:
    """The slot of one connection. `abort` closes the connection at once, in any state."""

    __slots__ = ("abort", "authenticated", "bytes", "is_closing", "since", "user")

    def __init__(self, since: float, abort: Callable[[], object]) -> None:
        self.since, self.abort = since, abort
        self.is_closing: Callable[[], bool] = lambda: False
        self.bytes = 0
        self.authenticated = False
        self.user = ""


class Slots:
    """The slots of one server, on all its listening sockets."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._connections = limits.connections or _default_connections()
        self._unauthenticated: dict[Slot, None] = {}  # the oldest first
        self._authenticated: set[Slot] = set()
        self._of_user: Counter[str] = Counter()
        self._bytes = {False: 0, True: 0}  # of heads, by whether their connections are authenticated
        self._changed = asyncio.Event()
        self._logged = float("-inf")

    @property
    def unauthenticated(self) -> int:
        return len(self._unauthenticated)

    @property
    def head_bytes(self) -> int:
        """Bytes of heads that count against the budgets."""
        return sum(self._bytes.values())

    async def room(self) -> None:
        """Returns when one more connection may be accepted."""
        loop = asyncio.get_running_loop()
        while self._full():
            self._changed.clear()
            oldest = next(iter(self._unauthenticated), None)
            if oldest is not None and loop.time() >= oldest.since + self.limits.grace:
                self._evict(oldest, loop.time())
                continue
            wait = None if oldest is None else oldest.since + self.limits.grace - loop.time()
            try:
                await asyncio.wait_for(self._changed.wait(), wait)
            except TimeoutError:
                continue

    def _full(self) -> bool:
        waiting = len(self._unauthenticated)
        return waiting >= self.limits.unauthenticated or waiting + len(self._authenticated) >= self._connections

    def enter(self, abort: Callable[[], object]) -> Slot:
        slot = Slot(asyncio.get_running_loop().time(), abort)
        self._unauthenticated[slot] = None
        return slot

    def leave(self, slot: Slot) -> None:
        self.release(slot)
        self._unauthenticated.pop(slot, None)
        if slot in self._authenticated:
            self._authenticated.discard(slot)
            self._forget_user(slot)
        self._changed.set()

    def authenticate(self, slot: Slot, user: str) -> bool:
        """Assign the connection to this user; False if the user has too many connections."""
        if slot.authenticated and slot.user == user:
            return True
        if slot not in self._unauthenticated and slot not in self._authenticated:
            return True  # closed meanwhile
        if user and self._of_user[user] >= self._connections // 2:
            return False
        if slot.authenticated:
            self._forget_user(slot)
        else:
            self._bytes[False] -= slot.bytes
            self._bytes[True] += slot.bytes
            del self._unauthenticated[slot]
            self._authenticated.add(slot)
            self._changed.set()
        slot.authenticated, slot.user = True, user
        self._of_user[user] += 1
        return True

    def close(self) -> None:
        """Close all connections, also those without a request yet."""
        for slot in (*self._unauthenticated, *self._authenticated):
            if not slot.is_closing():  # otherwise the last bytes of a response might be lost
                slot.abort()

    def _forget_user(self, slot: Slot) -> None:
        self._of_user[slot.user] -= 1
        if not self._of_user[slot.user]:
            del self._of_user[slot.user]

    def hold(self, slot: Slot, size: int) -> bool:
        """The connection holds a head of `size` bytes now; False if that exceeds the budget."""
        wanted = max(0, size - self.limits.free_head) - slot.bytes
        if wanted <= 0:
            return True
        while self._bytes[slot.authenticated] + wanted > self.limits.head_budget:
            if not self._evict_holder(slot):
                return False
        self._bytes[slot.authenticated] += wanted
        slot.bytes += wanted
        return True

    def release(self, slot: Slot) -> None:
        self._bytes[slot.authenticated] -= slot.bytes
        slot.bytes = 0

    def _evict_holder(self, asking: Slot) -> bool:
        """Close the oldest unauthenticated connection with a long head, if its grace period is over."""
        now = asyncio.get_running_loop().time()
        if asking.authenticated:
            return False
        for slot in self._unauthenticated:
            if now < slot.since + self.limits.grace:
                return False
            if slot.bytes and slot is not asking:
                self._evict(slot, now)
                return True
        return False

    def _evict(self, slot: Slot, now: float) -> None:
        if now >= self._logged + _LOG_EVERY:
            self._logged = now
            logger.warning(
                "%d connections without credentials; closing the oldest to make room", len(self._unauthenticated)
            )
        self.leave(slot)
        slot.abort()
