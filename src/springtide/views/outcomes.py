# SPDX-License-Identifier: Apache-2.0
"""What a command that waits for a job reports: how the job ended, or that it has not ended."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from springtide.views.states import FAILED, SUCCEEDED, state_of

Obj = Mapping[str, Any]


class Outcome(StrEnum):
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    """The job was deleted."""
    NOT_FINISHED = "not finished"


def outcome(job: Obj | None, uid: str) -> Outcome:
    """Of the job with this uid; `job` is the one that has its name now."""
    if job is None or job["metadata"].get("uid") != uid or job["metadata"].get("deletionTimestamp"):
        return Outcome.CANCELLED
    state = state_of(job)
    if state == SUCCEEDED:
        return Outcome.SUCCEEDED
    return Outcome.FAILED if state == FAILED else Outcome.NOT_FINISHED


def explanation(job: Obj) -> str:
    """In the words of the operator, or else of the condition that ended the job."""
    status = job.get("status") or {}
    conditions = [each for each in status.get("conditions") or () if each.get("type") in (SUCCEEDED, FAILED)]
    last = next((str(each.get("message", "")) for each in conditions if each.get("status") == "True"), "")
    return str(status.get("explanation") or "") or last
