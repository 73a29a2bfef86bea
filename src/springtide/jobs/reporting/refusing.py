# SPDX-License-Identifier: Apache-2.0
"""Invalid jobs: nothing is done for them, and a condition, the explanation and an event state why.

This check precedes all others, because an invalid job cannot be read. The condition becomes False when the job is
corrected.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from springtide.api.field_errors import FieldError
from springtide.api.kinds.conditions import condition, finished, holds
from springtide.api.kinds.status import JobStatus
from springtide.jobs.actions import Event, Plan, StatusPatch
from springtide.jobs.reporting.conditions import Conditions, false, merged, true

INVALID: Final = "Invalid"
REASON: Final = "ValidationError"
_LENGTH: Final = 1024


def refused(status: JobStatus, errors: Sequence[FieldError], now: datetime) -> Plan:
    """One event, and a condition that stays. The same errors are not reported twice; a finished job is left alone."""
    message = told(errors)
    before = condition(status.conditions, INVALID)
    known = before is not None and (before.status, before.message) == ("True", message)
    if known or finished(status.conditions):
        return Plan((), status)
    others = tuple(each for each in status.conditions if each.type != INVALID)
    new = replace(
        status,
        conditions=merged(others, true(INVALID, REASON, message), now),
        explanation=message,
    )
    return Plan((StatusPatch(new), Event("Warning", REASON, message)), new)


def told(errors: Sequence[FieldError]) -> str:
    """The message, with the errors joined as Kubernetes joins them."""
    texts = [str(error) for error in errors]
    joined = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    return f"Found validation errors: {joined}"[:_LENGTH]


def mended(conditions: Conditions, now: datetime) -> Conditions:
    if not holds(conditions, INVALID):
        return conditions
    return merged(conditions, false(INVALID, "Valid", "The job is valid."), now)
