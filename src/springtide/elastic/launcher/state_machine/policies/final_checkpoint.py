# SPDX-License-Identifier: Apache-2.0
"""The checkpoint that ranks write after SIGTERM, before the run ends. Pure; time is a parameter.

When a node is drained, for instance, Kubernetes sends SIGTERM and leaves a pod some time. A run that keeps checkpoints
uses it: its ranks write one at their next commit, and end after that.
"""

from __future__ import annotations

from typing import Final

PATIENCE: Final = 10.0
"""Seconds until the next commit. Together with the time ranks have to end, this is well within the 30 s of a pod."""


class FinalCheckpoint:
    def __init__(self) -> None:
        self.possible = False
        """Ranks keep checkpoints."""
        self._since: float | None = None
        self._over = False

    @property
    def stage(self) -> tuple[bool, float | None, bool]:
        """The state, for comparison."""
        return self.possible, self._since, self._over

    def begin(self, now: float) -> bool:
        """Whether to wait for a checkpoint: if ranks keep any, and only the first time."""
        if not self.possible or self._since is not None:
            return False
        self._since = now
        return True

    def written(self) -> bool:
        """Whether the run waited for the checkpoint that was just written."""
        return self._concluded(self._since is not None)

    def overdue(self, now: float) -> bool:
        return self._concluded(self._since is not None and now - self._since > PATIENCE)

    def _concluded(self, now: bool) -> bool:
        """True only once."""
        first = now and not self._over
        self._over = self._over or now
        return first
