# SPDX-License-Identifier: Apache-2.0
"""The state of a job in one word, ours and Arena's.

Ours is `.status.state`. Jobs of other operators lack it: theirs follows from their conditions, or their phase. Arena's
word follows from ours, with two differences to what Arena shows: a job that trains is RUNNING even while a pod of its
is pending, as during scaling out, and a suspended job is SUSPENDED, not PENDING. Its SDKs take unknown words for an
unknown status, and scaling asks for RUNNING or SCALING, so that no client is broken by this.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from springtide.views import trainers
from springtide.views.pages.ages import instant

Obj = Mapping[str, Any]

CREATED: Final = "Created"
QUEUED: Final = "Queued"
STARTING: Final = "Starting"
RUNNING: Final = "Running"
SCALING_OUT: Final = "Scaling out"
SCALING_IN: Final = "Scaling in"
SUSPENDED: Final = "Suspended"
RESTARTING: Final = "Restarting"
SUCCEEDED: Final = "Succeeded"
FAILED: Final = "Failed"
STATES: Final = (
    CREATED,
    QUEUED,
    STARTING,
    RUNNING,
    SCALING_OUT,
    SCALING_IN,
    SUSPENDED,
    RESTARTING,
    SUCCEEDED,
    FAILED,
)
FINISHED: Final = (SUCCEEDED, FAILED)

_CONDITIONS: Final = (
    ("Succeeded", SUCCEEDED),
    ("Failed", FAILED),
    ("Suspended", SUSPENDED),
    ("Restarting", RESTARTING),
    ("Running", RUNNING),
    ("Queuing", QUEUED),
)
_PHASES: Final = {"Succeeded": SUCCEEDED, "Failed": FAILED, "Suspended": SUSPENDED, "Running": RUNNING}
"""Phases of et-operator's TrainingJobs; Scaling is one of two words."""

_STATUSES: Final = {
    CREATED: "PENDING",
    QUEUED: "PENDING",
    STARTING: "PENDING",
    RUNNING: "RUNNING",
    SCALING_OUT: "RUNNING",
    SCALING_IN: "RUNNING",
    SUSPENDED: "SUSPENDED",
    RESTARTING: "PENDING",
    SUCCEEDED: "SUCCEEDED",
    FAILED: "FAILED",
}
_TIMED_OUT: Final = ("job-supervisor.kube-ai.io/job-status", "timeout")
"""The annotation of a job that has waited longer than its --max-wait-time."""


def state_of(job: Obj) -> str:
    status = job.get("status") or {}
    stated: str = status.get("state") or ""
    if stated:
        return stated
    if status.get("phase") == "Scaling":
        return SCALING_IN if (status.get("currentScaler") or "").startswith("ScaleIn:") else SCALING_OUT
    if found := _PHASES.get(status.get("phase") or ""):
        return found
    return next((word for type_, word in _CONDITIONS if _condition(job, type_) is not None), CREATED)


def arena_status(job: Obj, state: str) -> str:
    if trainers.of_job(job).scales:
        annotation, value = _TIMED_OUT
        if state == FAILED and (job["metadata"].get("annotations") or {}).get(annotation) == value:
            return "MAX_WAIT_TIME_EXCEEDED"
        if (job.get("status") or {}).get("phase") == "Scaling" and _STATUSES.get(state) == "RUNNING":
            return "SCALING"
    elif state not in FINISHED and _condition(job, "Queuing") is not None:
        return "QUEUING"
    return _STATUSES.get(state, "UNKNOWN")


def when(job: Obj, state: str) -> datetime | None:
    """When the job came into this state, if a condition of it says so."""
    type_ = next((type_ for type_, word in _CONDITIONS if word == state), "")
    found = _condition(job, type_)
    return instant(found.get("lastTransitionTime")) if found is not None else None


def _condition(job: Obj, type_: str) -> Obj | None:
    """The condition of this type, if it is true."""
    conditions = (job.get("status") or {}).get("conditions") or ()
    return next((each for each in conditions if each.get("type") == type_ and each.get("status") == "True"), None)
