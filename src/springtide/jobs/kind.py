# SPDX-License-Identifier: Apache-2.0
"""The interface between the engine and a kind. An adapter answers from the job alone; it never reads what exists.

All differences between kinds, and between versions of a kind, are behind this interface: the engine does not branch on
the kind. A kind may have a launcher that gets a host list, roles whose pods keep their names, or both.

Every kind implements the abstract methods of `Kind`. What only some kinds can do is an ability: an object of its own,
None in a kind that lacks it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Final, Protocol

from springtide.api.bounds import Bounds, StartSize
from springtide.api.job import Job
from springtide.api.kinds.replicas import RestartPolicy
from springtide.api.kinds.status import JobStatus
from springtide.jobs.actions import Event, Secrets
from springtide.jobs.launchers.form import NO_LAUNCHER, LauncherForm
from springtide.jobs.observed import Exit, Settings

if TYPE_CHECKING:
    from springtide.jobs.snapshot import Snapshot


class Of(Enum):
    """Which replicas of a role."""

    FIRST = auto()
    ALL = auto()
    ANY = auto()


@dataclass(frozen=True, slots=True)
class Success:
    """The replicas whose success is the job's, in a kind without a launcher."""

    role: str
    of: Of


@dataclass(frozen=True, slots=True)
class MaxWait:
    """How long a job may wait until its launcher runs for the first time."""

    time: timedelta
    source: str
    """Where users set it."""
    marks: Mapping[str, str]
    """Annotations that a job gets that has waited longer, before it fails."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How a job is built, derived from its spec."""

    workers: str
    """The role that can be resized."""
    config_name: str
    """The ConfigMap with the host list and the ledger."""
    launcher: str = ""
    """The role whose end is the end of the job; empty where there is none."""
    form: LauncherForm = NO_LAUNCHER
    launcher_name: str = ""
    fixed: tuple[str, ...] = ()
    """Roles whose pods keep their names: replicas 0 to n-1, each created again under its own name. All that the kind
    has: pods of a role that was removed from the job are the job's, too."""
    success: Success | None = None
    expendable: tuple[str, ...] = ()
    """Roles of which a replica that is never restarted may fail without the job, as long as another one is left."""
    saves: bool = False
    """The launcher's program writes a checkpoint on SIGTERM, if it keeps any."""
    waits_for_workers: bool = False
    """The launcher is created only when all workers are ready."""
    size_field: tuple[str, ...] = ()
    """The path of the number of workers in the job as users write it, as in ("spec", "replicas"): a scaler that has
    succeeded leaves its target there. Empty in a kind without scalers."""
    slots_per_worker: int = 1
    """The ranks per worker, which scripts of scalers read."""
    starts_early: bool = False
    """Such a launcher is also created with as many workers as it can start with (`Sizes.start_size`), if no more get
    ready for a while."""
    worker_restarts: RestartPolicy | None = None
    """Which workers are replaced after they have ended or were deleted; None: all of them."""
    launcher_restarts: RestartPolicy | None = None
    """Never: the job fails if its launcher is deleted. Otherwise the launcher is created again."""
    evictions_count: bool = False
    """An evicted launcher counts against the limit of retries, like a failed one."""
    max_wait: MaxWait | None = None
    keeps_launcher: bool = False
    """Clean-up policies All and Running delete all workers, also those that have ended, and not the launcher."""

    @property
    def keeps_names(self) -> bool:
        """Whether the replacement of a worker has the same name."""
        return self.workers in self.fixed


@dataclass(frozen=True, slots=True)
class Sizes:
    """Which sizes a job may have, and how it is resized."""

    bounds: Bounds | None = None
    start_size: StartSize | None = None
    """The fewest workers the launcher can start with; None: all of them."""
    elastic: bool = False
    """The job is resized while it runs."""
    rigid: str = ""
    """Why it is not, as text for users."""
    settles: bool = False
    """New workers are held back for a while after the launcher's start."""


ONE_SIZE: Final = Sizes()
"""A kind that cannot be resized: its size is the one in the spec."""


@dataclass(frozen=True, slots=True)
class Replica:
    role: str
    index: int
    name: str


@dataclass(frozen=True, slots=True)
class Hosts:
    """The host list to be written."""

    listed: tuple[str, ...]
    """Workers that are ready for ranks, in order of their indices."""
    reachable: tuple[str, ...]
    """Pods the launcher may run commands in: each was observed to belong to the job and is not about to be deleted."""
    serves: str
    """The launcher pod the list is for; empty: for none yet."""
    launcher_seen: bool = False
    """Whether the pod with the launcher's name was observed to belong to the job and has not ended."""
    fixed: tuple[Replica, ...] = ()
    """Replicas that keep their names, of all roles."""
    leaving: tuple[Replica, ...] = ()
    """Replicas that are terminating because the job has shrunk: their names must resolve until their pods are gone."""
    members: tuple[Replica, ...] = ()
    """Workers that do not keep their names: those that have or will get a pod, and those that leave, until their pods
    are gone."""


NOBODY: Final = Hosts((), (), "")


@dataclass(frozen=True, slots=True)
class Wanted:
    """An object that a job needs beside its pods."""

    manifest: Mapping[str, Any]
    secrets: Secrets | None = None
    kept: tuple[str, ...] = ()
    """Top-level fields that are restored when they differ; empty: the object only has to exist."""
    whole: tuple[str, ...] = ()
    """Paths of mappings, such as `spec.selector`, that may have no other entries."""
    keys: tuple[str, ...] = ()
    """The names in `data` of a Secret; one with other names is created again, because its content cannot be trusted."""
    grants: bool = False
    """The object grants rights, which are withdrawn when the job has finished."""
    shared: bool = False
    """An object of this name that others made is used as it is, if it has these keys. Only for objects that grant
    nothing to those who made the job."""


class BuildsLauncher(Protocol):
    def manifest(self, job: Job[Any], settings: Settings) -> Mapping[str, Any]:
        """The pod or the batch Job, depending on the form of the launcher."""
        ...


class WiresHosts(Protocol):
    """The launcher gets a host list, and may run commands on the hosts."""

    def files(self, job: Job[Any], hosts: Hosts, settings: Settings) -> Mapping[str, str]:
        """The files of the config object."""
        ...

    def rights(self, job: Job[Any], hosts: Hosts) -> tuple[Wanted, ...]:
        """The objects that allow the launcher to reach these hosts."""
        ...


class HasServices(Protocol):
    def services(self, job: Job[Any], hosts: Hosts) -> tuple[Wanted, ...]: ...


class HasSecrets(Protocol):
    def secrets(self, job: Job[Any]) -> tuple[Wanted, ...]: ...


class HasObjects(Protocol):
    """Other objects, of types that the kind's definition lists in `makes`. Their `spec` and `data` are restored when
    they differ. They exist while the job runs; objects that are no longer needed are deleted."""

    def objects(self, job: Job[Any], hosts: Hosts) -> tuple[Wanted, ...]: ...


class CanBeResized(Protocol):
    def sizes(self, job: Job[Any]) -> Sizes: ...


class Kind(ABC):
    launching: BuildsLauncher | None = None
    hosts: WiresHosts | None = None
    services: HasServices | None = None
    secrets: HasSecrets | None = None
    objects: HasObjects | None = None
    resizable: CanBeResized | None = None

    @abstractmethod
    def shape(self, job: Job[Any]) -> Shape: ...

    @abstractmethod
    def pod_name(self, job: Job[Any], role: str, index: int) -> str: ...

    @abstractmethod
    def pod(self, job: Job[Any], role: str, index: int, settings: Settings) -> Mapping[str, Any]:
        """A pod of any role except the launcher's."""

    @abstractmethod
    def selector(self, job: Job[Any]) -> Mapping[str, str]:
        """The labels of the workers."""

    def launcher_role(self) -> str:
        """`Shape.launcher` of all jobs of this kind; empty in a kind without a launcher."""
        return ""

    def launcher_name(self, job: str) -> str:
        """`Shape.launcher_name` of a job of this name; empty in a kind without a launcher. Metrics need it for
        thousands of jobs at once, without reading their specs."""
        return ""

    def scaler_label(self) -> str:
        """The label of workers that a scaler has added, whose value is the scaler's name; empty in a kind without
        scalers."""
        return ""

    def warnings(self, job: Job[Any]) -> tuple[Event, ...]:
        """Warnings for the user, recorded when the first pods are created."""
        return ()

    def too_long(self, job: Job[Any], settings: Settings) -> str:
        """Why replicas of this job cannot be started: a variable is longer than Linux passes to a program. Empty if
        none is."""
        return ""

    def is_quiet(self, condition: str) -> bool:
        """Whether conditions of this type are set without an event."""
        return False

    def event_reason(self, reason: str) -> str:
        """The name that clients of the kind's former operator know an event by; `reason` is ours."""
        return reason

    def status(self, snapshot: Snapshot, status: JobStatus) -> JobStatus:
        """The status with the fields that only this kind has; `snapshot` is the job as it will be after its plan."""
        return status

    def advice(self, job: Job[Any], ended: Exit) -> str:
        """What a user can do about a launcher, or a replica without one, that ended this way; empty if unknown."""
        return ""
