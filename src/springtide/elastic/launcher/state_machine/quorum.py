# SPDX-License-Identifier: Apache-2.0
"""How long a run has had fewer ranks than it takes. Pure; time is a parameter.

Ranks that come and die again and again do not begin the count anew; only those that train do. A rank that runs and does
not join the others is missing as soon as one has joined; before that, programs may take their time to load.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_NOTICE: Final = 2.0
_SLOW: Final = 15.0
"""Seconds after which one that has not joined is named."""


@dataclass(frozen=True, slots=True)
class Quorum:
    """Who is there of those that are needed."""

    needed: int
    called: int
    """Their agents are there."""
    joined: int
    late: str = ""
    """Those that run and have not joined."""

    @property
    def waits_to_join(self) -> bool:
        return self.joined < self.needed <= self.called

    @property
    def enough(self) -> bool:
        return self.called >= self.needed and (self.joined >= self.needed or not self.joined)

    def __str__(self) -> str:
        there = self.joined if self.waits_to_join else self.called
        return f"{there} of the {self.needed} ranks it takes {'is' if there == 1 else 'are'} there"


class Shortage:
    def __init__(self, now: float) -> None:
        self._since: float | None = now
        self._before = 0.0
        """Seconds since anybody trained, but for the stretch that lasts."""
        self._noticed = False

    @property
    def stretch(self) -> tuple[float | None, float, bool]:
        """What changes when a shortage begins, ends or has been noticed."""
        return self._since, self._before, self._noticed

    def trained(self) -> None:
        self._before = 0.0

    @property
    def noticed(self) -> bool:
        """Whether it lasts longer than a moment."""
        return self._noticed

    def over(self, now: float) -> None:
        if self._since is not None:
            self._before += now - self._since
        self._since, self._noticed = None, False

    def lasted(self, now: float) -> float:
        """Seconds in all, up to now."""
        if self._since is None:
            self._since = now
        return self._before + now - self._since

    def notice(self, quorum: Quorum, now: float) -> str | None:
        """What to say of it, once in each stretch."""
        patience = _SLOW if quorum.waits_to_join else _NOTICE
        if self._noticed or self._since is None or now - self._since <= patience:
            return None
        self._noticed = True
        if quorum.waits_to_join:
            return f"{quorum}; waiting for {quorum.late} to join"
        return f"{quorum}; waiting for more"
