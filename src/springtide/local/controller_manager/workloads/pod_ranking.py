# SPDX-License-Identifier: Apache-2.0
"""The order in which surplus pods are deleted: the least important first. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cmp_to_key

from springtide.api import whole_numbers
from springtide.local.controller_manager.views import PodView

_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}


def deletion_order(pods: Iterable[PodView], neighbours: Mapping[str, int], now: datetime) -> list[PodView]:
    """Unassigned, unstarted and unready pods first, then by low cost, crowded nodes, and age (younger first).

    Ages are compared only by order of magnitude, so that scaling in does not always hit the newest node.
    """

    def rank(pod: PodView) -> tuple[bool, int, bool, int, int]:
        spec = pod.spec
        phase = _PHASES.get(pod.status.phase, 0)
        return (spec.node_name != "", phase, pod.ready, deletion_cost(pod), -neighbours.get(spec.node_name, 0))

    def compare(one: PodView, other: PodView) -> int:
        first, second = rank(one), rank(other)
        if first != second:
            return -1 if first < second else 1
        return (
            (_younger_first(one, other, _ready_since(one), _ready_since(other), now) if one.ready else 0)
            or _restarts(other) - _restarts(one)
            or _younger_first(one, other, one.metadata.creation_timestamp, other.metadata.creation_timestamp, now)
        )

    return sorted(pods, key=cmp_to_key(compare))


def active_order(pods: Iterable[PodView]) -> list[PodView]:
    """The simpler order of batch jobs: no cost, no neighbours, exact ages."""
    oldest = datetime.min.replace(tzinfo=UTC)

    def rank(pod: PodView) -> tuple[bool, int, bool, float, int, float]:
        phase = _PHASES.get(pod.status.phase, 0)
        ready = _ready_since(pod) if pod.ready else None
        ready_for = -(ready - oldest).total_seconds() if ready else -math.inf
        created = pod.metadata.creation_timestamp
        age = -(created - oldest).total_seconds() if created else -math.inf
        return (pod.spec.node_name != "", phase, pod.ready, ready_for, -_restarts(pod), age)

    return sorted(pods, key=rank)


def deletion_cost(pod: PodView) -> int:
    text = pod.metadata.annotations.deletion_cost
    return whole_numbers.parse(text) or 0


def _ready_since(pod: PodView) -> datetime | None:
    condition = pod.ready_condition
    return None if condition is None else condition.last_transition_time


def _restarts(pod: PodView) -> int:
    return max((status.restart_count for status in pod.status.container_statuses), default=0)


def _younger_first(one: PodView, other: PodView, first: datetime | None, second: datetime | None, now: datetime) -> int:
    if first == second:
        return 0
    if first is None or second is None:
        return -1 if first is None else 1
    difference = _magnitude(now - first) - _magnitude(now - second)
    if difference:
        return difference
    return -1 if one.uid < other.uid else 1


def _magnitude(age: timedelta) -> int:
    nanoseconds = age.total_seconds() * 1e9
    return int(math.log2(nanoseconds)) if nanoseconds > 0 else -1
