# SPDX-License-Identifier: Apache-2.0
"""Within which sizes a job may run.

`elasticPolicy` says it in workers. What it leaves open is read from the launcher's command line, which counts slots:
with S slots a worker, `--min-np` needs ceil(min/S) workers and `--max-np` has use for floor(max/S). Slots of a launcher
that is a host itself are subtracted first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from springtide.api.command_lines import HOROVODRUN, Launch
from springtide.api.kinds.elastic_policy import ElasticPolicy


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


class Slots(NamedTuple):
    """How many processes are started where."""

    of_worker: int
    of_launcher: int = 0
    """Only of a launcher that is a host itself."""


ONE_SLOT: Final = Slots(1)


def limit_advice(size: int, limits: Bounds | None) -> str:
    """What to do about a job that is to have more workers than the operator runs for one job."""
    needed = f", and {limits.source} asks for at least {limits.min}" if limits and limits.min == size else ""
    return f"the operator runs no larger jobs{needed}; ask for fewer workers, or raise its --max-workers-per-job"


def start_size(launch: Launch | None, slots: Slots) -> StartSize | None:
    """tiderun starts with the slots of `--min-np`. horovodrun waits for those of `-np`, and for two hosts where it has
    to find out by itself which network interface they share. None: a launcher that is not elastic starts with all its
    workers."""
    if launch is None or not launch.elastic:
        return None
    np_first = launch.program == HOROVODRUN
    option, processes = _needed(launch, np_first)
    by_slots = _enough(processes, slots)
    probes = np_first and not launch.names_interface
    by_hosts = (2 if probes else 1) - (1 if slots.of_launcher else 0)
    if by_hosts > by_slots:
        why = "horovodrun needs two hosts to find out which network interface they share"
        return StartSize(by_hosts, why, "name the interface with --network-interface")
    why = f"{launch.program} {option} {processes} waits for {processes} slots, and a worker has {slots.of_worker}"
    other = ", or use tiderun, which starts with --min-np" if np_first else ""
    return StartSize(by_slots, why, f"lower {option}{other}")


def _needed(launch: Launch, np_first: bool) -> tuple[str, int]:
    """The option that says how many slots the program waits for."""
    given = (("-np", launch.np), ("--min-np", launch.min_np))
    found = ((option, count) for option, count in (given if np_first else reversed(given)) if count is not None)
    return next(found, ("-np", 1))


def decided(policy: ElasticPolicy | None, launch: Launch | None = None, slots: Slots = ONE_SLOT) -> Bounds | None:
    """None for a job that says nothing about being elastic. Where policy and command line contradict each other, or no
    number of workers fits, the policy stands, and then the minimum."""
    policy = policy or ElasticPolicy()
    least, most = policy.min_replicas, policy.max_replicas
    sources = ["spec.elasticPolicy"] if least is not None or most is not None else []
    if launch is not None and launch.elastic and (least is None or most is None):
        sources.append("the launcher's command line")
        if least is None:
            least = _enough(launch.min_np or launch.np or 1, slots)
            least = least if most is None else min(least, most)
        if most is None and launch.max_np is not None:
            most = (launch.max_np - slots.of_launcher) // slots.of_worker
    if not sources:
        return None
    least = least or 1
    return Bounds(least, None if most is None else max(most, least), " and ".join(sources))


def _enough(processes: int, slots: Slots) -> int:
    return max(-(-(processes - slots.of_launcher) // slots.of_worker), 1)
