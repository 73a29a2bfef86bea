# SPDX-License-Identifier: Apache-2.0
"""A launcher's progress report.

The launcher writes it to an annotation of its own pod and, where it may not do that, to its log, whose last lines are
kept in the container's status.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Annotated, Any, Final, TypeVar

import msgspec
from msgspec.structs import replace

from springtide.api.kinds.fields import Wire
from springtide.jobs.annotations import decoded
from springtide.jobs.observed import Pod
from springtide.jobs.reporting import quoting

ANNOTATION: Final = "springtide.dev/progress"
_LINE: Final = '{"springtide":"progress"'
_LARGEST: Final = 1 << 53
_MOST_RANKS: Final = 1 << 31
_MOST_ITEMS: Final = 10
_LONGEST: Final = 256 * 1024
"""Characters; all annotations of an object together have no more."""
T = TypeVar("T")
Ranks = Annotated[int, msgspec.Meta(ge=0, lt=_MOST_RANKS)]


class Idle(Wire, frozen=True, kw_only=True):
    """A host on which no rank trains, or (without a host) what all ranks wait for."""

    host: str = ""
    why: str = ""
    until: datetime | None = None


class Change(Wire, frozen=True, kw_only=True):
    """Ranks that joined, left or were lost."""

    number: Annotated[int, msgspec.Meta(ge=1, lt=1 << 53)]
    what: str = ""
    hosts: tuple[str, ...] = ()
    """The first few hosts."""
    count: Ranks = 1
    rank: Ranks | None = None
    size: Ranks = 0
    """Ranks that train after the change."""
    why: str = ""


class Progress(Wire, frozen=True, kw_only=True):
    at: Annotated[datetime, msgspec.Meta(tz=True)] | None = None
    hosts: tuple[str, ...] | None = None
    """Hosts that ranks run on."""
    size: Any = None
    """Ranks that train together."""
    step: Any = None
    """Programs may report any value."""
    loss: Any = None
    training_hosts: Any = msgspec.field(default=None, name="training_hosts")
    """The number of hosts that ranks train on; launchers of earlier releases do not report it."""
    idle: Any = None
    changes: Any = None
    """Both are decoded separately, so that an invalid value does not invalidate the rest."""
    checkpoint: Any = msgspec.UNSET
    """The step of the newest checkpoint; null if the step is not known."""

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
        idle = self.idle[:_MOST_ITEMS] if isinstance(self.idle, list) else ()
        return tuple(
            replace(each, host=_text(each.host), why=_text(each.why), until=_in_utc(each.until))
            for each in _readable(idle, Idle)
        )

    @property
    def membership(self) -> tuple[Change, ...]:
        """The last changes of membership, by number."""
        changes = self.changes[-_MOST_ITEMS:] if isinstance(self.changes, list) else ()
        found = sorted(_readable(changes, Change), key=lambda each: each.number)
        return tuple(
            replace(each, hosts=tuple(map(_text, each.hosts[:_MOST_ITEMS])), why=_text(each.why)) for each in found
        )

    @property
    def loss_text(self) -> str:
        """Short, and equal for losses whose difference does not matter."""
        return f"{self.loss:.6g}" if type(self.loss) in (int, float) and abs(self.loss) <= sys.float_info.max else ""

    @property
    def has_checkpoint(self) -> bool:
        return self.checkpoint is not msgspec.UNSET

    @property
    def kept(self) -> int | None:
        return _whole(self.checkpoint)


_NOTHING: Final = Progress()


def of(pod: Pod | None) -> Progress:
    """The progress of a pod; empty if it cannot be decoded."""
    if pod is None:
        return _NOTHING
    return read(last(pod.annotations, pod.exit.message if pod.exit is not None else ""))


def last(annotations: Mapping[str, str], log: str) -> str:
    """The later report of the pod's annotation and of the last log lines; empty if there is none. A launcher that is
    terminating may not be able to write the annotation any more."""
    line = next((line for line in reversed(log.splitlines()) if line.startswith(_LINE)), "")
    written = annotations.get(ANNOTATION, "")
    said, printed = read(written).at, read(line).at
    later = printed is not None and (said is None or said <= printed)
    return line if later or not written else written


def read(text: str) -> Progress:
    return decoded(text, Progress, _NOTHING) if text and len(text) <= _LONGEST else _NOTHING


def _readable(values: Iterable[Any], kind: type[T]) -> list[T]:
    """The values that can be decoded; users may have written others."""
    found = []
    for each in values:
        with suppress(msgspec.ValidationError):
            found.append(msgspec.convert(each, kind))
    return found


def _text(said: str) -> str:
    return quoting.line(said, quoting.REPORTED)


def _in_utc(moment: datetime | None) -> datetime | None:
    """None for a time without a time zone, or one that is out of range in UTC."""
    with suppress(OverflowError):
        return moment.astimezone(UTC) if moment is not None and moment.tzinfo is not None else None
    return None


def _whole(value: Any) -> int | None:
    number = type(value) in (int, float) and abs(value) <= _LARGEST
    return int(value) if number else None
