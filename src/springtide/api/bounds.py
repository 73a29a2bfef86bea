# SPDX-License-Identifier: Apache-2.0
"""The bounds of a job's size.

`elasticPolicy` gives them in workers. Missing ones are read from the launcher's command line, which counts slots: with
S slots per worker, `--min-np` needs ceil(min/S) workers and `--max-np` allows floor(max/S). Slots of a launcher that is
a host itself are subtracted first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from springtide.api.command_lines import HOROVODRUN, Launch
from springtide.api.kinds.elastic_policy import ElasticPolicy


@dataclass(frozen=True, slots=True)
class Bounds:
    """A minimum of at least one worker, and an optional maximum."""

    min: int
    max: int | None
    source: str
    """Their source, as text for users."""

    def hold(self, workers: int) -> bool:
        return self.nearest(workers) == workers

    def nearest(self, workers: int) -> int:
        """The size within the bounds that is nearest to the requested one."""
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
    """The alternative to requesting more workers."""

    def refusal(self, asked: int) -> str:
        """Why the launcher cannot start with so many workers, and what to do."""
        workers = "1 worker is" if asked == 1 else f"{asked} workers are"
        return (
            f"{workers} requested, but the launcher cannot start with fewer than {self.workers}: {self.why}; "
            f"ask for {self.workers} workers or {self.remedy}"
        )


class Slots(NamedTuple):
    """The number of processes per host."""

    of_worker: int
    of_launcher: int = 0
    """Not 0 only if the launcher is a host itself."""


ONE_SLOT: Final = Slots(1)


def limit_advice(size: int, limits: Bounds | None) -> str:
    """What to do about a job with more workers than the operator's limit."""
    needed = f", and {limits.source} asks for at least {limits.min}" if limits and limits.min == size else ""
    return f"the operator runs no larger jobs{needed}; ask for fewer workers, or raise its --max-workers-per-job"


def start_size(launch: Launch | None, slots: Slots) -> StartSize | None:
    """The fewest workers for a start. tiderun needs the slots of `--min-np`. horovodrun needs those of `-np`, and two
    hosts if it has to detect their common network interface. None: a launcher that is not elastic needs all its
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
    """The option with the number of slots that the program waits for."""
    given = (("-np", launch.np), ("--min-np", launch.min_np))
    found = ((option, count) for option, count in (given if np_first else reversed(given)) if count is not None)
    return next(found, ("-np", 1))


def decided(policy: ElasticPolicy | None, launch: Launch | None = None, slots: Slots = ONE_SLOT) -> Bounds | None:
    """None for a job without bounds. If policy and command line contradict each other, or no number of workers fits,
    the policy takes precedence, and then the minimum."""
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
