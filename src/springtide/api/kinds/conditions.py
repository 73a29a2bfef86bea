# SPDX-License-Identifier: Apache-2.0
"""A job's conditions: each has a status, a reason, and the time since which it holds."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Final

from springtide.api.kinds.fields import Wire, doc

CREATED: Final = "Created"
RUNNING: Final = "Running"
RESTARTING: Final = "Restarting"
SUSPENDED: Final = "Suspended"
SUCCEEDED: Final = "Succeeded"
FAILED: Final = "Failed"


class Condition(Wire, frozen=True, kw_only=True):
    type: Annotated[str, doc("What the condition is about, for instance Running or Waiting.")]
    status: Annotated[str, doc("True, False or Unknown.")]
    reason: Annotated[str, doc("Why the status is what it is, in one word for programs.")] = ""
    message: Annotated[str, doc("A message for users, with the next step where there is one.")] = ""
    last_update_time: Annotated[datetime | None, doc("When anything about the condition last changed.")] = None
    last_transition_time: Annotated[datetime | None, doc("When the status last changed.")] = None


def condition(conditions: Iterable[Condition], type_: str) -> Condition | None:
    return next((each for each in conditions if each.type == type_), None)


def holds(conditions: Iterable[Condition], type_: str) -> bool:
    found = condition(conditions, type_)
    return found is not None and found.status == "True"


def finished(conditions: Iterable[Condition]) -> bool:
    return any(each.type in (SUCCEEDED, FAILED) and each.status == "True" for each in conditions)
