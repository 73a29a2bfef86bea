# SPDX-License-Identifier: Apache-2.0
"""An MPIJob with all defaults applied, the same for v1 and v2beta1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from springtide.api import bounds
from springtide.api.bounds import Bounds, Slots, StartSize
from springtide.api.command_lines import Launch, launch_of
from springtide.api.defaults import shared
from springtide.api.job import Job, Retries, Role
from springtide.api.kinds.attach_mode import SSH_AUTH_MOUNT_PATH
from springtide.api.kinds.mpi_modes import LauncherForm, Mode, mode_of
from springtide.api.kinds.mpijob import (
    Implementation,
    LauncherCreation,
    MPIJob,
    MPIJobSpec,
    MPIReplicaSpecs,
)
from springtide.api.kinds.replicas import LAUNCHER, WORKER, ReplicaSpec
from springtide.api.kinds.run_policy import CleanPodPolicy, RunPolicy
from springtide.api.kinds.templates import containers


@dataclass(frozen=True, slots=True)
class MPI:
    """The fields that only an MPIJob has."""

    mode: Mode
    slots_per_worker: int
    main_container: str
    launcher_is_host: bool
    """Ranks are started in the launcher too, so its slots count."""
    launcher_creation: LauncherCreation
    implementation: Implementation
    ssh_auth_mount_path: str


def defaulted(raw: Mapping[str, Any]) -> Job[MPI]:
    """For an object without `validation.mpijob.errors`; others may raise ValueError."""
    job = msgspec.convert(raw, MPIJob)
    spec, policy = job.spec, job.spec.run_policy or RunPolicy()
    mode = mode_of(spec.launcher_attach_mode, job.api_version)
    specs = spec.mpi_replica_specs
    if mode is None or specs is None or specs.launcher is None:
        raise ValueError(f"{job.metadata.namespace}/{job.metadata.name} is no valid MPIJob: validate it first")
    roles = _roles(specs, mode)
    return Job(
        api_version=job.api_version,
        kind=job.kind,
        metadata=job.metadata,
        roles=roles,
        run=shared.run(policy, clean_pod_policy(spec), _retries(policy, roles, mode)),
        elastic=spec.elastic_policy,
        status=job.status,
        own=_own(spec, specs.launcher, mode),
    )


def clean_pod_policy(spec: MPIJobSpec) -> CleanPodPolicy:
    """v1 has the field in two places; that in `runPolicy` takes precedence."""
    within = spec.run_policy.clean_pod_policy if spec.run_policy else None
    return CleanPodPolicy(within or spec.clean_pod_policy or CleanPodPolicy.NONE)


def launch(job: Job[MPI]) -> Launch | None:
    """The parsed command line of the launcher; None for an unknown program."""
    return launch_of(job.roles[LAUNCHER].template)


def bounds_of(job: Job[MPI], launch: Launch | None) -> Bounds | None:
    """The bounds of the job's size."""
    return bounds.decided(job.elastic, launch, _slots(job.own))


def start_size_of(job: Job[MPI], launch: Launch | None) -> StartSize | None:
    return bounds.start_size(launch, _slots(job.own))


def _slots(own: MPI) -> Slots:
    slots = max(own.slots_per_worker, 1)
    return Slots(slots, slots if own.launcher_is_host else 0)


def _roles(specs: MPIReplicaSpecs, mode: Mode) -> dict[str, Role]:
    given = ((WORKER, specs.worker, 0), (LAUNCHER, specs.launcher, 1))
    return {
        name: shared.role(name, spec, replicas=replicas, restart=mode.default_restart[name])
        for name, spec, replicas in given
        if spec is not None
    }


def _retries(policy: RunPolicy, roles: Mapping[str, Role], mode: Mode) -> Retries:
    if mode.launcher_form is LauncherForm.BATCH_JOB:
        return Retries(by_engine=0, by_launcher=policy.backoff_limit)
    return shared.retries(policy.backoff_limit, roles[LAUNCHER].restart_policy)


def _own(spec: MPIJobSpec, launcher: ReplicaSpec, mode: Mode) -> MPI:
    taken_for_worker = mode.gpu_launcher_is_host and _asks_for_gpu(launcher)
    return MPI(
        mode=mode,
        slots_per_worker=1 if spec.slots_per_worker is None else spec.slots_per_worker,
        main_container=spec.main_container or "",
        launcher_is_host=bool(spec.run_launcher_as_worker) or taken_for_worker,
        launcher_creation=LauncherCreation(spec.launcher_creation_policy or LauncherCreation.AT_STARTUP),
        implementation=Implementation(spec.mpi_implementation or Implementation.OPEN_MPI),
        ssh_auth_mount_path=SSH_AUTH_MOUNT_PATH if spec.ssh_auth_mount_path is None else spec.ssh_auth_mount_path,
    )


def _asks_for_gpu(launcher: ReplicaSpec) -> bool:
    """Upstream's heuristic, by the name of a resource: `nvidia.com/gpu`, `nvidia.com/gpumem`,
    `aliyun.com/gpu-count`."""
    asked = (container.resources.limits for container in containers(launcher.template) if container.resources)
    return any("gpu" in name for limits in asked for name in limits or ())
