# SPDX-License-Identifier: Apache-2.0
"""Validates an MPIJob of either version."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from springtide.api.defaults.mpijob import bounds_of, defaulted, launch
from springtide.api.field_errors import FieldError, invalid, not_supported, required
from springtide.api.kinds.attach_mode import AttachMode
from springtide.api.kinds.elastic_policy import MOST_WORKERS, ElasticPolicy
from springtide.api.kinds.mpi_modes import Mode, mode_of
from springtide.api.kinds.mpi_parts import PARTS
from springtide.api.kinds.mpijob import (
    Implementation,
    LauncherCreation,
    MPIJob,
    MPIJobSpec,
    MPIReplicaSpecs,
)
from springtide.api.kinds.replicas import LAUNCHER, WORKER, ReplicaSpec
from springtide.api.kinds.run_policy import RunPolicy
from springtide.api.names import container_complaints, mount_path_complaints
from springtide.api.validation import shared

_ROLES = "spec.mpiReplicaSpecs"


def errors(raw: Mapping[str, Any]) -> list[FieldError]:
    job = shared.read(raw, MPIJob)
    if isinstance(job, FieldError):
        return [job]
    mode = mode_of(job.spec.launcher_attach_mode, job.api_version)
    if mode is None:
        return [not_supported("spec.launcherAttachMode", job.spec.launcher_attach_mode, sorted(AttachMode))]
    found = _name_errors(job)
    found += _unknown_roles(raw)
    found += _spec_errors(job.spec, mode)
    return found


def admission_errors(raw: Mapping[str, Any], most: int = MOST_WORKERS) -> list[FieldError]:
    """Like `errors`, plus sizes that are rejected only at admission: one outside its bounds, which a reconcile would
    clamp, and more workers than the operator's limit."""
    if found := errors(raw):
        return found
    job = defaulted(raw)
    limits, worker = bounds_of(job, launch(job)), job.roles.get(WORKER)
    if worker is None:
        return []
    specs = {WORKER: ReplicaSpec(replicas=worker.replicas)}
    return shared.size_errors(specs, _ROLES, (WORKER,), most, limits)


def _name_errors(job: MPIJob) -> list[FieldError]:
    """Checks the names of a job's first workers. Later workers have higher indices, but a running job is not rejected
    for them: it gets no more workers than can be named, and its status states that."""
    specs = job.spec.mpi_replica_specs
    replicas = specs.worker.replicas if specs and specs.worker else None
    return shared.longest_name_errors(job.metadata.name, f"{job.metadata.name}-worker-{(replicas or 1) - 1}")


def _unknown_roles(raw: Mapping[str, Any]) -> list[FieldError]:
    given = (raw.get("spec") or {}).get("mpiReplicaSpecs") or {}
    return [not_supported(_ROLES, name, (LAUNCHER, WORKER)) for name in given if name not in (LAUNCHER, WORKER)]


def _spec_errors(spec: MPIJobSpec, mode: Mode) -> Iterator[FieldError]:
    if spec.mpi_replica_specs is None:
        yield required(_ROLES, "must have replica specs")
    else:
        yield from _roles_errors(spec.mpi_replica_specs, mode)
    slots = mode.min_slots if spec.slots_per_worker is None else spec.slots_per_worker
    if slots < mode.min_slots:
        yield invalid("spec.slotsPerWorker", slots, f"must be greater than or equal to {mode.min_slots}")
    yield from shared.clean_pod_policy_errors(spec.clean_pod_policy, "spec")
    yield from shared.run_policy_errors(spec.run_policy or RunPolicy(), "spec.runPolicy", mode.managers)
    yield from shared.elastic_policy_errors(spec.elastic_policy or ElasticPolicy(), "spec.elasticPolicy")
    if spec.ssh_auth_mount_path == "":
        yield required("spec.sshAuthMountPath", "must have a mount path for SSH credentials")
    elif spec.ssh_auth_mount_path and (wrong := mount_path_complaints(spec.ssh_auth_mount_path)):
        yield invalid("spec.sshAuthMountPath", spec.ssh_auth_mount_path, ", ".join(wrong))
    if spec.main_container and (wrong := container_complaints(spec.main_container)):
        yield invalid("spec.mainContainer", spec.main_container, ", ".join(wrong))
    yield from _choice(spec.mpi_implementation, "spec.mpiImplementation", Implementation)
    yield from _choice(spec.launcher_creation_policy, "spec.launcherCreationPolicy", LauncherCreation)


def _choice(
    value: str | None, field: str, choices: type[Implementation] | type[LauncherCreation]
) -> Iterator[FieldError]:
    if value and value not in tuple(choices):
        yield not_supported(field, value, sorted(choices))


def _roles_errors(specs: MPIReplicaSpecs, mode: Mode) -> Iterator[FieldError]:
    launcher, worker = f"{_ROLES}[{LAUNCHER}]", f"{_ROLES}[{WORKER}]"
    if specs.launcher is None:
        yield required(launcher, f"must have {LAUNCHER} replica spec")
    else:
        yield from shared.role_errors(specs.launcher, launcher, mode.restart_policies)
        yield from shared.exactly_one(specs.launcher.replicas, launcher)
        yield from shared.taken_name_errors(specs.launcher, launcher, PARTS[mode.attach, LAUNCHER])
    if specs.worker is not None:
        yield from shared.role_errors(specs.worker, worker, mode.restart_policies)
        yield from _size_errors(specs.worker, worker, mode)
        yield from shared.taken_name_errors(specs.worker, worker, PARTS[mode.attach, WORKER])


def _size_errors(spec: ReplicaSpec, field: str, mode: Mode) -> Iterator[FieldError]:
    """A role without `replicas` is not meant to have none."""
    replicas = mode.default_workers if spec.replicas is None else spec.replicas
    if replicas is None:
        yield required(f"{field}.replicas", "must say how many workers the job has")
    else:
        yield from shared.at_least_one(replicas, field)
