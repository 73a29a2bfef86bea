# SPDX-License-Identifier: Apache-2.0
"""Warnings about a change of a job: that it does not apply yet, or that the launcher cannot start with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from springtide.api.job import Job
from springtide.api.kinds.conditions import finished
from springtide.api.kinds.replicas import spelling
from springtide.api.kinds.resource import Scale
from springtide.api.validation import updates
from springtide.jobs.kind import Kind, Shape


def of_change(kind: Kind, new: Job[Any], old: Job[Any] | None) -> list[str]:
    """All warnings about a new job or an update."""
    return [*of_size(kind, new, old), *(of_templates(new, old) if old is not None else ())]


def of_templates(new: Job[Any], old: Job[Any]) -> list[str]:
    """Pods are not changed after their creation, as with Kubernetes' own Jobs."""
    known = [name for name in new.roles if name in old.roles]
    changed = [name for name in known if new.roles[name].template != old.roles[name].template]
    if not changed or old.status.start_time is None or new.run.suspend or finished(new.status.conditions):
        return []
    return [
        f"existing pods of {' and '.join(changed)} keep the former template: delete those that have not started "
        "(kubectl delete pod NAME), or suspend and resume the job to start it again, from its checkpoint if it has one"
    ]


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


def of_spelling(kind: Kind, scale: Scale | None, new: Job[Any], written: Mapping[str, Any]) -> list[str]:
    """Roles may be spelled in any case, but an API server reads the path of the scale subresource literally: it adds a
    second role, which the schema rejects before any webhook is asked."""
    if scale is None or kind.resizable is None or not kind.resizable.sizes(new).elastic:
        return []
    given = spelling(updates.roles(scale, written), scale.role)
    if scale.role not in new.roles or given == scale.role:
        return []
    return [
        f"{'.'.join(scale.roles)}[{given}]: kubectl scale and autoscalers need the spelling {scale.role}; with "
        f"{given} the job can be resized by kubectl edit and patch only"
    ]


def _asked(shape: Shape, job: Job[Any]) -> int:
    role = job.roles.get(shape.workers)
    return role.replicas if role else 0


def _launcher_runs(shape: Shape, job: Job[Any]) -> bool:
    counts = job.status.replica_statuses.get(shape.launcher)
    return counts is not None and counts.active > 0 and not job.run.suspend


def _workers(count: int) -> str:
    return "1 worker counts" if count == 1 else f"{count} workers count"
