# SPDX-License-Identifier: Apache-2.0
"""A job that is not valid: nothing is done for it, and it is said why, where users look as well as where they do not.

It comes before everything else, because such a job has no reading form. Its condition goes when the job is mended.
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
    """One event, and a condition that stays. The same mistakes are not told twice; a finished job is past caring."""
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
    """As Kubernetes joins them."""
    texts = [str(error) for error in errors]
    joined = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    return f"Found validation errors: {joined}"[:_LENGTH]


def mended(conditions: Conditions, now: datetime) -> Conditions:
    if not holds(conditions, INVALID):
        return conditions
    return merged(conditions, false(INVALID, "Valid", "The job is valid."), now)
