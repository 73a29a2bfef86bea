# SPDX-License-Identifier: Apache-2.0
"""Times of objects, and durations as kubectl and Arena write them."""

from __future__ import annotations

from datetime import datetime, tzinfo
from typing import Final

_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86400, 365 * 86400


def instant(moment: str | None) -> datetime | None:
    """A time of an object, in RFC 3339; None for one that is missing or invalid."""
    if not moment:
        return None
    try:
        found = datetime.fromisoformat(moment)
    except ValueError:
        return None
    return found if found.tzinfo is not None else None


def seconds(begin: datetime | None, end: datetime) -> float:
    """0 without a beginning."""
    return (end - begin).total_seconds() if begin is not None else 0.0


def human_duration(span: float) -> str:
    """kubectl's: two or three significant figures, as in `45s`, `5m3s`, `47m`, `3h20m`, `2d4h`, `400d`, `3y35d`."""
    whole_seconds = int(span)
    if whole_seconds < -1:
        return "<invalid>"
    whole_seconds = max(whole_seconds, 0)
    for below, unit, letter, part, part_letter in _STEPS:
        if whole_seconds < below:
            whole, rest = divmod(whole_seconds, unit)
            fraction = rest // part if part else 0
            return f"{whole}{letter}{fraction}{part_letter}" if fraction else f"{whole}{letter}"
    return f"{whole_seconds // _YEAR}y"


_STEPS: Final = (
    (2 * _MINUTE, 1, "s", 0, ""),
    (10 * _MINUTE, _MINUTE, "m", 1, "s"),
    (3 * _HOUR, _MINUTE, "m", 0, ""),
    (8 * _HOUR, _HOUR, "h", _MINUTE, "m"),
    (48 * _HOUR, _HOUR, "h", 0, ""),
    (8 * _DAY, _DAY, "d", _HOUR, "h"),
    (2 * _YEAR, _DAY, "d", 0, ""),
    (8 * _YEAR, _YEAR, "y", _DAY, "d"),
)


def short_duration(span: float) -> str:
    """Arena's: one unit, truncated."""
    whole = int(span)
    if whole < -1:
        return "<invalid>"
    if whole < 0:
        return "0s"
    steps = ((_MINUTE, 1, "s"), (_HOUR, _MINUTE, "m"), (_DAY, _HOUR, "h"), (_YEAR, _DAY, "d"))
    return next((f"{whole // unit}{letter}" for below, unit, letter in steps if whole < below), f"{whole // _YEAR}y")


def local_time(moment: datetime | None, zone: tzinfo | None = None) -> str:
    """Arena's format, in this time zone; None is that of the machine."""
    return moment.astimezone(zone).strftime("%Y-%m-%d %H:%M:%S") if moment is not None else ""
