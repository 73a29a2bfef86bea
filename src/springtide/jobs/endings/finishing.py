# SPDX-License-Identifier: Apache-2.0
"""How a job ends: the first of these endings that applies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from springtide.jobs.endings.outcomes import Outcome
from springtide.jobs.policies import active_deadline, job_restart_policy, max_wait_time, success_policy
from springtide.jobs.replicas import indexed_roles, workers
from springtide.jobs.snapshot import Snapshot


def outcome(snapshot: Snapshot) -> Outcome | None:
    found = (ending(snapshot) for ending in ENDINGS)
    return next((each for each in found if each is not None), None)


def _launcher_failed(snapshot: Snapshot) -> Outcome | None:
    return snapshot.form.failure(snapshot)


ENDINGS: Final[tuple[Callable[[Snapshot], Outcome | None], ...]] = (
    success_policy.success,
    _launcher_failed,
    job_restart_policy.failure,
    indexed_roles.failure,
    active_deadline.passed,
    max_wait_time.passed,
    workers.failure,
)
