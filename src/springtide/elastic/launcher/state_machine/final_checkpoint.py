# SPDX-License-Identifier: Apache-2.0
"""A checkpoint that is written before a run ends because it was told to. Pure; time is a parameter.

Whoever stops a launcher with SIGTERM, a node that is drained for instance, gives it some time. A run that keeps
checkpoints uses it: its ranks write one at their next commit, and end after that.
"""

from __future__ import annotations

from typing import Final

PATIENCE: Final = 10.0
"""Seconds for the next commit. With the time that ranks have to end it is well within the 30 s of a pod."""


class FinalCheckpoint:
    def __init__(self) -> None:
        self.possible = False
        """Ranks keep checkpoints."""
        self._since: float | None = None
        self._over = False

    @property
    def stage(self) -> tuple[bool, float | None, bool]:
        """How far it has come."""
        return self.possible, self._since, self._over

    def begin(self, now: float) -> bool:
        """Whether it makes sense to wait for one; not a second time."""
        if not self.possible or self._since is not None:
            return False
        self._since = now
        return True

    def written(self) -> bool:
        """Whether the run has waited for this one."""
        return self._concluded(self._since is not None)

    def overdue(self, now: float) -> bool:
        return self._concluded(self._since is not None and now - self._since > PATIENCE)

    def _concluded(self, now: bool) -> bool:
        """Only once."""
        first = now and not self._over
        self._over = self._over or now
        return first
