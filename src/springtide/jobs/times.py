# SPDX-License-Identifier: Apache-2.0
"""Times in messages: a time of day stays true while users read it, and needs no write every second."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

NEVER: Final = timedelta.max
LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)
"""In the place of a time that is missing, where times are compared."""
_LATEST: Final = datetime.max.replace(tzinfo=UTC)


def clock(moment: datetime, now: datetime) -> str:
    """`14:03:20 UTC`, with the date if that is not today."""
    there = moment.astimezone(UTC)
    return f"{there:%H:%M:%S} UTC" if there.date() == now.astimezone(UTC).date() else f"{there:%Y-%m-%d %H:%M:%S} UTC"


def after(moment: datetime, delay: timedelta) -> datetime:
    """`moment + delay`, at most the latest `datetime`: users choose delays."""
    return moment + delay if delay < _LATEST - moment else _LATEST
