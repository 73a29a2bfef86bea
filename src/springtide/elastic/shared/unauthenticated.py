# SPDX-License-Identifier: Apache-2.0
"""Callers that have not proved yet who they are. Pure.

Each costs a descriptor, and anybody can call. So there are only so many, and when one more comes the oldest is turned
away: whoever belongs to the run proves it in a moment.
"""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T")


class Unauthenticated(Generic[T]):
    def __init__(self) -> None:
        self._there: dict[T, None] = {}

    def come(self, caller: T, most: int) -> list[T]:
        """Whom to turn away, so that no more than these are left."""
        self._there[caller] = None
        turned_away = list(self._there)[: max(len(self._there) - most, 0)]
        for each in turned_away:
            del self._there[each]
        return turned_away

    def known(self, caller: T) -> None:
        """It has proved who it is, or has gone."""
        self._there.pop(caller, None)
