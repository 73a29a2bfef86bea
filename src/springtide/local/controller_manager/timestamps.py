# SPDX-License-Identifier: Apache-2.0
"""Times in Kubernetes' format, and the clock passed to controllers.

Pure code takes `now`; only the outermost `controller(...)` functions use `utc_now`.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    return datetime.now(UTC)


def stamp(moment: datetime) -> str:
    """RFC 3339 in whole seconds, as in every Kubernetes object."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def read(text: str) -> datetime:
    return datetime.fromisoformat(text)
