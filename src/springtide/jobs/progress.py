# SPDX-License-Identifier: Apache-2.0
"""What a launcher says of itself: in an annotation of its own pod and, where it may not write that, in lines of its
log, of which the last ones are kept with how it ended."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from typing import Annotated, Any, Final, TypeVar

import msgspec

from springtide.api.kinds.fields import Wire
from springtide.jobs.annotations import decoded
from springtide.jobs.observed import Pod

ANNOTATION: Final = "springtide.dev/progress"
_LINE: Final = '{"springtide":"progress"'
_LARGEST: Final = 1 << 53
_MOST_RANKS: Final = 1 << 31
_MOST_ITEMS: Final = 10
T = TypeVar("T")


class Idle(Wire, frozen=True, kw_only=True):
    """A host on which no rank trains, or what all ranks wait for."""

    host: str = ""
    why: str = ""
    until: datetime | None = None


class Change(Wire, frozen=True, kw_only=True):
    """Ranks that came or went."""

    number: Annotated[int, msgspec.Meta(ge=1, lt=1 << 53)]
    what: str = ""
    hosts: tuple[str, ...] = ()
    """The first few."""
    count: int = 1
    rank: int | None = None
    size: int = 0
    """Ranks that train after it."""
    why: str = ""


class Progress(Wire, frozen=True, kw_only=True):
    at: datetime | None = None
    hosts: tuple[str, ...] | None = None
    """Hosts that ranks run on."""
    size: Any = None
    """Ranks that train together."""
    step: Any = None
    """What programs report may be anything."""
    loss: Any = None
    training_hosts: Any = msgspec.field(default=None, name="training_hosts")
    """How many hosts ranks train on; launchers of earlier releases do not say it."""
    idle: Any = None
    changes: Any = None
    """Both are read apart from the rest, which is understood where they are not."""
    checkpoint: Any = msgspec.UNSET
    """The step of the newest one; null where that is not known."""

    @property
    def reached(self) -> int | None:
        return _whole(self.step)

    @property
    def ranks(self) -> int | None:
        found = _whole(self.size)
        return found if found is not None and 0 <= found < _MOST_RANKS else None

    @property
    def trains(self) -> int | None:
        """Workers that train."""
        found = _whole(self.training_hosts)
        return found if found is not None and 0 <= found < _MOST_RANKS else None

    @property
    def waits(self) -> tuple[Idle, ...]:
        return _first(self.idle, Idle)

    @property
    def membership(self) -> tuple[Change, ...]:
        """The last changes of who trains, by their numbers."""
        return tuple(sorted(_first(self.changes, Change), key=lambda each: each.number))

    @property
    def loss_text(self) -> str:
        """Short, and the same for numbers that differ in nothing that matters."""
        return f"{self.loss:.6g}" if type(self.loss) in (int, float) and abs(self.loss) <= sys.float_info.max else ""

    @property
    def has_checkpoint(self) -> bool:
        return self.checkpoint is not msgspec.UNSET

    @property
    def kept(self) -> int | None:
        return _whole(self.checkpoint)


_NOTHING: Final = Progress()


def of(pod: Pod | None) -> Progress:
    """What cannot be read is not said."""
    if pod is None:
        return _NOTHING
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
    return decoded(text, Progress, _NOTHING) if text else _NOTHING


def _first(value: Any, kind: type[T]) -> tuple[T, ...]:
    """Of a list that anybody may have written: those that can be read, and no more than a launcher reports."""
    found = []
    for each in value[:_MOST_ITEMS] if isinstance(value, list) else ():
        with suppress(msgspec.ValidationError):
            found.append(msgspec.convert(each, kind))
    return tuple(found)


def _whole(value: Any) -> int | None:
    number = type(value) in (int, float) and abs(value) <= _LARGEST
    return int(value) if number else None
