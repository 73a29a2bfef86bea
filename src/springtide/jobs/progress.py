# SPDX-License-Identifier: Apache-2.0
"""What a launcher says of itself: in an annotation of its own pod and, where it may not write that, in lines of its
log, of which the last ones are kept with how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import msgspec

from springtide.api.kinds.fields import Wire
from springtide.jobs.annotations import decoded
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
    return read(last(pod.annotations, pod.exit.message if pod.exit is not None else ""))


def last(annotations: Mapping[str, str], log: str) -> str:
    """The later of what a pod's annotation and the last lines of its log say; empty where neither says anything. A
    launcher that is told to end may no longer write on its pod."""
    line = next((line for line in reversed(log.splitlines()) if line.startswith(_LINE)), "")
    written = annotations.get(ANNOTATION, "")
    said, printed = read(written).at, read(line).at
    later = printed is not None and (said is None or said <= printed)
    return line if later or not written else written


def read(text: str) -> Progress:
    return decoded(text, Progress, Progress())


def _whole(value: Any) -> int | None:
    number = type(value) in (int, float) and abs(value) <= _LARGEST
    return int(value) if number else None
