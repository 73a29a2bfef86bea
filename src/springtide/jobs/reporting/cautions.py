# SPDX-License-Identifier: Apache-2.0
"""Warnings about a requested size: that it does not apply yet, or that the launcher cannot start with it."""

from __future__ import annotations

from typing import Any

from springtide.api.job import Job
from springtide.api.kinds.conditions import finished
from springtide.jobs.kind import Kind, Shape


def of_size(kind: Kind, new: Job[Any], old: Job[Any] | None) -> list[str]:
    """Warnings about a new job, or an update of the size; other updates repeat no warning."""
    if kind.resizable is None:
        return []
    sizes = kind.resizable.sizes(new)
    shape, before = kind.shape(new), _asked(kind.shape(old), old) if old is not None else None
    asked = _asked(shape, new)
    if asked == before or finished(new.status.conditions):
        return []
    runs = _launcher_runs(shape, new)
    found = []
    if runs and not sizes.elastic:
        found.append(
            f"{sizes.rigid}: its run continues unchanged and {_workers(asked)} from its next start; "
            "suspend and resume the job to start anew with that size now"
        )
    if sizes.start_size is not None and asked < sizes.start_size.workers:
        refusal = sizes.start_size.refusal(asked)
        found.append(f"the launcher continues, but once it is gone: {refusal}" if runs else refusal)
    return found


def _asked(shape: Shape, job: Job[Any]) -> int:
    role = job.roles.get(shape.workers)
    return role.replicas if role else 0


def _launcher_runs(shape: Shape, job: Job[Any]) -> bool:
    counts = job.status.replica_statuses.get(shape.launcher)
    return counts is not None and counts.active > 0 and not job.run.suspend


def _workers(count: int) -> str:
    return "1 worker counts" if count == 1 else f"{count} workers count"
