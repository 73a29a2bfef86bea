# SPDX-License-Identifier: Apache-2.0
"""What the engine asks of a kind. An adapter answers from the job alone; it never sees what exists.

Everything that differs between kinds, and between versions of a kind, is an answer here: the engine has no branch
on the kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from springtide.api.bounds import Bounds
from springtide.api.job import Job
from springtide.api.kinds.mpi_modes import LauncherForm
from springtide.jobs.actions import Event, Secrets
from springtide.jobs.observed import Settings


@dataclass(frozen=True, slots=True)
class Shape:
    """How a job is built, read off its spec."""

    workers: str
    """The role that can be resized."""
    launcher: str
    form: LauncherForm
    launcher_name: str
    config_name: str
    """The ConfigMap with the host list and the ledger."""
    bounds: Bounds | None
    start_size: int | None
    """The fewest workers the launcher can start with; None: all of them."""
    elastic: bool
    """The launcher follows its host list while it runs."""
    settles: bool
    """Newcomers are held back for a while after the launcher's start."""
    waits_for_workers: bool
    """The launcher is created only when all workers are ready."""


@dataclass(frozen=True, slots=True)
class Hosts:
    """The host list as it is to be."""

    wanted: tuple[str, ...]
    """Workers the job has or is about to have, in order of their indices."""
    listed: tuple[str, ...]
    """Those that are ready for ranks."""
    reachable: tuple[str, ...]
    """All the launcher must be allowed to reach."""
    serves: str
    """The launcher pod the list is for."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """An object a job wants beside its pods."""

    manifest: Mapping[str, Any]
    secrets: Secrets | None = None
    kept: tuple[str, ...] = ()
    """Top-level fields that are put right when they differ; none: only that it exists counts."""


class Kind(Protocol):
    def shape(self, job: Job[Any]) -> Shape: ...

    def worker_name(self, job: Job[Any], index: int) -> str: ...

    def config(self, job: Job[Any], hosts: Hosts, settings: Settings) -> Mapping[str, str]:
        """The files of the config object."""
        ...

    def wiring(self, job: Job[Any], hosts: Hosts) -> tuple[Wanted, ...]:
        """Objects that must exist before any pod, in order."""
        ...

    def worker(self, job: Job[Any], index: int, settings: Settings) -> Mapping[str, Any]: ...

    def launcher(self, job: Job[Any], settings: Settings) -> Mapping[str, Any]: ...

    def warnings(self, job: Job[Any]) -> tuple[Event, ...]:
        """What the user should know when the launcher is created."""
        ...

    def selector(self, job: Job[Any]) -> Mapping[str, str]:
        """Labels of the workers."""
        ...
