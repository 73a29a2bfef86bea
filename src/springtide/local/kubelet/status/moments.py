# SPDX-License-Identifier: Apache-2.0
"""Timestamps and durations in kubelet's format. Inside the agent a moment is seconds since the epoch."""

from __future__ import annotations

from datetime import UTC, datetime


def stamp(moment: float) -> str:
    """RFC 3339 in whole seconds."""
    return datetime.fromtimestamp(int(moment), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_stamp(moment: float) -> str:
    """RFC 3339 with microseconds, as leases have it."""
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def seconds_of(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def duration(seconds: int) -> str:
    """As Go prints whole seconds: `10s`, `1m20s`, `5m0s`."""
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h{minutes}m{rest}s"
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"
