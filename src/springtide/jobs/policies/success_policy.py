# SPDX-License-Identifier: Apache-2.0
"""`successPolicy`: whose success is the job's. With a launcher it is the launcher's; of others the kind says it."""

from __future__ import annotations

from springtide.jobs.endings.outcomes import Outcome
from springtide.jobs.kind import Of
from springtide.jobs.replicas import indexed_roles
from springtide.jobs.snapshot import Situation


def success(situation: Situation) -> Outcome | None:
    at = situation.form.completed(situation)
    if at is None and not replicas_succeeded(situation):
        return None
    message = f"{situation.title} successfully completed."
    return Outcome(True, f"{situation.job.kind}Succeeded", message, at or situation.now)


def replicas_succeeded(situation: Situation) -> bool:
    rule = situation.shape.success
    if rule is None:
        return False
    names = [each.name for each in situation.fixed if each.role == rule.role]
    done = [name in situation.ledger.done or _has_succeeded(situation, name) for name in names]
    match rule.of:
        case Of.FIRST:
            return any(done[:1])
        case Of.ALL:
            return bool(done) and all(done)
        case Of.ANY:
            return any(done)


def _has_succeeded(situation: Situation, name: str) -> bool:
    pod = indexed_roles.pods(situation).get(name)
    return pod is not None and indexed_roles.has_succeeded(pod)
