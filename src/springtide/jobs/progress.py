# SPDX-License-Identifier: Apache-2.0
"""What a launcher says of itself: in an annotation of its own pod or, where it may not write that, in lines of its log,
of which the last ones are kept with how it ended."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

import msgspec

from springtide.api.kinds.fields import Wire
from springtide.jobs.observed import Pod

ANNOTATION: Final = "springtide.dev/progress"
_LINE: Final = '{"springtide":"progress"'
_LARGEST: Final = 1 << 53


class Progress(Wire, frozen=True, kw_only=True):
    at: datetime | None = None
    hosts: tuple[str, ...] | None = None
    """Hosts that ranks run on."""
    step: Any = None
    """What programs report may be anything."""
    checkpoint: Any = msgspec.UNSET
    """The step of the newest one; null where that is not known."""

    @property
    def reached(self) -> int | None:
        return _whole(self.step)

    @property
    def has_checkpoint(self) -> bool:
        return self.checkpoint is not msgspec.UNSET

    @property
    def kept(self) -> int | None:
        return _whole(self.checkpoint)


def of(pod: Pod | None) -> Progress:
    """What cannot be read is not said."""
    if pod is None:
        return Progress()
    if (annotation := pod.annotations.get(ANNOTATION)) is not None:
        return read(annotation)
    return read(last_line(pod.exit.message) if pod.exit is not None else "")


def last_line(log: str) -> str:
    """The last report among these lines of a log; empty where there is none."""
    return next((line for line in reversed(log.splitlines()) if line.startswith(_LINE)), "")


def read(text: str) -> Progress:
    try:
        return msgspec.json.decode(text, type=Progress)
    except (msgspec.DecodeError, RecursionError):
        return Progress()


def _whole(value: Any) -> int | None:
    number = type(value) in (int, float) and abs(value) <= _LARGEST
    return int(value) if number else None
