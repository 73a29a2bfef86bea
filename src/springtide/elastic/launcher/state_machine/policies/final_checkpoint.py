# SPDX-License-Identifier: Apache-2.0
"""The checkpoint that ranks write after SIGTERM, before the run ends. Pure; time is a parameter.

Kubernetes sends SIGTERM and leaves a pod some time, when its node is drained for instance. A run that keeps checkpoints
uses it: its ranks write one at their next commit, and end after that.
"""

from __future__ import annotations

from typing import Final

PATIENCE: Final = 10.0
"""Seconds until the next commit. With the time that ranks have to end, this is well within the 30 s of a pod."""


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
        """Whether to wait for a checkpoint: when ranks keep any, and the first time."""
        if not self.possible or self._since is not None:
            return False
        self._since = now
        return True

    def written(self) -> bool:
        """Whether the run waited for the checkpoint that was written now."""
        return self._concluded(self._since is not None)

    def overdue(self, now: float) -> bool:
        return self._concluded(self._since is not None and now - self._since > PATIENCE)

    def _concluded(self, now: bool) -> bool:
        """Only once."""
        first = now and not self._over
        self._over = self._over or now
        return first
