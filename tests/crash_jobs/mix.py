# SPDX-License-Identifier: Apache-2.0
"""Which jobs a round has: three of nine. One at least has a launcher, and one has replicas that keep their names."""

from __future__ import annotations

import random
from pathlib import Path

from tests.crash_jobs import jobs, named_jobs, training_jobs
from tests.crash_jobs.jobs import Wanted

JOBS = 3
KINDS = (jobs.MPIJOBS, named_jobs.PYTORCHJOBS, named_jobs.TFJOBS, training_jobs.TRAININGJOBS)
LAUNCHED = (*jobs.DRAWS, *training_jobs.DRAWS)


def drawn(chance: random.Random, shared: Path) -> list[Wanted]:
    """In an order by chance: more happens to the first."""
    named = chance.choice((1, 2, 2))
    draws = [*chance.sample(LAUNCHED, JOBS - named), *chance.sample(named_jobs.DRAWS, named)]
    chance.shuffle(draws)
    return [draw(chance, shared) for draw in draws]
