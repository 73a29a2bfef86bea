# SPDX-License-Identifier: Apache-2.0
"""The operator's Prometheus metrics: those of mpi-operator and of training-operator, and our own for every kind.

Counters count written statuses, not observations: a job is counted as created when its Created condition is written, so
a restarted operator counts no job twice. Only deletions are counted as the leader observes them. Gauges are read off
the caches when they are scraped, so they need no bookkeeping.

    metrics.follow("MPIJob", jobs=figures_of_all, waiting=lambda: len(queue))
    metrics.told("MPIJob", key, before, after)     after every status that was written
    metrics.reconciled("MPIJob", seconds, OK)      after every reconcile
    metrics.forgotten("MPIJob", key)               when the job is gone
    metrics.deleted("MPIJob", "namespace")         when a job that was accepted was observed to be deleted
"""

from __future__ import annotations

import time
from collections import Counter as Tally
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
)
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from springtide.api.kinds import conditions as types
from springtide.api.kinds.conditions import holds
from springtide.api.kinds.status import JobStatus
from springtide.jobs.kind import Kind
from springtide.jobs.registry import SERVED
from springtide.jobs.reporting.state_name import StateName
from springtide.kube.resources import Key

OK: Final = "ok"
RETRY: Final = "retry"
ERROR: Final = "error"
"""The possible outcomes of a reconcile."""

_UPSTREAM: Final = {each.kind: each.metrics for each in SERVED if each.metrics}
"""Kinds with an upstream operator, whose metrics users' dashboards show, and the prefix of those metrics."""
_COUNTED: Final = {types.CREATED: "created", types.SUCCEEDED: "successful", types.FAILED: "failed"}
_FRAMEWORKS: Final = {each.kind: each.framework for each in SERVED if each.framework}
"""Kinds that training-operator knows, and what its metrics call them."""
_OF_FRAMEWORKS: Final = _COUNTED | {types.RESTARTING: "restarted"}
_TRAINING: Final = frozenset({StateName.RUNNING, StateName.SCALING_OUT, StateName.SCALING_IN})
_RECONCILE_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_RESIZE_SECONDS: Final = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0)


class Figures(NamedTuple):
    """The values of one job that gauges use."""

    namespace: str
    launcher: str
    """The name of its launcher object; empty while there is none."""
    state: str
    ready: int
    wanted: int


def figures(kind: Kind, metadata: Mapping[str, Any], status: Any) -> Figures:
    """The values of a cached job. Its status may have been written by any client; invalid values must not affect other
    jobs."""
    said = status if isinstance(status, Mapping) else {}
    exists = kind.launcher_role() in (said.get("replicaStatuses") or ())
    launcher = kind.launcher_name(metadata["name"]) if exists else ""
    return Figures(metadata["namespace"], launcher, str(said.get("state", "")), *_sizes(str(said.get("workers", ""))))


def is_accepted(status: Any) -> bool:
    """Whether the operator has written that the job is created."""
    conditions = status.get("conditions") if isinstance(status, Mapping) else None
    return isinstance(conditions, Sequence) and any(
        isinstance(each, Mapping) and each.get("type") == types.CREATED for each in conditions
    )


Jobs = Callable[[], Iterable[Figures]]


class Metrics:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        # A global setting of the library; without it there would be `mpi_operator_jobs_created_created`.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self._clock = clock
        self._registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        self._caches = _Caches()
        registry.register(self._caches)
        self._counted = {
            (kind, type_): Counter(f"{prefix}_jobs_{word}", f"{kind}s that were {word}", registry=registry)
            for kind, prefix in _UPSTREAM.items()
            for type_, word in _COUNTED.items()
        }
        self._of_frameworks = {
            word: Counter(
                f"training_operator_jobs_{word}",
                f"Jobs that were {word}",
                ["job_namespace", "framework"],
                registry=registry,
            )
            for word in (*_OF_FRAMEWORKS.values(), "deleted")
        }
        self._leading = False
        self._leads = Gauge("mpi_operator_is_leader", "Whether this operator is the leader", registry=registry)
        self._reconciles = Counter(
            "springtide_reconciles", "Reconciles by outcome", ["kind", "outcome"], registry=registry
        )
        self._seconds = Histogram(
            "springtide_reconcile_seconds",
            "Duration of a reconcile",
            ["kind"],
            buckets=_RECONCILE_SECONDS,
            registry=registry,
        )
        self._requests = Counter(
            "springtide_api_requests", "Requests to the API server", ["verb", "code"], registry=registry
        )
        self._resizes = Counter(
            "springtide_resizes", "Changes of the number of workers wanted", ["kind", "direction"], registry=registry
        )
        self._resize_seconds = Histogram(
            "springtide_resize_seconds",
            "Seconds from a new size until all its workers are ready and listed",
            ["kind", "direction"],
            buckets=_RESIZE_SECONDS,
            registry=registry,
        )
        self._resizing: dict[tuple[str, Key], tuple[str, float]] = {}
        """Direction and start of resizes. Lost on a restart: a resize that outlives the process is counted but not
        timed."""

    def follow(self, kind: str, jobs: Jobs, waiting: Callable[[], int]) -> None:
        """`jobs` yields all cached jobs of the kind, `waiting` the length of the work queue."""
        self._caches.sources[kind] = (jobs, waiting)

    def told(self, kind: str, key: Key, old: JobStatus, new: JobStatus) -> None:
        """A status was written that replaces the old one. Not to be called if the write was rejected."""
        for type_, word in _OF_FRAMEWORKS.items():
            if holds(new.conditions, type_) and not holds(old.conditions, type_):
                counter = self._counted.get((kind, type_))
                if counter is not None:
                    counter.inc()
                self._count(kind, key.namespace, word)
        self._told_size(kind, key, old, new)

    def _count(self, kind: str, namespace: str, word: str) -> None:
        if framework := _FRAMEWORKS.get(kind):
            self._of_frameworks[word].labels(namespace, framework).inc()

    def deleted(self, kind: str, namespace: str) -> None:
        if self._leading:  # every operator observes it
            self._count(kind, namespace, "deleted")

    def _told_size(self, kind: str, key: Key, old: JobStatus, new: JobStatus) -> None:
        before, (ready, wanted) = _sizes(old.workers)[1], _sizes(new.workers)
        if old.workers and wanted != before:
            direction = "out" if wanted > before else "in"
            self._resizes.labels(kind, direction).inc()
            self._resizing[kind, key] = (direction, self._clock())
        if new.state not in _TRAINING:
            self.forgotten(kind, key)  # it waits for something other than its size
        elif new.state == StateName.RUNNING and ready == wanted and (kind, key) in self._resizing:
            direction, since = self._resizing.pop((kind, key))
            self._resize_seconds.labels(kind, direction).observe(self._clock() - since)

    def forgotten(self, kind: str, key: Key) -> None:
        self._resizing.pop((kind, key), None)

    def reconciled(self, kind: str, seconds: float, outcome: str) -> None:
        self._reconciles.labels(kind, outcome).inc()
        self._seconds.labels(kind).observe(seconds)

    def requested(self, verb: str, code: str) -> None:
        self._requests.labels(verb, code).inc()

    def leads(self, leading: bool) -> None:
        self._leading = leading
        self._leads.set(leading)

    def text(self, accept: str = "") -> tuple[bytes, str]:
        """All metrics and their media type: the newest Prometheus format that the client accepts."""
        encode, media_type = choose_encoder(accept)
        return encode(self._registry), media_type


def _sizes(workers: str) -> tuple[int, int]:
    """Ready and wanted workers, of `3/4`."""
    ready, _, wanted = workers.partition("/")
    return (int(ready), int(wanted)) if ready.isdigit() and wanted.isdigit() else (0, 0)


class _Caches(Collector):
    """Gauges that are read off the caches when they are scraped."""

    def __init__(self) -> None:
        self.sources: dict[str, tuple[Jobs, Callable[[], int]]] = {}

    def collect(self) -> Iterator[Metric]:
        waiting = GaugeMetricFamily("springtide_queue_depth", "Jobs in the work queue", labels=["kind"])
        states = GaugeMetricFamily("springtide_jobs", "Jobs by their state", labels=["kind", "state"])
        ready = GaugeMetricFamily("springtide_workers_ready", "Workers that are ready", labels=["kind"])
        wanted = GaugeMetricFamily("springtide_workers_wanted", "Workers that are wanted", labels=["kind"])
        info: dict[str, GaugeMetricFamily] = {}
        for kind, (jobs, depth) in self.sources.items():
            found = list(jobs())
            waiting.add_metric([kind], depth())
            ready.add_metric([kind], sum(job.ready for job in found if _counts(job)))
            wanted.add_metric([kind], sum(job.wanted for job in found if _counts(job)))
            for state, count in sorted(Tally(job.state for job in found).items()):
                states.add_metric([kind, state], count)
            if prefix := _UPSTREAM.get(kind):
                info[kind] = _info(prefix, found)
        yield from (waiting, states, ready, wanted, *info.values())


def _counts(job: Figures) -> bool:
    """A job that has finished or is suspended wants no workers, whatever its spec."""
    return job.state not in (StateName.SUCCEEDED, StateName.FAILED, StateName.SUSPENDED)


def _info(prefix: str, jobs: Iterable[Figures]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"{prefix}_job_info", "Jobs that have a launcher", labels=["launcher", "namespace"])
    for job in jobs:
        if job.launcher:
            family.add_metric([job.launcher, job.namespace], 1)
    return family
