# SPDX-License-Identifier: Apache-2.0
"""`successPolicy`: whose success is the job's. With a launcher it is the launcher's; otherwise the kind defines it."""

from __future__ import annotations

from springtide.jobs.endings.outcomes import Outcome
from springtide.jobs.kind import Of
from springtide.jobs.replicas import indexed_roles
from springtide.jobs.snapshot import Snapshot


def success(snapshot: Snapshot) -> Outcome | None:
    at = snapshot.form.completed(snapshot)
    if at is None and not replicas_succeeded(snapshot):
        return None
    message = f"{snapshot.title} successfully completed."
    return Outcome(True, f"{snapshot.job.kind}Succeeded", message, at or snapshot.now)


def replicas_succeeded(snapshot: Snapshot) -> bool:
    rule = snapshot.shape.success
    if rule is None:
        return False
    names = [each.name for each in snapshot.fixed if each.role == rule.role]
    succeeded = {name for name, pod in indexed_roles.pods(snapshot).items() if indexed_roles.has_succeeded(pod)}
    succeeded.update(snapshot.ledger.done)
    done = [name in succeeded for name in names]
    match rule.of:
        case Of.FIRST:
            return any(done[:1])
        case Of.ALL:
            return bool(done) and all(done)
        case Of.ANY:
            return any(done)
