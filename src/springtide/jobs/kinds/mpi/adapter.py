# SPDX-License-Identifier: Apache-2.0
"""What the engine wants to know of an MPIJob."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from springtide.api.command_lines import HOROVODRUN, TIDERUN, Launch, launch_of
from springtide.api.defaults.mpijob import MPI, bounds_of, start_size_of
from springtide.api.job import Job
from springtide.api.kinds.attach_mode import AttachMode
from springtide.api.kinds.mpijob import LauncherCreation
from springtide.api.kinds.replicas import LAUNCHER, WORKER
from springtide.jobs.actions import Event
from springtide.jobs.kind import Hosts, Kind, Shape, Wanted
from springtide.jobs.kinds.mpi import access, advice, files, names, pods, ssh
from springtide.jobs.observed import Exit, Settings


class MPIKind:
    def shape(self, job: Job[MPI]) -> Shape:
        launch = launch_of(job.roles[LAUNCHER].template)
        # Of a program that we do not know we believe what the job says; mpirun keeps its hosts whatever is said.
        elastic = launch.elastic if launch is not None else job.elastic is not None
        return Shape(
            workers=WORKER,
            launcher=LAUNCHER,
            form=job.own.mode.launcher_form,
            launcher_name=names.launcher(job),
            config_name=names.config(job),
            bounds=bounds_of(job),
            start_size=start_size_of(job),
            elastic=elastic,
            rigid="" if elastic else _rigid(launch),
            saves=elastic and launch is not None and launch.program == TIDERUN,
            settles=elastic and launch is not None and launch.program == HOROVODRUN,
            waits_for_workers=job.own.launcher_creation is LauncherCreation.WAIT_FOR_WORKERS_READY,
        )

    def pod_name(self, job: Job[MPI], role: str, index: int) -> str:
        return names.worker(job, index)

    def config(self, job: Job[MPI], hosts: Hosts, settings: Settings) -> Mapping[str, str]:
        return files.files(job, hosts, settings)

    def wiring(self, job: Job[MPI], hosts: Hosts) -> tuple[Wanted, ...]:
        return ssh.wanted(job) if job.own.mode.attach is AttachMode.SSH else access.wanted(job, hosts)

    def pod(self, job: Job[MPI], role: str, index: int, settings: Settings) -> Mapping[str, Any]:
        return pods.worker(job, index, settings)

    def launcher(self, job: Job[MPI], settings: Settings) -> Mapping[str, Any]:
        return pods.launcher(job, settings)

    def warnings(self, job: Job[MPI]) -> tuple[Event, ...]:
        """Upstream's word on a restart policy in the wrong place; it spells the reason in two ways."""
        if not job.roles[LAUNCHER].template.get("spec", {}).get("restartPolicy"):
            return ()
        reason = f"{'Set' if job.own.mode.attach is AttachMode.SSH else 'Setted'}PodTemplateRestartPolicy"
        message = "Restart policy in pod template will be overwritten by restart policy in replica spec"
        return (Event("Warning", reason, message),)

    def advice(self, job: Job[MPI], ended: Exit) -> str:
        return advice.on(job, ended)

    def selector(self, job: Job[MPI]) -> Mapping[str, str]:
        return names.role(job, "worker")


def _rigid(launch: Launch | None) -> str:
    if launch is None:
        return "the launcher is not known to be elastic (spec.elasticPolicy declares that it is)"
    if launch.program in (HOROVODRUN, TIDERUN):
        return f"{launch.program} is not elastic without --min-np or --host-discovery-script"
    return f"{launch.program} is not elastic"


MPI_KIND: Final[Kind] = MPIKind()
