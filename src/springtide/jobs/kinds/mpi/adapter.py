# SPDX-License-Identifier: Apache-2.0
"""The adapter of MPIJob."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from springtide.api.command_lines import Launch
from springtide.api.defaults.mpijob import MPI, bounds_of, launch, start_size_of
from springtide.api.job import Job
from springtide.api.kinds.attach_mode import AttachMode
from springtide.api.kinds.mpi_modes import LauncherForm
from springtide.api.kinds.mpijob import LauncherCreation
from springtide.api.kinds.replicas import LAUNCHER, WORKER
from springtide.jobs.actions import Event
from springtide.jobs.kind import Hosts, Kind, Shape, Sizes, Wanted
from springtide.jobs.kinds.mpi import files, names, pods
from springtide.jobs.launchers.batch_job import BATCH_JOB
from springtide.jobs.launchers.pod import POD
from springtide.jobs.observed import Exit, Settings
from springtide.jobs.parts import access, launcher_advice, launcher_names, launcher_programs, services, ssh

_FORMS: Final = {LauncherForm.POD: POD, LauncherForm.BATCH_JOB: BATCH_JOB}


class _Launching:
    def manifest(self, job: Job[MPI], settings: Settings) -> Mapping[str, Any]:
        return pods.launcher(job, settings)


class _Wiring:
    """Over SSH a Service and a Secret, through the API server a Role."""

    def files(self, job: Job[MPI], hosts: Hosts, settings: Settings) -> Mapping[str, str]:
        return files.files(job, hosts, settings)

    def rights(self, job: Job[MPI], hosts: Hosts) -> tuple[Wanted, ...]:
        return (
            ()
            if _over_ssh(job)
            else access.wanted(
                job, hosts, launcher_names.launcher(job), launcher_names.account(job), launcher_names.app(job)
            )
        )

    def services(self, job: Job[MPI], hosts: Hosts) -> tuple[Wanted, ...]:
        return (
            (services.headless(job, job.metadata.name, names.group(job), launcher_names.app(job)),)
            if _over_ssh(job)
            else ()
        )

    def secrets(self, job: Job[MPI]) -> tuple[Wanted, ...]:
        return (ssh.secret(job, names.secret(job), launcher_names.app(job)),) if _over_ssh(job) else ()


class _Sizes:
    def sizes(self, job: Job[MPI]) -> Sizes:
        found = launch(job)
        elastic = _is_elastic(job, found)
        return Sizes(
            bounds=bounds_of(job, found),
            start_size=start_size_of(job, found),
            elastic=elastic,
            rigid="" if elastic else _rigid(found),
            settles=elastic and launcher_programs.settles(found),
        )


class MPIKind(Kind):
    launching = _Launching()
    hosts = services = secrets = _Wiring()
    resizable = _Sizes()

    def shape(self, job: Job[MPI]) -> Shape:
        found = launch(job)
        return Shape(
            workers=WORKER,
            launcher=LAUNCHER,
            form=_FORMS[job.own.mode.launcher_form],
            launcher_name=launcher_names.launcher(job),
            config_name=launcher_names.config(job),
            saves=_is_elastic(job, found) and launcher_programs.saves(found),
            waits_for_workers=job.own.launcher_creation is LauncherCreation.WAIT_FOR_WORKERS_READY,
        )

    def pod_name(self, job: Job[MPI], role: str, index: int) -> str:
        return launcher_names.worker(job, index)

    def pod(self, job: Job[MPI], role: str, index: int, settings: Settings) -> Mapping[str, Any]:
        return pods.worker(job, index, settings)

    def launcher_role(self) -> str:
        return LAUNCHER

    def launcher_name(self, job: str) -> str:
        return launcher_names.launcher_of(job)

    def warnings(self, job: Job[MPI]) -> tuple[Event, ...]:
        """Upstream's warning about a restart policy in the pod template; upstream spells the reason in two ways."""
        if not job.roles[LAUNCHER].template.get("spec", {}).get("restartPolicy"):
            return ()
        reason = f"{'Set' if _over_ssh(job) else 'Setted'}PodTemplateRestartPolicy"
        message = "Restart policy in pod template will be overwritten by restart policy in replica spec"
        return (Event("Warning", reason, message),)

    def advice(self, job: Job[MPI], ended: Exit) -> str:
        return launcher_advice.on(job, job.own.slots_per_worker, ended)

    def selector(self, job: Job[MPI]) -> Mapping[str, str]:
        return names.role(job, "worker")


def _over_ssh(job: Job[MPI]) -> bool:
    return job.own.mode.attach is AttachMode.SSH


def _is_elastic(job: Job[MPI], launch: Launch | None) -> bool:
    """For an unknown program the job's elastic policy decides; mpirun is never elastic, whatever the job declares."""
    return launch.elastic if launch is not None else job.elastic is not None


def _rigid(launch: Launch | None) -> str:
    if launch is None:
        return "the launcher is not known to be elastic (spec.elasticPolicy declares that it is)"
    return launcher_programs.rigid(launch)


MPI_KIND: Final = MPIKind()
