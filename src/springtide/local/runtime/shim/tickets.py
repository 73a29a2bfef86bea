# SPDX-License-Identifier: Apache-2.0
"""Commands that the API server has allowed and that have not started yet: each ticket is valid once, and for a
minute."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Obj = dict[str, Any]

LIFE = 60.0
MOST, MOST_CHARACTERS = 1000, 8 << 20
"""Of all tickets together: the oldest ones beyond this are dropped, so that unused tickets do not fill the node's
memory."""


class Tickets:
    def __init__(self) -> None:
        self._given: dict[str, tuple[float, int, Obj]] = {}  # oldest first
        self._characters = 0

    def give(self, ticket: str, command: Obj, now: float) -> None:
        self._forget(ticket)
        size = len(str(command))
        self._given[ticket] = now + LIFE, size, command
        self._characters += size
        while len(self._given) > 1 and (self._too_many() or self._oldest_ends() <= now):
            self._forget(next(iter(self._given)))

    def take(self, ticket: str, now: float) -> Obj | None:
        """The command; None where the ticket was used before, has expired or was never issued."""
        until, _, command = self._given.get(ticket, (now, 0, {}))
        self._forget(ticket)
        return command if now < until else None

    def _forget(self, ticket: str) -> None:
        _, size, _ = self._given.pop(ticket, (0.0, 0, {}))
        self._characters -= size

    def _too_many(self) -> bool:
        return len(self._given) > MOST or self._characters > MOST_CHARACTERS

    def _oldest_ends(self) -> float:
        return next(iter(self._given.values()))[0]
