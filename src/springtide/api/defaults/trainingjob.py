# SPDX-License-Identifier: Apache-2.0
"""A TrainingJob with all defaults applied."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import msgspec

from springtide.api import quantity, whole_numbers
from springtide.api.bounds import Bounds
from springtide.api.defaults import shared
from springtide.api.job import Job, Retries, Role, Run
from springtide.api.kinds.attach_mode import AttachMode
from springtide.api.kinds.elastic_policy import ElasticPolicy
from springtide.api.kinds.replicas import LAUNCHER, WORKER, RestartPolicy
from springtide.api.kinds.run_policy import CleanPodPolicy
from springtide.api.kinds.templates import containers
from springtide.api.kinds.trainingjob import (
    DEFAULT_BACKOFF_LIMIT,
    LONGEST_WAIT,
    MAX_WAIT_TIME_ANNOTATION,
    QUEUED_ANNOTATION,
    SSH_SECRET_ANNOTATION,
    START_AT_MINIMUM,
    START_SIZE_ANNOTATION,
    SUSPENDED_ANNOTATION,
    ETReplicaSpecs,
    JobRestartPolicy,
    TrainingJob,
    TrainingJobSpec,
    WorkerSpec,
)

BOUNDS_SOURCE: Final = "spec.etReplicaSpecs.worker"
_GPU: Final = "nvidia.com/gpu"


@dataclass(frozen=True, slots=True)
class ET:
    """The fields that only a TrainingJob has."""

    attach: AttachMode
    slots_per_worker: int
    launcher_restart: RestartPolicy | None
    worker_restart: RestartPolicy
    ssh_secret: str | None
    """The name of the Secret to use instead of one that the operator makes."""
    max_wait: timedelta | None
    start_size_min: bool
    """The job starts with its minimum when no more workers fit."""


def defaulted(raw: Mapping[str, Any]) -> Job[ET]:
    """For an object without `validation.trainingjob.errors`; others may raise ValueError."""
    job = msgspec.convert(raw, TrainingJob)
    specs, notes = job.spec.et_replica_specs, job.metadata.annotations
    if specs is None or specs.launcher is None or specs.worker is None:
        raise ValueError(f"{job.metadata.namespace}/{job.metadata.name} is no valid TrainingJob: validate it first")
    return Job(
        api_version=job.api_version,
        kind=job.kind,
        metadata=job.metadata,
        roles=_roles(specs),
        run=_run(job.spec, notes),
        elastic=ElasticPolicy(min_replicas=specs.worker.min_replicas or 1, max_replicas=specs.worker.max_replicas),
        status=job.status,
        own=_own(job.spec, specs.worker, specs.launcher.restart_policy, notes),
    )


def bounds_of(job: Job[ET]) -> Bounds:
    """The bounds of the job's size."""
    policy = job.elastic or ElasticPolicy()
    return Bounds(policy.min_replicas or 1, policy.max_replicas, BOUNDS_SOURCE)


def suspended(annotations: Mapping[str, str]) -> bool:
    return any(annotations.get(name) == "true" for name in (SUSPENDED_ANNOTATION, QUEUED_ANNOTATION))


def max_wait(annotations: Mapping[str, str]) -> timedelta | None:
    """None without a limit, for which 0 stands, too."""
    seconds = whole_numbers.parse(annotations.get(MAX_WAIT_TIME_ANNOTATION, ""))
    return timedelta(seconds=seconds) if seconds and 0 < seconds <= LONGEST_WAIT else None


def _roles(specs: ETReplicaSpecs) -> dict[str, Role]:
    given = ((WORKER, specs.worker), (LAUNCHER, specs.launcher))
    return {
        name: shared.role(name, spec, replicas=1, restart=RestartPolicy.NEVER)
        for name, spec in given
        if spec is not None
    }


def _run(spec: TrainingJobSpec, annotations: Mapping[str, str]) -> Run:
    limit = DEFAULT_BACKOFF_LIMIT if spec.backoff_limit is None else spec.backoff_limit
    return Run(
        clean_pod_policy=CleanPodPolicy(spec.clean_pod_policy or CleanPodPolicy.RUNNING),
        retries=Retries(limit if spec.restart_policy == JobRestartPolicy.ON_FAILURE else 0),
        suspend=suspended(annotations),
    )


def _own(spec: TrainingJobSpec, worker: WorkerSpec, launcher_restart: str | None, notes: Mapping[str, str]) -> ET:
    return ET(
        attach=AttachMode(spec.launcher_attach_mode or AttachMode.SSH),
        slots_per_worker=_gpus(worker) if spec.slots_per_worker is None else spec.slots_per_worker,
        launcher_restart=RestartPolicy(launcher_restart) if launcher_restart else None,
        worker_restart=RestartPolicy(worker.restart_policy or RestartPolicy.NEVER),
        ssh_secret=notes.get(SSH_SECRET_ANNOTATION) or None,
        max_wait=max_wait(notes),
        start_size_min=notes.get(START_SIZE_ANNOTATION) == START_AT_MINIMUM,
    )


def _gpus(worker: WorkerSpec) -> int:
    """The limit of GPUs of the first container, which the ranks run in; 1 without any."""
    first = next(iter(containers(worker.template)), None)
    given = (first.resources.limits or {}).get(_GPU) if first and first.resources else None
    return max(quantity.parse(str(given)).value, 1) if given is not None else 1
