# SPDX-License-Identifier: Apache-2.0
"""The limits of an autoscaler: stabilization windows, scaling policies, minimum and maximum. Pure.

Earlier recommendations and resizes are kept in a `Memory`; every step returns an updated one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import NamedTuple

from springtide.kube.resources import Obj

DOWNSCALE_WINDOW = 300
"""The default seconds during which the highest recommendation holds."""
_DEFAULT_FACTOR, _DEFAULT_STEP = 2, 4


class Past(NamedTuple):
    at: datetime
    replicas: int


@dataclass(frozen=True, slots=True)
class Memory:
    recommendations: tuple[Past, ...] = ()
    grown: tuple[Past, ...] = ()
    """How many replicas were added, and when."""
    shrunk: tuple[Past, ...] = ()


NOTHING = Memory()


class Limited(NamedTuple):
    replicas: int
    able: tuple[str, str]
    """Reason and message of the AbleToScale condition."""
    limited: bool
    why: tuple[str, str]
    """Reason and message of the ScalingLimited condition."""
    memory: Memory


@dataclass(frozen=True, slots=True)
class Bounds:
    current: int
    least: int
    most: int


_READY = ("ReadyForNewScale", "recommended size matches current size")
_HIGHER = "recent recommendations were higher than current one, applying the highest recent recommendation"
_LOWER = "recent recommendations were lower than current one, applying the lowest recent recommendation"
_WITHIN = ("DesiredWithinRange", "the desired count is within the acceptable range")
_TOO_MANY = ("TooManyReplicas", "the desired replica count is more than the maximum replica count")
_TOO_FEW = ("TooFewReplicas", "the desired replica count is less than the minimum replica count")
_UP_LIMIT = ("ScaleUpLimit", "the desired replica count is increasing faster than the maximum scale rate")
_DOWN_LIMIT = ("ScaleDownLimit", "the desired replica count is decreasing faster than the maximum scale rate")


def limit(autoscaler: Obj, bounds: Bounds, desired: int, memory: Memory, now: datetime) -> Limited:
    """The number of replicas after all limits, and the conditions that explain it."""
    behavior = autoscaler["spec"].get("behavior")
    if behavior is None:
        stable, able = _highest_recent(desired, memory, now)
        count, why = _within_rules(bounds, stable)
        kept = _remembered(memory, desired, DOWNSCALE_WINDOW, now)
        return Limited(count, able, count != stable, why, kept)
    up, down = behavior.get("scaleUp") or {}, behavior.get("scaleDown") or {}
    windows = (
        up.get("stabilizationWindowSeconds", 0),
        down.get("stabilizationWindowSeconds", DOWNSCALE_WINDOW),
    )
    stable, able = _stabilized(bounds.current, desired, memory, windows, now)
    count, why = _within_rates(bounds, stable, up, down, memory, now)
    kept = _remembered(memory, desired, max(windows), now)
    return Limited(count, able, count != stable, why, kept)


# Stabilization


def _highest_recent(desired: int, memory: Memory, now: datetime) -> tuple[int, tuple[str, str]]:
    """Without a behavior: grows at once, shrinks only to the highest recommendation of the window."""
    highest = max([desired, *_recent(memory.recommendations, DOWNSCALE_WINDOW, now)])
    return highest, _READY if highest == desired else ("ScaleDownStabilized", _HIGHER)


def _stabilized(
    current: int, desired: int, memory: Memory, windows: tuple[int, int], now: datetime
) -> tuple[int, tuple[str, str]]:
    """The smallest change that the recommendations of both windows, up and down, allow."""
    up, down = windows
    lowest = min([desired, *_recent(memory.recommendations, up, now)])
    highest = max([desired, *_recent(memory.recommendations, down, now)])
    stable = min(max(current, lowest), highest)
    if stable == desired:
        return stable, _READY
    return stable, ("ScaleUpStabilized", _LOWER) if desired >= current else ("ScaleDownStabilized", _HIGHER)


def _recent(past: tuple[Past, ...], window: int, now: datetime) -> list[int]:
    cutoff = now - timedelta(seconds=window)
    return [one.replicas for one in past if one.at > cutoff]


def _remembered(memory: Memory, desired: int, window: int, now: datetime) -> Memory:
    cutoff = now - timedelta(seconds=window)
    kept = tuple(one for one in memory.recommendations if one.at >= cutoff)
    return replace(memory, recommendations=(*kept, Past(now, desired)))


# Rates


def _within_rules(bounds: Bounds, desired: int) -> tuple[int, tuple[str, str]]:
    """Without a behavior: at most double the current number, or four."""
    ceiling = max(_DEFAULT_FACTOR * bounds.current, _DEFAULT_STEP)
    most, why = (ceiling, _UP_LIMIT) if bounds.most > ceiling else (bounds.most, _TOO_MANY)
    if desired < bounds.least:
        return bounds.least, _TOO_FEW
    return (most, why) if desired > most else (desired, _WITHIN)


def _within_rates(
    bounds: Bounds, desired: int, up: Obj, down: Obj, memory: Memory, now: datetime
) -> tuple[int, tuple[str, str]]:
    if desired > bounds.current:
        ceiling = max(bounds.current, _up_limit(bounds.current, up, memory, now))
        most, why = (ceiling, _UP_LIMIT) if bounds.most > ceiling else (bounds.most, _TOO_MANY)
        if desired > most:
            return most, why
    elif desired < bounds.current:
        floor = min(bounds.current, _down_limit(bounds.current, down, memory, now))
        least, why = (floor, _DOWN_LIMIT) if bounds.least < floor else (bounds.least, _TOO_FEW)
        if desired < least:
            return least, why
    return desired, _WITHIN


def _up_limit(current: int, rules: Obj, memory: Memory, now: datetime) -> int:
    def proposed(policy: Obj, start: int) -> int:
        value: int = policy["value"]
        return start + value if policy["type"] == "Pods" else math.ceil(start * (1 + value / 100))

    return _selected(current, rules, memory, now, proposed, max)


def _down_limit(current: int, rules: Obj, memory: Memory, now: datetime) -> int:
    def proposed(policy: Obj, start: int) -> int:
        value: int = policy["value"]
        return start - value if policy["type"] == "Pods" else int(start * (1 - value / 100))

    return _selected(current, rules, memory, now, proposed, min)


def _selected(
    current: int,
    rules: Obj,
    memory: Memory,
    now: datetime,
    proposed: Callable[[Obj, int], int],
    boldest: Callable[[list[int]], int],
) -> int:
    """The limit of the selected policy: the largest change by default, or the smallest."""
    choice = rules.get("selectPolicy", "Max")
    if choice == "Disabled":
        return current
    limits = []
    for policy in rules.get("policies") or ():
        period = policy["periodSeconds"]
        start = current - sum(_recent(memory.grown, period, now)) + sum(_recent(memory.shrunk, period, now))
        limits.append(proposed(policy, start))
    if not limits:
        return current
    if choice == "Max":
        return boldest(limits)
    return min(limits) if boldest is max else max(limits)


def scaled(autoscaler: Obj, memory: Memory, before: int, after: int, now: datetime) -> Memory:
    """The memory after the target was resized; used only with a behavior."""
    behavior = autoscaler["spec"].get("behavior")
    if behavior is None:
        return memory
    if after > before:
        return replace(memory, grown=_added(memory.grown, after - before, behavior.get("scaleUp") or {}, now))
    return replace(memory, shrunk=_added(memory.shrunk, before - after, behavior.get("scaleDown") or {}, now))


def _added(past: tuple[Past, ...], change: int, rules: Obj, now: datetime) -> tuple[Past, ...]:
    longest = max((policy["periodSeconds"] for policy in rules.get("policies") or ()), default=0)
    cutoff = now - timedelta(seconds=longest)
    return (*(one for one in past if one.at >= cutoff), Past(now, change))
