# SPDX-License-Identifier: Apache-2.0
"""Whether a run has the ranks it requires, and for how long it has not. Pure; time is a parameter.

Ranks that start and die again and again do not reset the time; only ranks that train do. Once a rank has joined, all
ranks that have not joined are missing; before that, programs may take their time to load.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_NOTICE: Final = 2.0
_SLOW: Final = 15.0
"""Seconds after which ranks that have not joined are named."""


@dataclass(frozen=True, slots=True)
class Quorum:
    """How many of the required ranks there are."""

    needed: int
    called: int
    """Ranks whose agents have connected."""
    joined: int
    late: str = ""
    """The names of ranks that run and have not joined."""

    @property
    def waits_to_join(self) -> bool:
        return self.joined < self.needed <= self.called

    @property
    def enough(self) -> bool:
        return self.called >= self.needed and (self.joined >= self.needed or not self.joined)

    def __str__(self) -> str:
        there, done = (self.joined, "joined") if self.waits_to_join else (self.called, "started")
        return f"{there} of {self.needed} required ranks {'has' if there == 1 else 'have'} {done}"


class Shortage:
    def __init__(self, now: float) -> None:
        self._since: float | None = now
        self._before = 0.0
        """Seconds of earlier shortages since ranks last trained."""
        self._noticed = False

    @property
    def stretch(self) -> tuple[float | None, float, bool]:
        """The state, for comparison."""
        return self._since, self._before, self._noticed

    def trained(self) -> None:
        self._before = 0.0

    @property
    def noticed(self) -> bool:
        """Whether the shortage has been logged, which happens only after a while."""
        return self._noticed

    def over(self, now: float) -> None:
        if self._since is not None:
            self._before += now - self._since
        self._since, self._noticed = None, False

    def lasted(self, now: float) -> float:
        """Seconds of shortage in total, up to now."""
        if self._since is None:
            self._since = now
        return self._before + now - self._since

    def notice(self, quorum: Quorum, now: float) -> str | None:
        """The message to log, once per shortage."""
        patience = _SLOW if quorum.waits_to_join else _NOTICE
        if self._noticed or self._since is None or now - self._since <= patience:
            return None
        self._noticed = True
        if quorum.waits_to_join:
            return f"{quorum}; waiting for {quorum.late} to join"
        return f"{quorum}; waiting for more"
