# SPDX-License-Identifier: Apache-2.0
"""Objects that the API server rejected, or whose names are taken: what users read of them, and when they are tried
again. Pure but for the time of a condition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from msgspec.structs import replace

from springtide.api.kinds.conditions import condition
from springtide.api.kinds.status import JobStatus
from springtide.jobs import host_list
from springtide.jobs.actions import Create
from springtide.jobs.objects import ROLE
from springtide.jobs.reporting import wait_causes
from springtide.kube import errors
from springtide.kube.controller import Retry, Terminal

_SOON: Final = 30.0
"""Seconds; a wait shorter than this takes precedence over the back-off of a rejection."""
_REFUSALS: Final = (errors.Forbidden, errors.Invalid, errors.BadRequest)
_WEBHOOK: Final = "failed calling webhook"


class Taken(Exception):
    """A name that the job needs is taken by an object that does not belong to the job."""

    def __init__(self, reason: str, message: str, retry: float) -> None:
        super().__init__(message)
        self.reason, self.retry = reason, retry


@dataclass(frozen=True, slots=True)
class Refused:
    """A pod or batch Job that the API server rejected, or whose name is taken."""

    create: Create
    refusal: errors.ApiError | Taken

    @property
    def role(self) -> str:
        return str(self._labels.get(ROLE, ""))

    def is_selected(self, selector: str) -> bool:
        """Whether the status with this selector counts the pod."""
        wanted = dict(pair.split("=", 1) for pair in selector.split(",") if pair)
        return bool(wanted) and wanted.items() <= self._labels.items()

    @property
    def _labels(self) -> Mapping[str, str]:
        labels: Mapping[str, str] = self.create.manifest["metadata"]["labels"]
        return labels

    @property
    def cause(self) -> wait_causes.Cause:
        metadata = self.create.manifest["metadata"]
        kind, name = self.create.manifest["kind"], metadata["name"]
        what = f"A {self.role.lower()} pod" if self.role else f'{kind} "{name}"'
        return wait_causes.refused(metadata["namespace"], what, str(self.refusal))


def is_refusal(failure: errors.ApiError | Taken) -> bool:
    """Whether users must see the failure: an unavailable admission webhook is a server error, and may last as long as a
    quota."""
    webhook = isinstance(failure, errors.ServerError) and _WEBHOOK in str(failure)
    return isinstance(failure, (*_REFUSALS, Taken)) or webhook


def first_taken(refused: Sequence[Refused]) -> Taken | None:
    return next((each.refusal for each in refused if isinstance(each.refusal, Taken)), None)


def first_cause(refused: Sequence[Refused]) -> wait_causes.Cause | None:
    """The cause of the first rejection: pods of a job are mostly rejected for the same reason."""
    return next((each.cause for each in refused if not isinstance(each.refusal, Taken)), None)


def without(old: JobStatus, planned: JobStatus, refused: Sequence[Refused]) -> JobStatus:
    """The status without the rejected pods, which the plan had counted, and with the cause. The text is the same every
    time, so that the status is not written again and again."""
    if not refused:
        return planned
    missing, now = sum(each.is_selected(planned.selector) for each in refused), datetime.now(UTC)
    less = replace(planned, replicas=max(planned.replicas - missing, 0))
    if (taken := first_taken(refused)) is not None:
        return host_list.told(old, less, taken.reason, str(taken), now)
    before, cause = condition(old.conditions, wait_causes.WAITING), first_cause(refused)
    kept = (before if before is not None and each.type == before.type else each for each in less.conditions)
    conditions = wait_causes.told(tuple(kept), cause, now)
    return replace(less, conditions=conditions, explanation=wait_causes.explained(conditions, cause))


def until(refusal: errors.ApiError | Taken, wait: float | None) -> Exception:
    """When to retry. A quota may be raised, but an invalid object stays invalid until the job changes. What the plan
    waits for anyway, such as the end of a drain, must not be missed."""
    if isinstance(refusal, Taken):
        return Retry(str(refusal), refusal.retry if wait is None else min(wait, refusal.retry))
    passing = isinstance(refusal, errors.Forbidden | errors.ServerError)
    if wait is not None and (wait < _SOON or not passing):
        return Retry(str(refusal), wait)
    return refusal if passing else Terminal(str(refusal))
