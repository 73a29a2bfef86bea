# SPDX-License-Identifier: Apache-2.0
"""Why no rank trains on a listed host. Pure; time is a parameter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from springtide.elastic.launcher.state_machine.membership_changes import Idle
from springtide.elastic.launcher.state_machine.policies.liveness import Process

_LATE: Final = 5.0
"""Seconds after its start from which a rank that has not joined is reported."""


def idle(
    hosts: Iterable[tuple[str, Process | None]], resting: Mapping[str, float], full: int | None, now: float
) -> Iterator[Idle]:
    """Hosts without a rank that trains, each with its youngest process. `full` is the limit of ranks, if it is reached.
    A host that was just listed, or whose rank is being started, is not idle yet."""
    for host, process in hosts:
        if (why := _why(host, process, resting, full, now)) is not None:
            yield Idle(host, why, resting.get(host))


def _why(host: str, process: Process | None, resting: Mapping[str, float], full: int | None, now: float) -> str | None:
    if host in resting:
        return "is in back-off after a failure"
    if process is None:
        return f"is not needed with --max-np {full}" if full is not None else None
    if now - process.since < _LATE:
        return None
    return "runs a rank that has not joined" if process.called else "does not answer"
