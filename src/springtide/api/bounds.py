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


def of_mpi(job: Job[MPI]) -> Bounds | None:
    """Of a job that says nothing about being elastic there are none."""
    launch = launch_of(job.roles[LAUNCHER].template)
    return decided(job.elastic or ElasticPolicy(), launch, *_slots(job.own))


def start_size_of_mpi(job: Job[MPI]) -> int | None:
    """The fewest workers an elastic launcher can start with: `-np` slots, and two hosts where horovodrun has to find
    out by itself which network interface they share. One that is not elastic starts with all of them: None."""
    launch = launch_of(job.roles[LAUNCHER].template)
    if launch is None or not launch.elastic:
        return None
    slots, launchers = _slots(job.own)
    probes = launch.program == HOROVODRUN and not launch.names_interface
    hosts = (2 if probes else 1) - (1 if job.own.launcher_is_host else 0)
    return max(_enough(launch.np or launch.min_np or 1, slots, launchers), hosts, 1)


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
