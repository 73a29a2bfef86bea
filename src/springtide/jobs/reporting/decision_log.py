# SPDX-License-Identifier: Apache-2.0
"""The job's decision log: the last decisions, kept on its config object, so that they outlive the events.

Decisions are written together with the ledger that they explain, never by a write of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

import msgspec

from springtide.api.kinds.fields import Wire
from springtide.jobs.actions import Decision, Event
from springtide.jobs.annotations import decoded

ANNOTATION: Final = "springtide.dev/decisions"
CAP: Final = 20


class Line(Wire, frozen=True, kw_only=True):
    at: datetime
    reason: str
    message: str


def log(annotations: Mapping[str, str]) -> tuple[Line, ...]:
    """The log; empty if it cannot be decoded, as nothing depends on it."""
    return decoded(annotations.get(ANNOTATION, "[]"), tuple[Line, ...], ())


def logged(annotations: Mapping[str, str], new: Iterable[Decision]) -> str:
    lines = (*log(annotations), *(Line(at=each.at, reason=each.reason, message=each.message) for each in new))
    return msgspec.json.encode(lines[-CAP:]).decode()


def events(decisions: Iterable[Decision]) -> tuple[Event, ...]:
    return tuple(Event("Warning" if each.warning else "Normal", each.reason, each.message) for each in decisions)
