# SPDX-License-Identifier: Apache-2.0
"""Whether a scaler's change is possible: decided when its turn comes, before anything is changed."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from springtide.jobs.replicas import moving, resizing
from springtide.jobs.reporting import quoting
from springtide.jobs.scaling.scaler import Scaler
from springtide.jobs.snapshot import Snapshot

_VARIABLE: Final = re.compile(r"[A-Za-z_.][A-Za-z0-9_.-]*")
"""No name begins with a hyphen: `env` would read it as an option."""

_NAMED: Final = 10


class Change(NamedTuple):
    start: int
    target: int
    victims: tuple[str, ...] = ()
    """Names of the workers that a ScaleIn removes."""


def judged(snapshot: Snapshot, scaler: Scaler) -> Change | str:
    """The change, or why it is not possible."""
    if objection := unusable(snapshot, scaler):
        return objection
    return _growth(snapshot, scaler) if scaler.adds else _shrinkage(snapshot, scaler)


def outside(snapshot: Snapshot, start: int, target: int) -> str:
    """Why the job cannot have this size; empty if it can."""
    bounds, most = snapshot.sizes.bounds, snapshot.observed.settings.max_workers
    what = _sum(start, target)
    if bounds is not None and not bounds.hold(target):
        return f"{what}: must be {bounds}"
    if target < 1:
        return f"{what}: a job has at least 1"
    if max(target, start) > most:
        return f"{what}, at most {most} are allowed: the operator runs no larger jobs"
    return ""


def mismatched(snapshot: Snapshot, scaler: Scaler, start: int, target: int) -> str:
    """Why these sizes, which the status has, cannot be those of this scaler: other clients may write a status. The
    workers beside those that it adds would be removed, or it would never end."""
    count = len(set(scaler.pod_names)) or scaler.count
    bounds, role = snapshot.sizes.bounds, snapshot.job.roles.get(snapshot.shape.workers)
    was_a_size = bounds is None or bounds.hold(start) or (role is not None and role.replicas == start)
    if (target - start if scaler.adds else start - target) == count and was_a_size:
        return ""
    wrong = f"status.startSize {start} and status.targetSize {target} are not what the spec asks for"
    return f"{wrong}: another client wrote them"


def _sum(start: int, target: int) -> str:
    now = "1 worker" if start == 1 else f"{start} workers"
    if target > start:
        return f"{now} and {target - start} more would be {target}"
    return f"{start - target} fewer than {now} would be {target}"


def unusable(snapshot: Snapshot, scaler: Scaler) -> str:
    """Why the scaler cannot change this job, whatever the sizes; empty if it can."""
    if scaler.error:
        return scaler.error
    if not snapshot.sizes.elastic:
        why = f": {snapshot.sizes.rigid}" if snapshot.sizes.rigid else ""
        return f"The job cannot be resized while it runs{why}"
    bad = next((name for name, _ in scaler.env if not _VARIABLE.fullmatch(name)), None)
    if bad is not None:
        return f"spec.env: {bad!r} is not a name of an environment variable"
    if scaler.script.startswith("-"):
        return f"spec.script: {scaler.script!r} is not the path of a script"
    if any("\0" in text for text in (scaler.script, *(value for _, value in scaler.env))):
        return "spec.script and spec.env: must not contain a null character"
    return ""


def _growth(snapshot: Snapshot, scaler: Scaler) -> Change | str:
    start, count = snapshot.wanted_size, scaler.count
    if count is None or count < 1:
        return f"spec.toAdd.count is {'missing' if count is None else count}: must be at least 1"
    return outside(snapshot, start, start + count) or Change(start, start + count)


def _shrinkage(snapshot: Snapshot, scaler: Scaler) -> Change | str:
    start, names = snapshot.wanted_size, tuple(dict.fromkeys(scaler.pod_names))
    if names:
        known = {snapshot.worker_name(index) for index in snapshot.ledger.members}
        unknown = [name for name in names if name not in known]
        if unknown:
            there = snapshot.worker_names(sorted(snapshot.ledger.members))
            more = f" and {len(unknown) - _NAMED} more" if len(unknown) > _NAMED else ""
            odd = ", ".join(quoting.line(name) for name in unknown[:_NAMED])
            return f"The job has no worker {odd}{more}; its workers are {there}"
        return outside(snapshot, start, start - len(names)) or Change(start, start - len(names), names)
    count = scaler.count
    if count is None or count < 1:
        given = "neither spec.toDelete.podNames nor spec.toDelete.count is given"
        return f"{given if count is None else f'spec.toDelete.count is {count}'}: must be at least 1"
    target = start - count
    return outside(snapshot, start, target) or Change(start, target, _last(snapshot, target))


def _last(snapshot: Snapshot, target: int) -> tuple[str, ...]:
    """Workers that are about to be replaced do not count: they leave anyway."""
    leavers = set(moving.leavers(snapshot))
    staying = [index for index in snapshot.ledger.members if index not in leavers]
    gone = resizing.ranked(snapshot, staying)[: max(len(staying) - target, 0)]
    return tuple(snapshot.worker_name(index) for index in gone)
