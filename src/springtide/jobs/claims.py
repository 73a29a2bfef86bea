# SPDX-License-Identifier: Apache-2.0
"""What a job lays claim to: hosts for its list, and names that may turn out to be somebody else's."""

from __future__ import annotations

from collections.abc import Iterable

from springtide.jobs import objects
from springtide.jobs.actions import Event
from springtide.jobs.kind import Hosts
from springtide.jobs.situation import Situation


def hosts(situation: Situation) -> Hosts:
    def names(indices: Iterable[int]) -> tuple[str, ...]:
        return tuple(situation.worker_name(index) for index in sorted(indices))

    ledger = situation.ledger
    return Hosts(
        wanted=names(situation.members),
        listed=names(ledger.listed),
        reachable=names({*ledger.members, *ledger.listed, *situation.workers}),
        serves=ledger.serves,
        fixed=situation.fixed,
    )


def contested(situation: Situation) -> Event | None:
    """An object that is in the way because it is somebody else's. Most of the time everything is the job's own."""
    seen, job = situation.observed, situation.job
    batch = seen.launcher_job
    if batch is not None and not batch.owned:
        return _exists(situation.shape.launcher_name, "Job", job.kind)
    theirs = {key for key, held in seen.objects.items() if not held.owned}
    if theirs:
        wanted = (objects.key_of(each.manifest) for each in situation.kind.wiring(job, hosts(situation)))
        for key in (*wanted, situation.config_key):
            if key in theirs:
                return _exists(key.name, key.kind, job.kind)
    if not seen.strangers:
        return None
    names = (situation.shape.launcher_name, *hosts(situation).wanted, *(each.name for each in situation.fixed))
    return next((_exists(name, "Pod", job.kind) for name in names if name in seen.strangers), None)


def _exists(name: str, kind: str, manager: str) -> Event:
    message = f'Resource "{name}" of Kind "{kind}" already exists and is not managed by {manager}'
    return Event("Warning", "ErrResourceExists", message)
