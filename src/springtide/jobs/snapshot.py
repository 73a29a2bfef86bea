# SPDX-License-Identifier: Apache-2.0
"""What is observed of a job, read once: the properties that all policies use."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from itertools import islice
from typing import Any, Final

from springtide.api.job import Job
from springtide.api.names import label_complaints
from springtide.jobs import ledger as ledgers
from springtide.jobs.kind import ONE_SIZE, Kind, Replica, Shape, Sizes
from springtide.jobs.launchers.form import LauncherForm
from springtide.jobs.ledger import Ledger
from springtide.jobs.observed import RUNNING, Held, Key, Observed, Pod
from springtide.jobs.scaling import turns
from springtide.jobs.scaling.scaler import Scaler
from springtide.jobs.times import LONG_AGO

PREFIX: Final = "springtide.dev/"
_LONGEST: Final = timedelta(days=365)
"""Longer waits count as forever; users may write more than `datetime` can represent."""
_NAMED: Final = 10
_DIGITS: Final = len(str(int(_LONGEST.total_seconds())))


@dataclass(frozen=True)
class Snapshot:
    """Without slots, so that sizes and replicas, which a plan reads dozens of times, are derived once."""

    observed: Observed
    kind: Kind
    shape: Shape
    sizes: Sizes
    ledger: Ledger
    now: datetime
    workers: Mapping[int, Pod]
    launcher: Pod | None
    """The launcher's pod; of several, the one that is alive."""
    kept_size: int = 0
    """The observed number of workers, which the job keeps while it asks for more than the operator allows."""
    scaler: Scaler | None = None
    """The scaler in progress. Until it has ended its size takes the place of that in the spec."""

    @property
    def job(self) -> Job[Any]:
        return self.observed.job

    @property
    def form(self) -> LauncherForm:
        return self.shape.form

    @property
    def title(self) -> str:
        """The job's name in conditions."""
        return f"{self.job.kind} {self.job.metadata.namespace}/{self.job.metadata.name}"

    @property
    def config_key(self) -> Key:
        return Key("v1", "ConfigMap", self.shape.config_name)

    @property
    def config(self) -> Held | None:
        return self.observed.objects.get(self.config_key)

    @cached_property
    def asked_size(self) -> int:
        """The size in the spec, or that of the scaler in progress, within the bounds."""
        role = self.job.roles.get(self.shape.workers)
        asked = turns.size(self.scaler) if self.scaler is not None else role.replicas if role else 0
        return self.sizes.bounds.nearest(asked) if self.sizes.bounds and role else asked

    @property
    def too_large(self) -> bool:
        """Whether a role asks for more replicas than the operator's limit. No code may iterate over so many."""
        return self.oversized is not None

    @cached_property
    def oversized(self) -> tuple[str, int] | None:
        """The first role that asks for more replicas than the operator's limit, and their number."""
        others = (role for role in self.shape.fixed if role != self.shape.workers and role in self.job.roles)
        sizes = ((role, self._size(role, self.job.roles[role].replicas)) for role in others)
        asked = ((self.shape.workers, self.asked_size), *sizes)
        return next((each for each in asked if each[1] > self.observed.settings.max_workers), None)

    @cached_property
    def too_long(self) -> str:
        """Why no replica could be started with the variables that it needs; read before the first one is created."""
        started = bool(self.ledger.sizes) or not self.shape.fixed
        return "" if started or self.too_large else self.kind.too_long(self.sized_job, self.observed.settings)

    @cached_property
    def wanted_size(self) -> int:
        return self.kept_size if self.too_large else self._size(self.shape.workers, self.asked_size)

    @cached_property
    def named_victims(self) -> frozenset[str]:
        """Names of the workers that the scaler in progress removes."""
        scaler = self.scaler
        return frozenset(scaler.status.to_delete_pods) if scaler is not None and not scaler.adds else frozenset()

    @property
    def needed_size(self) -> int:
        """The fewest ready workers that a launcher is started with."""
        waits = self.shape.waits_for_workers and not self.shape.starts_early
        return self.wanted_size if self.sizes.start_size is None or waits else self.sizes.start_size.workers

    @cached_property
    def members(self) -> tuple[int, ...]:
        """Indices of the workers the job has or is about to have."""
        return tuple(range(self.wanted_size)) if self.shape.keeps_names else self.ledger.members

    @cached_property
    def fixed(self) -> tuple[Replica, ...]:
        """Replicas that keep their names, of all roles."""
        return tuple(
            Replica(role, index, self.kind.pod_name(self.job, role, index))
            for role in self.shape.fixed
            for index in range(self._size_of(role))
        )

    @cached_property
    def leaving(self) -> tuple[Replica, ...]:
        """Replicas outside the job's size whose pods still exist."""
        places = {each.name for each in self.fixed}
        pods = (pod for role in self.shape.fixed for pod in self.observed.of(role) if pod.name not in places)
        return tuple(Replica(pod.role, pod.index, pod.name) for pod in pods if pod.index is not None)

    @cached_property
    def asked_sizes(self) -> dict[str, int]:
        """The sizes of the roles whose replicas keep their names, as the spec has them."""
        asked = {role: self.job.roles[role].replicas for role in self.shape.fixed if role in self.job.roles}
        return asked | ({self.shape.workers: self.asked_size} if self.shape.workers in asked else {})

    def _size_of(self, role: str) -> int:
        if role not in self.job.roles:
            return 0  # without a template no pod can be created
        if role == self.shape.workers:
            return self.wanted_size
        asked = self._size(role, self.job.roles[role].replicas)
        return asked if asked <= self.observed.settings.max_workers else len(self.observed.of(role))

    def _size(self, role: str, asked: int) -> int:
        """Replicas know each other by number, so a running job keeps the sizes that it started with, unless its workers
        cope with another number of them."""
        follows = self.sizes.elastic and role == self.shape.workers
        return asked if follows or role not in self.shape.fixed else self.ledger.sizes.get(role, asked)

    @cached_property
    def sized_job(self) -> Job[Any]:
        """The job with the sizes that it really has, which new pods are told."""
        roles = {
            name: replace(role, replicas=self._size_of(name)) if name in self.shape.fixed else role
            for name, role in self.job.roles.items()
        }
        return replace(self.job, roles=roles)

    @property
    def replicas(self) -> tuple[Pod, ...]:
        """All pods but the launcher's."""
        return tuple(pod for pod in self.observed.pods if pod.role != self.shape.launcher)

    @property
    def launcher_lives(self) -> bool:
        return self.launcher is not None and self.launcher.alive

    @property
    def launcher_runs(self) -> bool:
        """The launcher's program runs: its init containers have finished."""
        return self.launcher is not None and self.launcher.alive and self.launcher.phase == RUNNING

    @property
    def reporter(self) -> Pod | None:
        """The launcher whose report counts: the one that is alive, otherwise the one that ended last."""
        ended = [pod for pod in self.observed.of(self.shape.launcher) if pod.ended]
        return self.launcher or max(ended, key=lambda pod: pod.created or LONG_AGO, default=None)

    @property
    def runs(self) -> bool:
        """Whether the launcher, or a replica that determines how the job ends, runs."""
        if self.shape.success is None:
            return self.launcher_runs
        return any(pod.alive and pod.phase == RUNNING for pod in self.observed.of(self.shape.success.role))

    def worker_name(self, index: int) -> str:
        return self.kind.pod_name(self.job, self.shape.workers, index)

    def worker_names(self, indices: Collection[int]) -> str:
        """The workers' names as text; only the first ones of many, because the text has to fit into an event."""
        names = [self.worker_name(index) for index in islice(indices, _NAMED)]
        more = len(indices) - len(names)
        return ", ".join(names) + (f" and {more} more" if more > 0 else "")

    def nameable(self, index: int) -> bool:
        """Whether the name is a valid host name: indices, and so names, grow with every replacement."""
        return not label_complaints(self.worker_name(index))

    def with_ledger(self, ledger: Ledger) -> Snapshot:
        same = ledger is self.ledger or ledger == self.ledger  # mostly the very same, and the comparison is slow
        return self if same else replace(self, ledger=ledger)

    def with_scalers(self, scalers: tuple[Scaler, ...]) -> Snapshot:
        """With other statuses of the scalers."""
        observed = replace(self.observed, scalers=scalers)
        return replace(self, observed=observed, scaler=_scaler(observed, self.ledger))

    def since(self, moment: datetime | None) -> timedelta:
        return self.now - moment if moment else timedelta.max

    def seconds(self, name: str, default: int) -> timedelta:
        """A waiting time that the user may set by an annotation of the job; an invalid value is ignored."""
        given = self.job.metadata.annotations.get(PREFIX + name, "")
        if not is_seconds(given):
            return timedelta(seconds=default)
        digits = given.lstrip("0")
        return timedelta(seconds=int(digits or "0")) if len(digits) < _DIGITS else _LONGEST


def is_seconds(given: str) -> bool:
    return given.isascii() and given.isdigit()


def read(observed: Observed, kind: Kind, now: datetime) -> Snapshot:
    shape = kind.shape(observed.job)
    workers = {pod.index: pod for pod in observed.of(shape.workers) if pod.index is not None}
    launcher = shape.form.pod(observed, shape.launcher, shape.launcher_name)
    config = observed.objects.get(Key("v1", "ConfigMap", shape.config_name))
    if config is None:
        kept = Ledger() if shape.keeps_names else ledgers.recovered(workers.values(), launcher)
    else:
        kept = ledgers.read(config.annotations, workers.values())
    if kept.sizes:
        kept = replace(kept, sizes=_believed(kept.sizes, observed))
    scaler = _scaler(observed, kept)
    if config is None and scaler is not None and scaler.adds:
        names = {index: kind.pod_name(observed.job, shape.workers, index) for index in kept.members}
        added = set(scaler.status.add_pods)
        kept = ledgers.joining(kept, [index for index, name in names.items() if name in added], scaler.uid)
    size = kept.sizes.get(shape.workers, len(workers)) if shape.keeps_names else len(kept.members)
    sizes = kind.resizable.sizes(observed.job) if kind.resizable is not None else ONE_SIZE
    return Snapshot(observed, kind, shape, sizes, kept, now, workers, launcher, size, scaler)


def _scaler(observed: Observed, ledger: Ledger) -> Scaler | None:
    return turns.current(observed.scalers, (ledger.joining_for, ledger.scaled))


def _believed(sizes: Mapping[str, int], observed: Observed) -> dict[str, int]:
    """Without sizes that the operator cannot have written: other clients can write to the ledger, and a size is
    iterated over. A job may have more pods than the limit allows if the limit was lowered."""
    most = observed.settings.max_workers
    return {role: size for role, size in sizes.items() if size <= most or size <= len(observed.of(role))}
