# SPDX-License-Identifier: Apache-2.0
"""The back-off of a batch Job before it replaces failed pods: 10 s, 20 s, 40 s ... ten minutes. Pure.

The count is reset by a success. It is kept only in memory, as in kube-controller-manager: a restart resets it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from springtide.local.controller_manager.batch.job_pods import all_index_failures, finished_at
from springtide.local.controller_manager.views import PodView

FIRST, LONGEST = 10.0, 600.0


@dataclass(frozen=True, slots=True)
class Backoff:
    failures: int = 0
    """Since the last success."""
    last: datetime | None = None

    def after(self, succeeded: Sequence[PodView], failed: Sequence[PodView]) -> Backoff:
        """The back-off after these pods have finished."""
        ends = sorted(finished_at(pod) for pod in failed)
        if succeeded:
            success = max(finished_at(pod) for pod in succeeded)
            ends = [end for end in ends if end > success]
            return Backoff(len(ends), ends[-1] if ends else None)
        return Backoff(self.failures + len(ends), ends[-1]) if ends else self

    def remaining(self, now: datetime) -> float:
        return _remaining(self.failures, self.last, now)


NO_FAILURES = Backoff()


def remaining_for_index(replaced: PodView | None, now: datetime) -> float:
    """Seconds until the pod of an index may be replaced."""
    if replaced is None:
        return 0.0
    return _remaining(all_index_failures(replaced) + 1, finished_at(replaced), now)


def _remaining(failures: int, last: datetime | None, now: datetime) -> float:
    if not failures or last is None:
        return 0.0
    pause = min(LONGEST, FIRST * 2.0 ** min(failures - 1, 16))
    return max(0.0, pause - (now - last).total_seconds())
