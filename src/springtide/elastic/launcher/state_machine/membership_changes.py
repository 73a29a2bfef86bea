# SPDX-License-Identifier: Apache-2.0
"""Changes of the membership and idle hosts, for progress reports. Pure.

The last few changes are kept, each with its own number, so that a polling reader misses none and repeats none.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

KEPT: Final = 10
NAMED: Final = 3
_LENGTH: Final = 200

BEGAN: Final = "began"
LOST: Final = "lost"
JOINED: Final = "joined"
LEFT: Final = "left"


@dataclass(frozen=True, slots=True)
class Change:
    number: int
    at: float
    what: str
    size: int
    """Ranks that train after the change."""
    hosts: tuple[str, ...]
    """The first few hosts."""
    count: int = 1
    """Ranks that joined, left or were lost."""
    rank: int | None = None
    """The number of the rank if there is only one; None if it had none yet."""
    why: str = ""


@dataclass(frozen=True, slots=True)
class Idle:
    """A listed host on which no rank trains; without a host, the reason why no rank trains."""

    host: str
    why: str
    until: float | None = None


class Changes:
    def __init__(self) -> None:
        self.last: deque[Change] = deque(maxlen=KEPT)
        self._number = 0
        self._began = False
        self._members: dict[int, tuple[int, str]] = {}
        """Ranks and hosts of the members."""

    @property
    def number(self) -> int:
        """The number of the newest change; 0 before the first."""
        return self._number

    def lost(self, id_: int, host: str, why: str, now: float) -> None:
        rank, _ = self._members.pop(id_, (None, host))
        self._add(LOST, (host,), now, rank=rank, why=why[:_LENGTH])

    def grouped(self, members: Mapping[int, str], now: float) -> None:
        """The members from now on, in rank order. Lost ones were reported before."""
        before = self._members
        self._members = {id_: (rank, host) for rank, (id_, host) in enumerate(members.items())}
        if not self._began:
            self._began = True
            self._add(BEGAN, [*members.values()], now, count=len(members))
            return
        left = [host for id_, (_, host) in before.items() if id_ not in members]
        joined = [(rank, host) for id_, (rank, host) in self._members.items() if id_ not in before]
        if left:
            self._add(LEFT, left, now, count=len(left))
        if joined:
            rank = joined[0][0] if len(joined) == 1 else None
            self._add(JOINED, [host for _, host in joined], now, count=len(joined), rank=rank)

    def _add(
        self, what: str, hosts: Sequence[str], now: float, *, count: int = 1, rank: int | None = None, why: str = ""
    ) -> None:
        self._number += 1
        named = tuple(dict.fromkeys(hosts))[:NAMED]
        self.last.append(Change(self._number, now, what, len(self._members), named, count, rank, why))
