# SPDX-License-Identifier: Apache-2.0
"""`elastic.report`: numbers of the program for the launcher's progress line.

Rank 0 reports for all. Numbers of any library are converted to plain ones. Those that JSON does not have, such as the
loss of a run that diverged, are null, so that every JSON parser can read the line.
"""

from __future__ import annotations

import math
import time
from typing import Any, Final

from springtide.elastic.protocol.rank_messages import Progress
from springtide.elastic.ranks import context

_WINDOW: Final = 1.0


class Rate:
    """Samples per second, over at least one second."""

    def __init__(self) -> None:
        self._since: float | None = None
        self._samples = 0
        self._last: float | None = None

    def counted(self, samples: int, now: float) -> float | None:
        """None until the first rate is known. The duration of training before the first call is unknown, so it does not
        count."""
        if self._since is None:
            self._since = now
            return None
        self._samples += samples
        if now - self._since >= _WINDOW:
            self._last = round(self._samples / (now - self._since), 1)
            self._since, self._samples = now, 0
        return self._last


_rate = Rate()


def report(step: int, *, loss: Any = None, samples: int | None = None) -> None:
    """Report the training progress; `samples` were trained by all ranks since the last report.

    The cost is negligible, so every rank may call it after every step.
    """
    now = context.current()
    if now.session is None:
        return
    reached = plain(step)
    now.reported = None if reached is None else int(reached)
    if now.rank != 0:
        return
    rate = _rate.counted(samples, time.monotonic()) if samples is not None else None
    words = {"step": step, "loss": loss, "samples_per_second": rate}
    now.session.send(Progress({name: plain(value) for name, value in words.items() if value is not None}))


def plain(value: Any) -> int | float | None:
    """A plain number, of a number of any library or an array with one element; None if it is not finite."""
    number = value if type(value) in (int, float) else value.item()
    return number if math.isfinite(number) else None
