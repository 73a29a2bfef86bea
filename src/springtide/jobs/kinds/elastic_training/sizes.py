# SPDX-License-Identifier: Apache-2.0
"""Which sizes a TrainingJob may have, by its fields and by its launcher's command line."""

from __future__ import annotations

from springtide.api import bounds
from springtide.api.bounds import Bounds, Slots, StartSize
from springtide.api.command_lines import Launch, launch_of
from springtide.api.defaults.trainingjob import ET, bounds_of
from springtide.api.job import Job
from springtide.api.kinds.replicas import LAUNCHER
from springtide.jobs.kind import Sizes
from springtide.jobs.parts import launcher_programs


class TrainingJobSizes:
    def sizes(self, job: Job[ET]) -> Sizes:
        found, limits = launch(job), bounds_of(job)
        elastic = is_elastic(found)
        return Sizes(
            bounds=limits,
            start_size=_start_size(job, limits, found) if job.own.start_size_min and elastic else None,
            elastic=elastic,
            rigid="" if elastic or found is None else launcher_programs.rigid(found),
            settles=elastic and launcher_programs.settles(found),
        )


def launch(job: Job[ET]) -> Launch | None:
    return launch_of(job.roles[LAUNCHER].template)


def is_elastic(program: Launch | None) -> bool:
    """An unknown program is: the kind is for elastic training, and the program may follow the host list by itself."""
    return program is None or program.elastic


def _start_size(job: Job[ET], limits: Bounds, program: Launch | None) -> StartSize:
    """The minimum, unless the launcher's program needs more."""
    least = StartSize(limits.min, f"{limits.source}.minReplicas is {limits.min}", "lower minReplicas")
    needed = bounds.start_size(program, Slots(max(job.own.slots_per_worker, 1)))
    return max(least, needed, key=lambda each: each.workers) if needed is not None else least
