# SPDX-License-Identifier: Apache-2.0
"""Which changes of a size a webhook rejects: those that a running job would not follow.

Replicas that keep their names know each other by number. While such a job runs, its sizes stay, unless it is elastic
and the size is that of its workers. Where no webhook answers, `deferring` reports the difference in a condition.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from springtide.api.field_errors import FieldError, forbidden
from springtide.api.job import Job
from springtide.api.kinds.conditions import finished, holds
from springtide.api.kinds.resource import Scale
from springtide.api.validation.updates import role_field
from springtide.jobs.kind import ONE_SIZE, Kind, Sizes
from springtide.jobs.replicas import deferring

_WAY_OUT: Final = "suspend it, change the size and resume it, which starts it again, from its checkpoint if it has one"


class Change(NamedTuple):
    """A job before and after, as it is read and as the user wrote it."""

    new: Job[Any]
    old: Job[Any]
    written: tuple[Mapping[str, Any], Mapping[str, Any]]


def errors(kind: Kind, scale: Scale, change: Change) -> list[FieldError]:
    new, old, written = change
    shape, sizes = kind.shape(new), _sizes(kind, new)
    if not shape.fixed or not _keeps_its_sizes(old) or new.run.suspend:
        return []
    changed = [role for role in {**old.roles, **new.roles} if _count(old, role) != _count(new, role)]
    return [
        forbidden(role_field(scale, role, *written), f"{deferring.why_kept(shape, sizes)}; {_WAY_OUT}")
        for role in changed
        if not (sizes.elastic and role == shape.workers)
    ]


def _sizes(kind: Kind, job: Job[Any]) -> Sizes:
    return kind.resizable.sizes(job) if kind.resizable is not None else ONE_SIZE


def _keeps_its_sizes(job: Job[Any]) -> bool:
    """Not where a size was stored that the job does not follow: it may be corrected."""
    status = job.status
    over = finished(status.conditions) or holds(status.conditions, deferring.DEFERRED)
    return status.start_time is not None and not job.run.suspend and not over


def _count(job: Job[Any], role: str) -> int:
    return job.roles[role].replicas if role in job.roles else 0
