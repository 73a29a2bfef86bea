# SPDX-License-Identifier: Apache-2.0
"""Limits connections that have not authenticated yet. Pure.

Each costs a file descriptor, and any process can connect. So their number is limited, and the oldest is closed when one
more is opened: processes of the run authenticate quickly.
"""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T")


class Unauthenticated(Generic[T]):
    def __init__(self) -> None:
        self._there: dict[T, None] = {}

    def add(self, caller: T, most: int) -> list[T]:
        """Add a caller. Returns those to close, so that no more than `most` are left."""
        self._there[caller] = None
        turned_away = list(self._there)[: max(len(self._there) - most, 0)]
        for each in turned_away:
            del self._there[each]
        return turned_away

    def remove(self, caller: T) -> None:
        """A caller has authenticated, or has closed the connection."""
        self._there.pop(caller, None)
