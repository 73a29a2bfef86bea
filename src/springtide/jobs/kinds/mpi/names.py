# SPDX-License-Identifier: Apache-2.0
"""Names, labels and hosts of an MPIJob's objects."""

from __future__ import annotations

from typing import Any

from springtide.api.defaults.mpijob import MPI
from springtide.api.job import Job
from springtide.api.kinds.attach_mode import AttachMode


def secret(job: Job[Any]) -> str:
    return f"{job.metadata.name}-ssh"


def host(job: Job[MPI], pod: str, domain: str) -> str:
    """The address of a pod in the host list: its name through the API server, its DNS name over SSH."""
    if job.own.mode.attach is AttachMode.KUBEXEC:
        return pod
    return f"{pod}.{job.metadata.name}.{job.metadata.namespace}.svc" + (f".{domain}" if domain else "")


def group(job: Job[MPI]) -> dict[str, str]:
    """Labels of all pods of the job."""
    name, prefix = job.metadata.name, "training.kubeflow.org"
    if job.own.mode.attach is AttachMode.SSH:
        return {f"{prefix}/operator-name": "mpi-operator", f"{prefix}/job-name": name}
    return {
        f"{prefix}/operator-name": "mpijob-controller",
        f"{prefix}/job-name": name,
        "group-name": "kubeflow.org",
        "mpi-job-name": name,
        "group_name": "kubeflow.org",
        "mpi_job_name": name,
    }


def role(job: Job[MPI], role_: str) -> dict[str, str]:
    """Labels of the pods of one role, in all the families that clients select by."""
    prefix = "training.kubeflow.org"
    if job.own.mode.attach is AttachMode.SSH:
        return {**group(job), f"{prefix}/job-role": role_}
    leads = {f"{prefix}/job-role": "master"} if role_ == "launcher" else {}
    return {
        **group(job),
        **leads,
        f"{prefix}/replica-type": role_,
        "mpi-job-role": role_,
        "mpi_role_type": role_,
    }


def indexed(job: Job[MPI], index: int) -> dict[str, str]:
    """Over SSH a launcher that is a host has index 0, and workers follow."""
    if job.own.mode.attach is AttachMode.SSH:
        return {"training.kubeflow.org/replica-index": str(index + (1 if job.own.launcher_is_host else 0))}
    return {"training.kubeflow.org/replica-index": str(index), "replica-index": str(index)}
