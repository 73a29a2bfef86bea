# SPDX-License-Identifier: Apache-2.0
"""Effect of a deletion on one object: removed at once, or marked and held by grace or finalizers. Pure.

The request that removes the last hold (a controller its finalizer, a kubelet with grace 0) removes the object.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from springtide.local.apiserver.registry.resources import Resource
from springtide.local.apiserver.verbs.options import DeleteOptions
from springtide.local.apiserver.writing.writes import is_released
from springtide.local.kinds.metadata import FOREGROUND, ORPHAN
from springtide.local.kinds.strategy import Obj

_STAMP = "%Y-%m-%dT%H:%M:%SZ"


def mark(obj: Obj, resource: Resource, options: DeleteOptions, now: str) -> bool:
    """Mark `obj` as deleted, in place; True when nothing holds it and it must be removed now."""
    meta = obj["metadata"]
    if resource.collected:
        _set_finalizers(meta, resource, options)
    grace = resource.grace(obj, options.grace) if resource.grace is not None else 0
    first = not meta.get("deletionTimestamp")
    if first or (options.grace is not None and grace < (meta.get("deletionGracePeriodSeconds") or 0)):
        _stamp(meta, grace, now)
        if resource.held is not None:  # a namespace has no grace period: it is removed when it is empty
            del meta["deletionGracePeriodSeconds"]
        if resource.on_deletion is not None:
            resource.on_deletion(obj)
    return is_released(resource, obj)


def _stamp(meta: Obj, grace: int, now: str) -> None:
    """A second deletion with a shorter grace period moves the end forward, counted from the first request."""
    first = not meta.get("deletionTimestamp")
    begun = datetime.strptime(meta.get("deletionTimestamp") or now, _STAMP).replace(tzinfo=UTC)
    begun -= timedelta(seconds=meta.get("deletionGracePeriodSeconds") or 0)
    meta["deletionTimestamp"] = (begun + timedelta(seconds=grace)).strftime(_STAMP)
    meta["deletionGracePeriodSeconds"] = grace
    if first and "generation" in meta:
        meta["generation"] += 1


def _set_finalizers(meta: Obj, resource: Resource, options: DeleteOptions) -> None:
    before = meta.get("finalizers") or []
    kept = [name for name in before if name not in (ORPHAN, FOREGROUND)]
    policy = options.policy
    if not policy:
        # Without a requested policy the object's own finalizer decides, then the kind's default.
        wished = [name for name in before if name in (ORPHAN, FOREGROUND)]
        kept += wished or ([ORPHAN] if resource.orphans_by_default else [])
    elif policy == "Orphan":
        kept.append(ORPHAN)
    elif policy == "Foreground":
        kept.append(FOREGROUND)
    if kept:
        meta["finalizers"] = kept
    else:
        meta.pop("finalizers", None)
