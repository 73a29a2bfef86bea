# SPDX-License-Identifier: Apache-2.0
"""How a job ends: the first of these endings that applies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from springtide.jobs import fixed, workers
from springtide.jobs.outcomes import Outcome
from springtide.jobs.policies import active_deadline, success_policy
from springtide.jobs.situation import Situation


def outcome(situation: Situation) -> Outcome | None:
    found = (ending(situation) for ending in ENDINGS)
    return next((each for each in found if each is not None), None)


def _launcher_failed(situation: Situation) -> Outcome | None:
    return situation.form.failure(situation)


ENDINGS: Final[tuple[Callable[[Situation], Outcome | None], ...]] = (
    success_policy.success,
    _launcher_failed,
    fixed.failure,
    active_deadline.passed,
    workers.failure,
)
