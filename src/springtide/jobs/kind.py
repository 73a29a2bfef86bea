# SPDX-License-Identifier: Apache-2.0
"""What the engine asks of a kind. An adapter answers from the job alone; it never sees what exists.

Everything that differs between kinds, and between versions of a kind, is an answer here: the engine has no branch
on the kind. A kind may have a launcher that is given hosts, roles whose pods keep their names, or both.

Every kind answers the abstract methods of `Kind`. What only some kinds can do is an ability: an object of its own, and
None in a kind that lacks it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final, Protocol

from springtide.api.bounds import Bounds, StartSize
from springtide.api.job import Job
from springtide.jobs.actions import Event, Secrets
from springtide.jobs.launchers.form import NO_LAUNCHER, LauncherForm
from springtide.jobs.observed import Exit, Settings


class Of(Enum):
    """Which replicas of a role."""

    FIRST = auto()
    ALL = auto()
    ANY = auto()


@dataclass(frozen=True, slots=True)
class Success:
    """Whose success is the job's, where there is no launcher."""

    role: str
    of: Of


@dataclass(frozen=True, slots=True)
class Shape:
    """How a job is built, read off its spec."""

    workers: str
    """The role that can be resized."""
    config_name: str
    """The ConfigMap with the host list and the ledger."""
    launcher: str = ""
    """The role whose end is the end of the job; empty where there is none."""
    form: LauncherForm = NO_LAUNCHER
    launcher_name: str = ""
    fixed: tuple[str, ...] = ()
    """Roles whose pods keep their names: replicas 0 to n-1, each made again in its own place."""
    success: Success | None = None
    saves: bool = False
    """The launcher's program writes a checkpoint, where it keeps any, when it is told to end."""
    waits_for_workers: bool = False
    """The launcher is created only when all workers are ready."""

    @property
    def keeps_names(self) -> bool:
        """Whether a worker that is replaced has the name of the one before it."""
        return self.workers in self.fixed


@dataclass(frozen=True, slots=True)
class Sizes:
    """Which sizes a job may have, and how it gets from one to another."""

    bounds: Bounds | None = None
    start_size: StartSize | None = None
    """The fewest workers the launcher can start with; None: all of them."""
    elastic: bool = False
    """The job follows its size while it runs."""
    rigid: str = ""
    """Why it does not, for people."""
    settles: bool = False
    """Newcomers are held back for a while after the launcher's start."""


ONE_SIZE: Final = Sizes()
"""Of a kind that cannot be resized: the size is the one that the spec asks for."""


@dataclass(frozen=True, slots=True)
class Replica:
    role: str
    index: int
    name: str


@dataclass(frozen=True, slots=True)
class Hosts:
    """The host list as it is to be."""

    listed: tuple[str, ...]
    """Workers that are ready for ranks, in order of their indices."""
    reachable: tuple[str, ...]
    """Pods the launcher may run commands in: each was seen to be the job's own, and is not about to be deleted."""
    serves: str
    """The launcher pod the list is for; empty: it is for nobody."""
    launcher_seen: bool = False
    """Whether the pod under the launcher's name was seen to be the job's own, and has not ended."""
    fixed: tuple[Replica, ...] = ()
    """Replicas that keep their names, of all roles."""
    leaving: tuple[Replica, ...] = ()
    """Those that are told to end because the job has shrunk: they need their names until their pods are gone."""


NOBODY: Final = Hosts((), (), "")


@dataclass(frozen=True, slots=True)
class Wanted:
    """An object a job wants beside its pods."""

    manifest: Mapping[str, Any]
    secrets: Secrets | None = None
    kept: tuple[str, ...] = ()
    """Top-level fields that are put right when they differ; none: only that it exists counts."""
    whole: tuple[str, ...] = ()
    """Places of mappings, as `spec.selector`, in which nothing else may stand."""
    keys: tuple[str, ...] = ()
    """Names in `data` that secrets have; with others it is made anew, because nobody can say what they were."""
    grants: bool = False
    """It gives rights: they are taken back when the job has finished."""


class BuildsLauncher(Protocol):
    def manifest(self, job: Job[Any], settings: Settings) -> Mapping[str, Any]:
        """The pod or the batch Job, as the form of the launcher says."""
        ...


class WiresHosts(Protocol):
    """The launcher is given a host list, and may run commands on the hosts."""

    def files(self, job: Job[Any], hosts: Hosts, settings: Settings) -> Mapping[str, str]:
        """The files of the config object."""
        ...

    def rights(self, job: Job[Any], hosts: Hosts) -> tuple[Wanted, ...]:
        """What lets the launcher reach these hosts."""
        ...


class HasServices(Protocol):
    def services(self, job: Job[Any], hosts: Hosts) -> tuple[Wanted, ...]: ...


class HasSecrets(Protocol):
    def secrets(self, job: Job[Any]) -> tuple[Wanted, ...]: ...


class HasObjects(Protocol):
    """Any others, of types that the kind's definition lists in `makes`. Of such an object `spec` and `data` can be put
    right. They are wanted while the job runs; one that is not wanted any more is deleted."""

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
        """A pod of any role but the launcher's."""

    @abstractmethod
    def selector(self, job: Job[Any]) -> Mapping[str, str]:
        """Labels of the workers."""

    def launcher_name(self, job: str) -> str:
        """What `Shape.launcher_name` is in a job of this name; empty in a kind without a launcher. Metrics ask it of
        thousands of jobs at once, whose specs nobody reads for that."""
        return ""

    def warnings(self, job: Job[Any]) -> tuple[Event, ...]:
        """What the user should know when the first pods are created."""
        return ()

    def advice(self, job: Job[Any], ended: Exit) -> str:
        """What can be done about a launcher that ended so; empty where nobody knows."""
        return ""
