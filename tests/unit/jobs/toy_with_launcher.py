# SPDX-License-Identifier: Apache-2.0
"""A kind with a launcher, hosts and a Service per worker, whose shape has any of the engine's options.

It is MPIJob's adapter with another shape: a host list needs files that the simulated cluster can read.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

from tests.unit.api.builders import an_mpijob
from tests.unit.jobs.builders import ELASTIC
from tests.unit.jobs.simulated import START, Cluster

from springtide.api.bounds import StartSize
from springtide.api.defaults.mpijob import MPI
from springtide.api.job import Job
from springtide.jobs.kind import Hosts, MaxWait, Shape, Sizes, Wanted
from springtide.jobs.kinds.mpi.adapter import MPIKind
from springtide.jobs.objects import place
from springtide.jobs.parts import services

MARK: Final = "example.org/job-status"
REASONS: Final = {"WorkerReplaced": "ToyWorkerFailed", "WorkerCreated": "ToyWorkerCreated"}


class _Services:
    def services(self, job: Job[MPI], hosts: Hosts) -> tuple[Wanted, ...]:
        return tuple(
            services.headless(job, each.name, place(job, each.role, each.index), place(job, each.role, each.index))
            for each in hosts.members
        )


class _Sizes:
    def __init__(self, start: int | None) -> None:
        self._start = StartSize(start, "that many are needed", "ask for more") if start is not None else None

    def sizes(self, job: Job[MPI]) -> Sizes:
        found = MPIKind.resizable.sizes(job)
        return replace(found, start_size=self._start, settles=False)


class ToyWithLauncher(MPIKind):
    services = _Services()  # type: ignore[assignment]

    def __init__(self, start: int | None, **options: Any) -> None:
        self.resizable = _Sizes(start)  # type: ignore[assignment]
        self._options = options

    def shape(self, job: Job[MPI]) -> Shape:
        return replace(super().shape(job), **self._options)

    def event_reason(self, reason: str) -> str:
        return REASONS.get(reason, reason)


def a_toy_with_launcher(workers: int = 3, start: int | None = None, retries: int = 0, **options: Any) -> Cluster:
    """Submitted, nothing done yet; `options` are those of the shape."""
    raw = an_mpijob("v1", workers=workers, command=ELASTIC)
    raw["metadata"] |= {"creationTimestamp": START.isoformat(), "annotations": {}}
    raw["spec"]["runPolicy"] = {"cleanPodPolicy": "Running", "backoffLimit": retries}
    options = {"waits_for_workers": True, "keeps_launcher": True, **options}
    return Cluster(raw, kind=ToyWithLauncher(start, **options))


def waiting(seconds: int = 600) -> MaxWait:
    return MaxWait(timedelta(seconds=seconds), "max-wait-time", {MARK: "timeout"})


def service_names(cluster: Cluster) -> list[str]:
    return sorted(key.name for key in cluster.objects if key.kind == "Service")
