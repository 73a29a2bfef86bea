# SPDX-License-Identifier: Apache-2.0
"""Merges a condition into the others, by the rules that upstream's clients expect.

A condition whose status and reason are unchanged is left alone, even if its message differs. `lastTransitionTime`
changes only with the status. A changed condition moves to the end. Success and failure set Running and any earlier
failure to False; Running and Restarting replace each other.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final, TypeAlias

from msgspec.structs import replace

from springtide.api.kinds.conditions import FAILED, RESTARTING, RUNNING, SUCCEEDED, Condition, condition

Conditions: TypeAlias = tuple[Condition, ...]

REASON_LENGTH: Final = 1024
_EXCLUDES: Final = {RUNNING: RESTARTING, RESTARTING: RUNNING}
_ENDED_BY_FINISH: Final = (RUNNING, FAILED)


def merged(conditions: Conditions, new: Condition, now: datetime) -> Conditions:
    old = condition(conditions, new.type)
    if old is not None and (old.status, old.reason) == (new.status, new.reason):
        return conditions
    moved = now if old is None or old.status != new.status else old.last_transition_time
    at_end = replace(new, last_update_time=now, last_transition_time=moved, message=new.message[:REASON_LENGTH])
    return (*_beside(conditions, new, now), at_end)


def updated(conditions: Conditions, new: Condition, now: datetime) -> Conditions:
    """Like `merged`, but a new message counts: the old message of a condition with numbers would be wrong."""
    old = condition(conditions, new.type)
    if old is None or (old.status, old.reason) != (new.status, new.reason):
        return merged(conditions, new, now)
    message = new.message[:REASON_LENGTH]
    if old.message == message:
        return conditions
    fresh = replace(old, message=message, last_update_time=now)
    return tuple(fresh if each.type == new.type else each for each in conditions)


def appended(conditions: Conditions, new: Condition, at: datetime) -> Conditions:
    """By the rules of et-operator: the condition moves to the end, and its transition time stays as long as its status
    does."""
    old = condition(conditions, new.type)
    moved = at if old is None or old.status != new.status else old.last_transition_time
    others = tuple(each for each in conditions if each.type != new.type)
    message = new.message[:REASON_LENGTH]
    return (*others, replace(new, message=message, last_update_time=at, last_transition_time=moved))


def _beside(conditions: Conditions, new: Condition, now: datetime) -> Iterable[Condition]:
    for each in conditions:
        if each.type == new.type:
            continue
        if new.status == "True" and each.type == _EXCLUDES.get(new.type):
            continue
        finishing = new.status == "True" and new.type in (SUCCEEDED, FAILED)
        if finishing and each.type in _ENDED_BY_FINISH and each.status == "True":
            yield replace(each, status="False", last_update_time=now, last_transition_time=now)
        else:
            yield each


def true(type_: str, reason: str, message: str) -> Condition:
    return Condition(type=type_, status="True", reason=reason, message=message)


def false(type_: str, reason: str, message: str) -> Condition:
    return Condition(type=type_, status="False", reason=reason, message=message)
