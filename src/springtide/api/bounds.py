# SPDX-License-Identifier: Apache-2.0
"""Within which sizes a job may run.

`elasticPolicy` says it in workers. What it leaves open is read from the launcher's command line, which counts slots:
with S slots a worker, `--min-np` needs ceil(min/S) workers and `--max-np` has use for floor(max/S). Slots of a launcher
that is a host itself are subtracted first.
"""

from __future__ import annotations

from dataclasses import dataclass

from springtide.api.command_lines import HOROVODRUN, Launch, launch_of
from springtide.api.defaults.mpijob import MPI
from springtide.api.job import Job
from springtide.api.kinds.elastic_policy import ElasticPolicy
from springtide.api.kinds.replicas import LAUNCHER


@dataclass(frozen=True, slots=True)
class Bounds:
    """At least one worker, and an upper end only where there is one."""

    min: int
    max: int | None
    source: str
    """Where they were said, for people."""

    def hold(self, workers: int) -> bool:
        return self.nearest(workers) == workers

    def nearest(self, workers: int) -> int:
        """The size that is run when this one is asked for."""
        wanted = max(workers, self.min)
        return wanted if self.max is None else min(wanted, self.max)

    def __str__(self) -> str:
        said = f"at least {self.min}" if self.max is None else f"between {self.min} and {self.max}"
        return f"{said}, as {self.source} says"


@dataclass(frozen=True, slots=True)
class StartSize:
    """The fewest workers that an elastic launcher can start with."""

    workers: int
    why: str
    remedy: str
    """Besides asking for more workers."""

    def refusal(self, asked: int) -> str:
        """Why the launcher cannot start with so many, and what to do about it."""
        workers = "1 worker is" if asked == 1 else f"{asked} workers are"
        return (
            f"{workers} asked for, but the launcher cannot start with fewer than {self.workers}: {self.why}; "
            f"ask for {self.workers} workers or {self.remedy}"
        )


def limit_advice(size: int, limits: Bounds | None) -> str:
    """What to do about a job that is to have more workers than the operator runs for one job."""
    needed = f", and {limits.source} asks for at least {limits.min}" if limits and limits.min == size else ""
    return f"the operator runs no larger jobs{needed}; ask for fewer workers, or raise its --max-workers-per-job"


def of_mpi(job: Job[MPI]) -> Bounds | None:
    """Of a job that says nothing about being elastic there are none."""
    launch = launch_of(job.roles[LAUNCHER].template)
    return decided(job.elastic or ElasticPolicy(), launch, *_slots(job.own))


def start_size_of_mpi(job: Job[MPI]) -> StartSize | None:
    """tiderun starts with the slots of `--min-np`. horovodrun waits for those of `-np`, and for two hosts where it has
    to find out by itself which network interface they share. None: a launcher that is not elastic starts with all its
    workers."""
    launch = launch_of(job.roles[LAUNCHER].template)
    if launch is None or not launch.elastic:
        return None
    slots, launchers = _slots(job.own)
    np_first = launch.program == HOROVODRUN
    option, processes = _needed(launch, np_first)
    by_slots = _enough(processes, slots, launchers)
    probes = np_first and not launch.names_interface
    by_hosts = (2 if probes else 1) - (1 if job.own.launcher_is_host else 0)
    if by_hosts > by_slots:
        why = "horovodrun needs two hosts to find out which network interface they share"
        return StartSize(by_hosts, why, "name the interface with --network-interface")
    why = f"{launch.program} {option} {processes} waits for {processes} slots, and a worker has {slots}"
    other = ", or use tiderun, which starts with --min-np" if np_first else ""
    return StartSize(by_slots, why, f"lower {option}{other}")


def _needed(launch: Launch, np_first: bool) -> tuple[str, int]:
    """The option that says how many slots the program waits for."""
    given = (("-np", launch.np), ("--min-np", launch.min_np))
    found = ((option, count) for option, count in (given if np_first else reversed(given)) if count is not None)
    return next(found, ("-np", 1))


def decided(policy: ElasticPolicy, launch: Launch | None, slots: int, launcher_slots: int = 0) -> Bounds | None:
    """Where the two contradict each other, or no number of workers fits, the policy stands, and then the minimum."""
    least, most = policy.min_replicas, policy.max_replicas
    sources = ["spec.elasticPolicy"] if least is not None or most is not None else []
    if launch is not None and launch.elastic and (least is None or most is None):
        sources.append("the launcher's command line")
        if least is None:
            least = _enough(launch.min_np or launch.np or 1, slots, launcher_slots)
            least = least if most is None else min(least, most)
        if most is None and launch.max_np is not None:
            most = (launch.max_np - launcher_slots) // slots
    if not sources:
        return None
    least = least or 1
    return Bounds(least, None if most is None else max(most, least), " and ".join(sources))


def _slots(own: MPI) -> tuple[int, int]:
    """Slots of a worker, and of the launcher as far as it is a host."""
    slots = max(own.slots_per_worker, 1)
    return slots, slots if own.launcher_is_host else 0


def _enough(processes: int, slots: int, launcher_slots: int) -> int:
    return max(-(-(processes - launcher_slots) // slots), 1)
